package members_test

import (
	"context"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/application/members"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/ports/outbound"
)

// post keeps what is mailed; nothing is where it is nil.
type post struct {
	enabled bool
	sent    []outbound.Mail
}

func (p *post) Enabled() bool { return p.enabled }
func (p *post) Send(_ context.Context, m outbound.Mail) error {
	p.sent = append(p.sent, m)
	return nil
}

func tokenOf(t *testing.T, text string) member.Token {
	t.Helper()
	_, text, _ = strings.Cut(text, "https://sluice.example/console/l/")
	token, ok := member.ParseToken(strings.SplitN(text, "\n", 2)[0])
	if !ok {
		t.Fatalf("there is no link in %q", text)
	}
	return token
}

func TestALinkIsMailedOrElseShown(t *testing.T) {
	for _, mailed := range []bool{true, false} {
		e, mail := newEnv(t), &post{enabled: mailed}
		users := members.NewUsers(e.Service, members.Letters{Mailer: mail, Public: func() string { return "https://sluice.example/" }})
		made, err := users.Create(t.Context(), member.UserDraft{Email: "bert@example.com"})
		if err != nil || (made.Link == "") != mailed || (len(mail.sent) == 1) != mailed {
			t.Fatalf("made is %+v, mailed %+v, %v", made, mail.sent, err)
		}
		text := made.Link
		if mailed {
			text = mail.sent[0].Text
		}
		begun, err := e.UseLink(t.Context(), tokenOf(t, text), password, member.Browser{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = users.Create(t.Context(), member.UserDraft{Email: "Bert@example.com"})
		e.fails(err, "user_exists")
		if _, err := users.Disable(t.Context(), "bert@example.com"); err != nil {
			t.Fatal(err)
		}
		_, err = e.WhoAmI(t.Context(), begun.Token)
		e.fails(err, "signed_out")
		_, err = users.Link(t.Context(), "bert@example.com")
		e.fails(err, "user_disabled")
		_, err = users.Link(t.Context(), "nobody@example.com")
		e.fails(err, "user_not_found")
		if all, err := users.List(t.Context(), domain.PageRequest{}); err != nil || all.Total != 2 {
			t.Errorf("users are %+v, %v", all, err)
		}
	}
}
