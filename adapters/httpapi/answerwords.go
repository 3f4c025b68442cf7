package httpapi

import (
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
)

// answerWords are the texts of pages for an answer in one language.
type answerWords struct {
	Language tenant.Language

	Heading, Answer, Until, Send, Yes, No, Choose, Required string
	Wrong, Unknown, TooOften, Failed                        string

	States   map[inbound.AnswerState]string
	Actors   map[tenant.ActorKind]string
	Problems map[domain.ViolationCode]string
	Other    string // any other problem
}

// by names who answered, without an identifier.
func (w *answerWords) by(a tenant.Actor) string {
	if a.Subject != "" {
		return a.Subject
	}
	return w.Actors[a.Kind]
}

func (w *answerWords) problem(code domain.ViolationCode) string {
	if text, known := w.Problems[code]; known {
		return text
	}
	return w.Other
}

var answerTexts = map[tenant.Language]*answerWords{
	tenant.English: {
		Language: tenant.English,
		Heading:  "A question for you", Answer: "Your answer", Until: "Please answer by", Send: "Send answer", Yes: "Yes", No: "No", Choose: "Choose…", Required: "required",
		Wrong: "Something is not right yet. Please check your answer.", Unknown: "This page does not exist, or is not kept any more.",
		TooOften: "Too many requests came from your address. Wait a minute, then load the page again.", Failed: "This does not work at the moment. Try it again later.",
		States: map[inbound.AnswerState]string{
			inbound.NotAskedYet: "This question has not been asked yet. Come back later with the same link.", inbound.AnswerGiven: "This question has been answered. Thank you.",
			inbound.AnswerExpired: "The time for an answer is over.", inbound.AnswerCancelled: "An answer is not needed any more.",
			inbound.AnswerSimulated: "This link is from a simulation, in which nobody is asked. In a run of the workflow the question stands here.",
			inbound.AnswerSuspended: "Answers are not taken at the moment. Try it again later with the same link.",
		},
		Actors: map[tenant.ActorKind]string{tenant.ByLink: "on this page", tenant.ByKey: "in another application", tenant.ByEmbedToken: "in another application", tenant.ByHook: "by another service", tenant.ByMember: "in the console", tenant.ByOperator: "by the operator"},
		Problems: map[domain.ViolationCode]string{
			domain.Required: "Please fill this in.", domain.BadFormat: "This is not spelled as expected.", domain.WrongType: "This is not the kind of value that is expected.",
			domain.TooSmall: "This is too small.", domain.TooLarge: "This is too large.", domain.TooShort: "This is too short.", domain.TooLong: "This is too long.", domain.NotWhole: "This must be a whole number.",
		},
		Other: "This cannot be accepted.",
	},
	tenant.Spanish: {
		Language: tenant.Spanish,
		Heading:  "Una pregunta para usted", Answer: "Su respuesta", Until: "Responda antes del", Send: "Enviar respuesta", Yes: "Sí", No: "No", Choose: "Elija…", Required: "obligatorio",
		Wrong: "Algo no es correcto todavía. Revise su respuesta.", Unknown: "Esta página no existe o ya no se conserva.",
		TooOften: "Han llegado demasiadas solicitudes desde su dirección. Espere un minuto y vuelva a cargar la página.", Failed: "Esto no funciona ahora mismo. Inténtelo más tarde.",
		States: map[inbound.AnswerState]string{
			inbound.NotAskedYet: "Esta pregunta aún no se ha hecho. Vuelva más tarde con el mismo enlace.", inbound.AnswerGiven: "Esta pregunta ya tiene respuesta. Gracias.",
			inbound.AnswerExpired: "El plazo para responder ha terminado.", inbound.AnswerCancelled: "Ya no se necesita una respuesta.",
			inbound.AnswerSimulated: "Este enlace es de una simulación, en la que no se pregunta a nadie. En una ejecución del flujo, la pregunta aparece aquí.",
			inbound.AnswerSuspended: "Ahora mismo no se aceptan respuestas. Inténtelo más tarde con el mismo enlace.",
		},
		Actors: map[tenant.ActorKind]string{tenant.ByLink: "en esta página", tenant.ByKey: "en otra aplicación", tenant.ByEmbedToken: "en otra aplicación", tenant.ByHook: "por otro servicio", tenant.ByMember: "en la consola", tenant.ByOperator: "por el operador"},
		Problems: map[domain.ViolationCode]string{
			domain.Required: "Rellene este campo.", domain.BadFormat: "No está escrito como se espera.", domain.WrongType: "No es el tipo de valor que se espera.",
			domain.TooSmall: "Es demasiado pequeño.", domain.TooLarge: "Es demasiado grande.", domain.TooShort: "Es demasiado corto.", domain.TooLong: "Es demasiado largo.", domain.NotWhole: "Debe ser un número entero.",
		},
		Other: "No se puede aceptar.",
	},
	tenant.BrazilianPortuguese: {
		Language: tenant.BrazilianPortuguese,
		Heading:  "Uma pergunta para você", Answer: "Sua resposta", Until: "Responda até", Send: "Enviar resposta", Yes: "Sim", No: "Não", Choose: "Escolha…", Required: "obrigatório",
		Wrong: "Algo ainda não está certo. Confira sua resposta.", Unknown: "Esta página não existe ou não é mais mantida.",
		TooOften: "Muitas solicitações vieram do seu endereço. Espere um minuto e carregue a página de novo.", Failed: "Isto não está funcionando agora. Tente mais tarde.",
		States: map[inbound.AnswerState]string{
			inbound.NotAskedYet: "Esta pergunta ainda não foi feita. Volte mais tarde com o mesmo link.", inbound.AnswerGiven: "Esta pergunta já foi respondida. Obrigado.",
			inbound.AnswerExpired: "O prazo para responder terminou.", inbound.AnswerCancelled: "A resposta não é mais necessária.",
			inbound.AnswerSimulated: "Este link é de uma simulação, na qual ninguém é perguntado. Em uma execução do fluxo, a pergunta aparece aqui.",
			inbound.AnswerSuspended: "Agora não são aceitas respostas. Tente mais tarde com o mesmo link.",
		},
		Actors: map[tenant.ActorKind]string{tenant.ByLink: "nesta página", tenant.ByKey: "em outro aplicativo", tenant.ByEmbedToken: "em outro aplicativo", tenant.ByHook: "por outro serviço", tenant.ByMember: "no console", tenant.ByOperator: "pelo operador"},
		Problems: map[domain.ViolationCode]string{
			domain.Required: "Preencha este campo.", domain.BadFormat: "Não está escrito como se espera.", domain.WrongType: "Não é o tipo de valor esperado.",
			domain.TooSmall: "É pequeno demais.", domain.TooLarge: "É grande demais.", domain.TooShort: "É curto demais.", domain.TooLong: "É longo demais.", domain.NotWhole: "Deve ser um número inteiro.",
		},
		Other: "Isto não pode ser aceito.",
	},
}
