package mail_test

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/mail"
	"github.com/sluicehq/sluice/adapters/mail/mailtest"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

// at is a mailer of the address scheme://user:password@host:port, which has the rest behind it.
func at(t *testing.T, scheme, secret, host, port, rest string) *mail.Mailer {
	t.Helper()
	u := url.URL{Scheme: scheme, User: url.UserPassword(mailtest.Username, secret), Host: net.JoinHostPort(host, port)}
	address, err := mail.ParseAddress(u.String() + rest)
	if err != nil {
		t.Fatal(err)
	}
	return mail.New(address)
}

func closedPort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	return port
}

func TestMailer(t *testing.T) {
	quiet := mailtest.Silent(t)
	for claim, c := range map[string]struct {
		scheme            string
		wrapped, startTLS bool
	}{
		"TLS from the beginning": {"smtps", true, false},
		"TLS by STARTTLS":        {"smtp", false, true},
		"no TLS on this machine": {"smtp", false, false},
	} {
		t.Run(claim, func(t *testing.T) {
			s := mailtest.Start(t, c.wrapped, c.startTLS)
			portstest.Mailer(t, portstest.MailServer{
				Mailer:   at(t, c.scheme, mailtest.Password, "127.0.0.1", s.Port, "").Trusting(s.Roots),
				Received: func() []outbound.Mail { return s.Received(t) },
				Unknown:  mailtest.Unknown, Later: mailtest.Later,
				Away:   at(t, c.scheme, mailtest.Password, "127.0.0.1", closedPort(t), ""),
				Silent: at(t, c.scheme, mailtest.Password, "127.0.0.1", quiet, "").Within(200 * time.Millisecond),
				None:   &mail.Mailer{},
			})
			for i, m := range s.Messages() {
				if m.Secure != (c.wrapped || c.startTLS) || m.From != mailtest.Username {
					t.Errorf("message %d: from %s, with TLS %t", i, m.From, m.Secure)
				}
			}
			if head := s.Messages()[0].Header; head.Get("Auto-Submitted") != "auto-generated" || !strings.HasSuffix(head.Get("Message-Id"), "@example.com>") || head.Get("Date") == "" {
				t.Errorf("headers %v", head)
			}
		})
	}
}

var invitation = outbound.Mail{To: "ada@example.com", Subject: "Invitation", Text: "https://sluice.example.com/console/l/a-secret-link\n"}

func TestAMessageIsSentToTheRightServerOnly(t *testing.T) {
	for claim, try := range map[string]func(t *testing.T) (*mailtest.Server, *mail.Mailer){
		"a certificate of nobody known": func(t *testing.T) (*mailtest.Server, *mail.Mailer) {
			s := mailtest.Start(t, true, false)
			return s, at(t, "smtps", mailtest.Password, "127.0.0.1", s.Port, "").Trusting(x509.NewCertPool())
		},
		"a certificate of nobody known, by STARTTLS": func(t *testing.T) (*mailtest.Server, *mail.Mailer) {
			s := mailtest.Start(t, false, true)
			return s, at(t, "smtp", mailtest.Password, "127.0.0.1", s.Port, "").Trusting(x509.NewCertPool())
		},
		"a certificate of another name": func(t *testing.T) (*mailtest.Server, *mail.Mailer) {
			s := mailtest.Start(t, true, false)
			return s, at(t, "smtps", mailtest.Password, "localhost", s.Port, "").Trusting(s.Roots)
		},
		"a wrong password": func(t *testing.T) (*mailtest.Server, *mail.Mailer) {
			s := mailtest.Start(t, false, true)
			return s, at(t, "smtp", "another password", "127.0.0.1", s.Port, "").Trusting(s.Roots)
		},
		"a server of another machine without TLS": func(t *testing.T) (*mailtest.Server, *mail.Mailer) {
			s := mailtest.Start(t, false, false)
			return s, at(t, "smtp", mailtest.Password, elsewhere, s.Port, "")
		},
		"one that wants no password and has no TLS": func(t *testing.T) (*mailtest.Server, *mail.Mailer) {
			s := mailtest.Start(t, false, false)
			s.Open = true
			address, err := mail.ParseAddress("smtp://" + elsewhere + ":" + s.Port + "?from=" + mailtest.Username)
			if err != nil {
				t.Fatal(err)
			}
			return s, mail.New(address)
		},
	} {
		t.Run(claim, func(t *testing.T) {
			s, mailer := try(t)
			err := mailer.Send(t.Context(), invitation)
			var said *domain.Error
			if !errors.As(err, &said) || said.Code != "mail_unavailable" {
				t.Error(err)
			}
			for _, secret := range []string{mailtest.Password, "another password", url.QueryEscape(mailtest.Password), "a-secret-link"} {
				if strings.Contains(fmt.Sprint(err), secret) {
					t.Errorf("the error shows %s: %v", secret, err)
				}
			}
			if len(s.Received(t)) > 0 {
				t.Error("the message was sent")
			}
		})
	}
}

// elsewhere leads to this machine, and does not look like it.
const elsewhere = "0.0.0.0"

func TestTheOperatorMayDoWithoutTLS(t *testing.T) {
	s := mailtest.Start(t, false, false)
	if err := at(t, "smtp", mailtest.Password, elsewhere, s.Port, "?tls=none").Send(t.Context(), invitation); err != nil || len(s.Received(t)) != 1 {
		t.Errorf("%d messages arrive: %v", len(s.Received(t)), err)
	}
}

func TestAnAddressIsReadWhole(t *testing.T) {
	for text, want := range map[string]bool{
		"smtp://user%40example.com:pass@mail.example.com":                                  true,
		"smtps://user%40example.com:pass@mail.example.com:465":                             true,
		"smtp://mail.example.com:25?from=sluice@example.com&tls=none":                      true,
		"smtp://user:pass@[2001:db8::1]:587?from=Sluice%20%3Csluice@example.com%3E":        true,
		"smtp://user:pass@mail.example.com":                                                false, // nobody sends
		"smtp://user:pass@mail.example.com?from=sluice":                                    false,
		"smtp://user%40example.com:pass@mail.example.com?form=sluice@example.com":          false,
		"smtp://user%40example.com:pass@mail.example.com?from=a@example.com&from=b@x.test": false,
		"smtp://user%40example.com:pass@mail.example.com?tls=off":                          false,
		"smtps://user%40example.com:pass@mail.example.com?tls=none":                        false,
		"smtp://user%40example.com:pass@mail.example.com/path":                             false,
		"smtp://user%40example.com:pass@mail.example.com#x":                                false,
		"smtp://user%40example.com:pass@mail.example.com:0":                                false,
		"smtp://user%40example.com:pass@mail.example.com:99999":                            false,
		"smtp://user%40example.com:pa%ss@mail.example.com":                                 false,
		"http://user%40example.com:pass@mail.example.com":                                  false,
		"smtp:user%40example.com":                                                          false,
		"mail.example.com":                                                                 false,
		"":                                                                                 false,
	} {
		address, err := mail.ParseAddress(text)
		if (err == nil) != want {
			t.Errorf("%s: %v", text, err)
		}
		if shown := fmt.Sprintf("%v %+v %#v %v", address, address, &address, err); strings.Contains(shown, "pass@") || want && strings.Contains(shown, "pass") {
			t.Errorf("%s is shown as %s", text, shown)
		}
	}
}
