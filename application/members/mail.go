package members

import (
	"context"
	"strings"
	"time"

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

// address is where a link leads.
func (l Letters) address(token member.Token) string { return l.Public.under(linkPath) + token.Reveal() }

// queue has a link mailed to who has an address, where there is a mail server.
func (l Letters) queue(ctx context.Context, st outbound.Stores, random outbound.Random, to member.Email, purpose member.Purpose, inviting tenant.ID, now time.Time) error {
	if !l.Mailer.Enabled() {
		return nil
	}
	return st.Members.Letters.Insert(ctx, member.NewLetter(member.LetterID(random.ID(member.LetterIDPrefix)), to, purpose, inviting, now), now)
}

// send mails a link to its user.
func (l Letters) send(ctx context.Context, u *member.User, purpose member.Purpose, token member.Token, inviting string) error {
	words, ok := letters[u.Language()]
	if !ok {
		words = letters[tenant.English]
	}
	letter := words[purpose]
	fill := strings.NewReplacer("{tenant}", oneLine(inviting), "{link}", l.address(token))
	return l.Mailer.Send(ctx, outbound.Mail{To: string(u.Email()), Subject: fill.Replace(letter.subject), Text: fill.Replace(letter.text)})
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
