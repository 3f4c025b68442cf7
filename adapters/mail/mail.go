// Package mail is the driven adapter that sends messages by SMTP (RFC 5321), with wneessen/go-mail. Messages hold
// secret links: they leave this machine in TLS only, unless the operator says otherwise.
package mail

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/textproto"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Timeout is how long sending a message may take.
const Timeout = 20 * time.Second

// Mailer implements outbound.Mailer. It is safe for concurrent use. The zero value has no server.
type Mailer struct {
	address Address
	timeout time.Duration
	roots   *x509.CertPool // nil for those of the system
}

var _ outbound.Mailer = (*Mailer)(nil)

// New returns one that sends by the server of an address.
func New(address Address) *Mailer { return &Mailer{address: address, timeout: Timeout} }

// Within gives the server less time, or more.
func (m *Mailer) Within(timeout time.Duration) *Mailer {
	m.timeout = timeout
	return m
}

// Trusting believes the certificates of these authorities only.
func (m *Mailer) Trusting(roots *x509.CertPool) *Mailer {
	m.roots = roots
	return m
}

// Enabled says whether there is a server.
func (m *Mailer) Enabled() bool { return m.address.host != "" }

// Send sends a message by a connection of its own: messages are few.
func (m *Mailer) Send(ctx context.Context, message outbound.Mail) error {
	if !m.Enabled() {
		return unavailable(errors.New("no mail server is set"))
	}
	msg, err := m.compose(message)
	if err != nil {
		return err
	}
	bounded, cancel := context.WithTimeoutCause(ctx, m.timeout, errTooSlow)
	defer cancel()
	conn := &connection{wrapped: m.address.wrapped, tls: m.tls()}
	defer conn.close()
	stop := context.AfterFunc(bounded, conn.close)
	defer stop()
	client, err := m.client(conn)
	if err != nil {
		return unavailable(errors.New("the settings of the mail server are not accepted"))
	}
	err = m.send(bounded, client, msg)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("mail: sending was stopped: %w", context.Cause(ctx))
	case bounded.Err() != nil:
		return unavailable(errTooSlow)
	default:
		return explain(err)
	}
}

var errTooSlow = errors.New("the mail server did not answer in time")

func (m *Mailer) send(ctx context.Context, client *gomail.Client, msg *gomail.Msg) error {
	session, err := client.DialToSMTPClientWithContext(ctx)
	if err != nil {
		return err
	}
	if err := client.SendWithSMTPClient(session, msg); err != nil {
		return err
	}
	_ = client.CloseWithSMTPClient(session) // the message has been taken, however the goodbye goes
	return nil
}

func (m *Mailer) client(conn *connection) (*gomail.Client, error) {
	a := m.address
	policy := gomail.TLSMandatory
	switch {
	case a.plaintext:
		policy = gomail.NoTLS
	case a.wrapped || a.local: // in TLS already, or never on a wire
		policy = gomail.TLSOpportunistic
	}
	_, helo, _ := strings.Cut(a.from.Address, "@")
	options := []gomail.Option{
		gomail.WithPort(a.port), gomail.WithTimeout(m.timeout), gomail.WithTLSPolicy(policy), gomail.WithTLSConfig(conn.tls),
		gomail.WithHELO(helo), gomail.WithDialContextFunc(conn.dial), gomail.WithoutNoop(), gomail.WithoutRset(),
	}
	if a.username != "" {
		how := gomail.SMTPAuthAutoDiscover
		if a.plaintext || a.local {
			how = gomail.SMTPAuthPlainNoEnc
		}
		options = append(options, gomail.WithSMTPAuth(how), gomail.WithUsername(a.username), gomail.WithPassword(a.password))
	}
	return gomail.NewClient(a.host, options...)
}

func (m *Mailer) tls() *tls.Config {
	return &tls.Config{ServerName: m.address.host, RootCAs: m.roots, MinVersion: tls.VersionTLS12}
}

// compose makes a message that other programs know as one of a machine, and do not answer.
func (m *Mailer) compose(message outbound.Mail) (*gomail.Msg, error) {
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	if err := msg.From(m.address.from.String()); err != nil {
		return nil, unavailable(errors.New("the sender of messages is no address"))
	}
	if err := msg.To(message.To); err != nil {
		return nil, refused(errors.New("the recipient is no address"))
	}
	_, host, _ := strings.Cut(m.address.from.Address, "@")
	msg.SetMessageIDWithValue(rand.Text() + "@" + host)
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	msg.Subject(strings.Join(strings.Fields(message.Subject), " "))
	msg.SetBodyString(gomail.TypeTextPlain, message.Text)
	return msg, nil
}

// explain says which step failed. What servers answer is not passed on: it may repeat what they were sent.
func explain(err error) error {
	var sending *gomail.SendError
	var answered *textproto.Error
	switch {
	case errors.As(err, &sending):
		code := sending.ErrorCode()
		at := fmt.Errorf("the mail server answered %d to %s", code, sending.Reason)
		ofThisOne := sending.Reason == gomail.ErrSMTPRcptTo || sending.Reason == gomail.ErrSMTPDataClose
		if ofThisOne && code >= 500 {
			return refused(at)
		}
		return unavailable(at)
	case errors.As(err, &answered):
		return unavailable(errors.New("the mail server answered " + strconv.Itoa(answered.Code)))
	default:
		return unavailable(err)
	}
}

func unavailable(cause error) error {
	return domain.Fail(domain.Unavailable, "mail_unavailable", "The message could not be sent at the moment.").Because(cause)
}

func refused(cause error) error {
	return domain.Fail(domain.Invalid, "mail_refused", "The mail server does not take messages for this address.").Because(cause)
}
