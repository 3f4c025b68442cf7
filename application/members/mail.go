package members

import (
	"context"
	"strings"

	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// linkPath is where links lead to, below the gateway's address for people.
const linkPath = "/console/l/"

// PublicURL is the address under which people reach the gateway.
type PublicURL func() string

func (u PublicURL) under(path string) string { return strings.TrimRight(u(), "/") + path }

// Letters bring links to people.
type Letters struct {
	Mailer outbound.Mailer
	Public PublicURL
}

// hand mails a link to its user, and returns none; where nothing is mailed, it returns the link, for whoever made it.
func (l Letters) hand(ctx context.Context, u *member.User, purpose member.Purpose, token member.Token, tenantName string) (string, error) {
	link := l.Public.under(linkPath) + token.Reveal()
	if !l.Mailer.Enabled() {
		return link, nil
	}
	words, ok := letters[u.Language()]
	if !ok {
		words = letters[tenant.English]
	}
	letter := words[purpose]
	fill := strings.NewReplacer("{tenant}", oneLine(tenantName), "{link}", link)
	return "", l.Mailer.Send(ctx, outbound.Mail{To: string(u.Email()), Subject: fill.Replace(letter.subject), Text: fill.Replace(letter.text)})
}

// oneLine keeps what a tenant calls itself from adding lines.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

type letter struct{ subject, text string }

// letters are what is mailed, by language.
var letters = map[tenant.Language]map[member.Purpose]letter{
	tenant.English: {
		member.Invitation: {"You are invited to {tenant}", "You are invited to work on workflows of {tenant}.\n\nChoose your password here, within 72 hours:\n{link}\n\nThe link can be used once.\n"},
		member.Reset:      {"Choose another password", "Choose another password here, within 72 hours:\n{link}\n\nThe link can be used once. If you did not ask for it, leave it: your password stays as it is.\n"},
	},
	tenant.Spanish: {
		member.Invitation: {"Invitación a {tenant}", "Le invitan a trabajar en los flujos de {tenant}.\n\nElija su contraseña aquí, en un plazo de 72 horas:\n{link}\n\nEl enlace se puede usar una sola vez.\n"},
		member.Reset:      {"Elija otra contraseña", "Elija otra contraseña aquí, en un plazo de 72 horas:\n{link}\n\nEl enlace se puede usar una sola vez. Si no lo ha pedido, no haga nada: su contraseña sigue igual.\n"},
	},
	tenant.BrazilianPortuguese: {
		member.Invitation: {"Convite para {tenant}", "Você foi convidado para trabalhar nos fluxos de {tenant}.\n\nEscolha sua senha aqui, em até 72 horas:\n{link}\n\nO link só pode ser usado uma vez.\n"},
		member.Reset:      {"Escolha outra senha", "Escolha outra senha aqui, em até 72 horas:\n{link}\n\nO link só pode ser usado uma vez. Se você não pediu, ignore: sua senha continua a mesma.\n"},
	},
}
