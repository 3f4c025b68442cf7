package console

import (
	"github.com/sluicehq/sluice/adapters/httpapi/htmlpage"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// words are the texts of the pages in one language.
type words struct {
	Language tenant.Language

	SignIn, SignOut, Email, Password, Elsewhere, Refused string
	ChoosePassword, PasswordHelp, SaveAndSignIn, As      string
	SignedIn, Tenants, NoTenant, Operator                string
	Forgotten, ForgottenHelp, SendLink, LinkSent         string
	NotHere, ToSignIn, Failed                            string

	Roles     map[tenant.Role]string
	Problems  map[string]string // by the code of the error
	Passwords map[domain.ViolationCode]string
}

// passwordProblem says what is wrong with a password.
func (w *words) passwordProblem(found []domain.Violation) string {
	for _, one := range found {
		if text, ok := w.Passwords[one.Code]; ok {
			return text
		}
	}
	return w.Passwords[domain.NotAllowed]
}

func wordsFor(accept string) *words { return pageTexts[htmlpage.Language(accept)] }

var pageTexts = map[tenant.Language]*words{
	tenant.English: {
		Language:  tenant.English,
		Forgotten: "Forgot your password?", ForgottenHelp: "A link by which you choose another one is sent to your mail address.", SendLink: "Send the link",
		LinkSent: "If there is an account with this address, a mail with a link is on its way. It can be used once, within 72 hours.",
		SignIn:   "Sign in", SignOut: "Sign out", Email: "Mail address", Password: "Password", Elsewhere: "Sign in with your organization's account",
		Refused: "Address and password do not fit together, or nobody with them may sign in here.", ChoosePassword: "Choose your password",
		PasswordHelp: "At least 12 characters; several words that do not belong together are good.", SaveAndSignIn: "Save and sign in", As: "Your account:",
		SignedIn: "You are signed in", Tenants: "You work on:", NoTenant: "You are no member of a tenant yet. Ask who invited you.", Operator: "You are one of the operator's people.",
		NotHere: "This did not work", ToSignIn: "To the sign-in", Failed: "This does not work at the moment. Try it again later.",
		Roles: map[tenant.Role]string{tenant.ViewerRole: "reads", tenant.ApproverRole: "approves", tenant.EditorRole: "edits", tenant.AdminRole: "administers"},
		Problems: map[string]string{
			"mail_missing":     "No mail is sent from here. Ask who invited you for a link.",
			"link_ended":       "This link is not valid any more: it is used once, and has a last day. Ask for a new one.",
			"sign_in_refused":  "Nobody with this account may sign in here, or the sign-in took too long. Begin again; if it stays so, ask who invited you.",
			"identity_refused": "The identity provider does not say that it is you, or your address is not one that may sign in here.", "identity_provider_unavailable": "The identity provider does not answer as it should. Try it again later.",
			"identity_provider_missing": "People sign in with passwords here.", "identity_taken": "Somebody else signs in with this account already.",
			"too_many_sign_ins": "Too many attempts. Wait a few minutes, then try it again.", "cross_site_request": "Another site may not do this in your name.",
			"https_required": "This page is served over TLS only, except on localhost.", "body_invalid": "The form could not be read.",
		},
		Passwords: map[domain.ViolationCode]string{
			domain.TooShort: "The password needs at least 12 characters.", domain.TooLong: "The password may have at most 256 characters.",
			domain.BadText: "The password may not have control characters.", domain.NotAllowed: "This password is too easy to guess. Several words that do not belong together are good.",
		},
	},
	tenant.Spanish: {
		Language:  tenant.Spanish,
		Forgotten: "¿Ha olvidado su contraseña?", ForgottenHelp: "Se envía a su dirección de correo un enlace para elegir otra.", SendLink: "Enviar el enlace",
		LinkSent: "Si existe una cuenta con esta dirección, va en camino un correo con un enlace. Se puede usar una sola vez, en un plazo de 72 horas.",
		SignIn:   "Iniciar sesión", SignOut: "Cerrar sesión", Email: "Dirección de correo", Password: "Contraseña", Elsewhere: "Iniciar sesión con la cuenta de su organización",
		Refused: "La dirección y la contraseña no coinciden, o nadie con ellas puede iniciar sesión aquí.", ChoosePassword: "Elija su contraseña",
		PasswordHelp: "Al menos 12 caracteres; van bien varias palabras que no guarden relación.", SaveAndSignIn: "Guardar e iniciar sesión", As: "Su cuenta:",
		SignedIn: "Ha iniciado sesión", Tenants: "Trabaja en:", NoTenant: "Todavía no es miembro de ningún cliente. Pregunte a quien le invitó.", Operator: "Forma parte del equipo del operador.",
		NotHere: "No ha funcionado", ToSignIn: "Ir al inicio de sesión", Failed: "Esto no funciona ahora mismo. Inténtelo más tarde.",
		Roles: map[tenant.Role]string{tenant.ViewerRole: "lee", tenant.ApproverRole: "aprueba", tenant.EditorRole: "edita", tenant.AdminRole: "administra"},
		Problems: map[string]string{
			"mail_missing":     "Desde aquí no se envía correo. Pida un enlace a quien le invitó.",
			"link_ended":       "Este enlace ya no es válido: se usa una sola vez y caduca. Pida uno nuevo.",
			"sign_in_refused":  "Nadie con esta cuenta puede iniciar sesión aquí, o se ha tardado demasiado. Empiece de nuevo; si sigue así, pregunte a quien le invitó.",
			"identity_refused": "El proveedor de identidad no confirma que sea usted, o su dirección no puede iniciar sesión aquí.", "identity_provider_unavailable": "El proveedor de identidad no responde como debería. Inténtelo más tarde.",
			"identity_provider_missing": "Aquí se inicia sesión con contraseña.", "identity_taken": "Otra persona ya inicia sesión con esta cuenta.",
			"too_many_sign_ins": "Demasiados intentos. Espere unos minutos e inténtelo de nuevo.", "cross_site_request": "Otro sitio no puede hacer esto en su nombre.",
			"https_required": "Esta página solo se sirve por TLS, salvo en localhost.", "body_invalid": "No se ha podido leer el formulario.",
		},
		Passwords: map[domain.ViolationCode]string{
			domain.TooShort: "La contraseña necesita al menos 12 caracteres.", domain.TooLong: "La contraseña puede tener como máximo 256 caracteres.",
			domain.BadText: "La contraseña no puede tener caracteres de control.", domain.NotAllowed: "Esta contraseña es demasiado fácil de adivinar. Van bien varias palabras que no guarden relación.",
		},
	},
	tenant.BrazilianPortuguese: {
		Language:  tenant.BrazilianPortuguese,
		Forgotten: "Esqueceu sua senha?", ForgottenHelp: "Enviamos ao seu endereço de e-mail um link para escolher outra.", SendLink: "Enviar o link",
		LinkSent: "Se houver uma conta com este endereço, um e-mail com um link está a caminho. Ele só pode ser usado uma vez, em até 72 horas.",
		SignIn:   "Entrar", SignOut: "Sair", Email: "Endereço de e-mail", Password: "Senha", Elsewhere: "Entrar com a conta da sua organização",
		Refused: "O endereço e a senha não combinam, ou esta conta não pode entrar aqui.", ChoosePassword: "Escolha sua senha",
		PasswordHelp: "Pelo menos 12 caracteres; várias palavras que não combinam entre si são boas.", SaveAndSignIn: "Salvar e entrar", As: "Sua conta:",
		SignedIn: "Você entrou", Tenants: "Você trabalha em:", NoTenant: "Você ainda não é membro de nenhum cliente. Pergunte a quem convidou você.", Operator: "Você é da equipe do operador.",
		NotHere: "Não funcionou", ToSignIn: "Ir para a entrada", Failed: "Isto não está funcionando agora. Tente mais tarde.",
		Roles: map[tenant.Role]string{tenant.ViewerRole: "lê", tenant.ApproverRole: "aprova", tenant.EditorRole: "edita", tenant.AdminRole: "administra"},
		Problems: map[string]string{
			"mail_missing":     "Nenhum e-mail é enviado daqui. Peça um link a quem convidou você.",
			"link_ended":       "Este link não é mais válido: ele é usado uma vez e tem prazo. Peça um novo.",
			"sign_in_refused":  "Ninguém com esta conta pode entrar aqui, ou demorou demais. Comece de novo; se continuar assim, pergunte a quem convidou você.",
			"identity_refused": "O provedor de identidade não confirma que é você, ou seu endereço não pode entrar aqui.", "identity_provider_unavailable": "O provedor de identidade não responde como deveria. Tente mais tarde.",
			"identity_provider_missing": "Aqui as pessoas entram com senha.", "identity_taken": "Outra pessoa já entra com esta conta.",
			"too_many_sign_ins": "Tentativas demais. Espere alguns minutos e tente de novo.", "cross_site_request": "Outro site não pode fazer isto em seu nome.",
			"https_required": "Esta página só é servida por TLS, exceto em localhost.", "body_invalid": "O formulário não pôde ser lido.",
		},
		Passwords: map[domain.ViolationCode]string{
			domain.TooShort: "A senha precisa de pelo menos 12 caracteres.", domain.TooLong: "A senha pode ter no máximo 256 caracteres.",
			domain.BadText: "A senha não pode ter caracteres de controle.", domain.NotAllowed: "Esta senha é fácil demais de adivinhar. Várias palavras que não combinam entre si são boas.",
		},
	},
}
