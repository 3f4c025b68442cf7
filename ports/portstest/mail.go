package portstest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/ports/outbound"
)

// MailServer is what the contract of outbound.Mailer is tried with.
type MailServer struct {
	Mailer   outbound.Mailer
	Received func() []outbound.Mail // by the server, so far

	Unknown string          // a recipient whom the server does not take messages for
	Later   string          // one for whom it does not take them now
	Away    outbound.Mailer // its server is out of reach
	Silent  outbound.Mailer // its server never answers
	None    outbound.Mailer // without a server
}

const linkInMail = "https://sluice.example.com/console/l/a-secret-link"

// Mailer is the contract of outbound.Mailer.
func Mailer(t *testing.T, server MailServer) {
	message := outbound.Mail{To: "ada@example.com", Subject: "Invitation for Ærøskøbing", Text: "Hello Ada,\n\nhere you come in:\n" + linkInMail + "\n\n.\nÀ bientôt\n"}
	t.Run("Send", func(t *testing.T) {
		if !server.Mailer.Enabled() {
			t.Error("there is a server, and it is not enabled")
		}
		if err := server.Mailer.Send(t.Context(), message); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]outbound.Mail{message}, server.Received()); diff != "" {
			t.Errorf("what arrives: %s", diff)
		}
	})
	t.Run("Fails", func(t *testing.T) {
		before := len(server.Received())
		for claim, c := range map[string]struct {
			mailer outbound.Mailer
			to     string
			kind   domain.Kind
			code   string
		}{
			"the server does not know the recipient":   {server.Mailer, server.Unknown, domain.Invalid, "mail_refused"},
			"the recipient is no address":              {server.Mailer, "ada at example.com", domain.Invalid, "mail_refused"},
			"the recipient is two":                     {server.Mailer, "ada@example.com, bob@example.com", domain.Invalid, "mail_refused"},
			"the recipient brings a header along":      {server.Mailer, "ada@example.com\r\nBcc: bob@example.com", domain.Invalid, "mail_refused"},
			"the server does not take the message now": {server.Mailer, server.Later, domain.Unavailable, "mail_unavailable"},
			"the server is out of reach":               {server.Away, message.To, domain.Unavailable, "mail_unavailable"},
			"the server never answers":                 {server.Silent, message.To, domain.Unavailable, "mail_unavailable"},
			"there is no server":                       {server.None, message.To, domain.Unavailable, "mail_unavailable"},
		} {
			to := message
			to.To = c.to
			err := c.mailer.Send(t.Context(), to)
			var said *domain.Error
			if !errors.As(err, &said) || said.Kind != c.kind || said.Code != c.code {
				t.Errorf("%s: %v", claim, err)
			} else if strings.Contains(err.Error(), "a-secret-link") {
				t.Errorf("%s: the error shows the link: %v", claim, err)
			}
		}
		if server.None.Enabled() {
			t.Error("without a server it is enabled")
		}
		if got := server.Received()[before:]; len(got) != 0 {
			t.Errorf("%d messages arrive that have failed", len(got))
		}
	})
	t.Run("Header", func(t *testing.T) {
		injected := message
		injected.Subject = "Invitation\r\nBcc: bob@example.com"
		if err := server.Mailer.Send(t.Context(), injected); err != nil {
			t.Fatal(err)
		}
		received := server.Received()
		if got := received[len(received)-1]; got.To != message.To || got.Subject != "Invitation Bcc: bob@example.com" {
			t.Errorf("a subject of two lines: %+v", got)
		}
	})
	t.Run("Stopped", func(t *testing.T) {
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		stopped := make(chan error)
		go func() { stopped <- server.Silent.Send(ctx, message) }()
		cancel(gone)
		if err := <-stopped; !errors.Is(err, gone) {
			t.Error(err)
		}
	})
}
