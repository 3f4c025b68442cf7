// Package mailtest is a mail server for tests: that of emersion/go-smtp, which keeps what it is sent.
package mailtest

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/http/httptest"
	netmail "net/mail"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"github.com/sluicehq/sluice/ports/outbound"
)

// Who may send, and to whom nothing can be sent: ever, and now.
const (
	Username = "sluice@example.com"
	Password = "pass word/+&=%:é"
	Unknown  = "nobody@example.com"
	Later    = "busy@example.com"
)

// Server is a mail server on this machine.
type Server struct {
	Port  string
	Roots *x509.CertPool // that its certificate is of
	Open  bool           // to whoever does not sign in

	mu       sync.Mutex
	messages []Message
}

// Message is one that was sent.
type Message struct {
	Header netmail.Header
	From   string // of the envelope
	Secure bool   // by TLS
	body   string
}

// URL is the server's address, as the gateway is given it.
func (s *Server) URL(scheme string) string {
	return (&url.URL{Scheme: scheme, User: url.UserPassword(Username, Password), Host: net.JoinHostPort("127.0.0.1", s.Port)}).String()
}

// Start starts a server until the test ends, which has TLS from the beginning, after STARTTLS, or not at all.
func Start(t *testing.T, wrapped, startTLS bool) *Server {
	t.Helper()
	certified := httptest.NewTLSServer(nil)
	t.Cleanup(certified.Close)
	s := &Server{Roots: x509.NewCertPool()}
	s.Roots.AddCert(certified.Certificate())

	smtpServer := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) { return &session{server: s, conn: c}, nil }))
	smtpServer.AllowInsecureAuth = !wrapped && !startTLS
	smtpServer.ErrorLog = log.New(t.Output(), "", 0)
	settings := &tls.Config{Certificates: certified.TLS.Certificates, MinVersion: tls.VersionTLS12}
	if startTLS {
		smtpServer.TLSConfig = settings
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, s.Port, _ = net.SplitHostPort(listener.Addr().String())
	if wrapped {
		listener = tls.NewListener(listener, settings)
	}
	served := make(chan struct{})
	go func() { defer close(served); _ = smtpServer.Serve(listener) }()
	t.Cleanup(func() {
		_ = smtpServer.Close() // and every connection
		<-served
	})
	return s
}

// Messages are those that were sent, in order.
func (s *Server) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.messages)
}

// Received are those that were sent, as people read them.
func (s *Server) Received(t *testing.T) []outbound.Mail {
	t.Helper()
	var all []outbound.Mail
	for _, m := range s.Messages() {
		to, err := netmail.ParseAddress(m.Header.Get("To"))
		if err != nil {
			t.Fatal(err)
		}
		subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
		if err != nil {
			t.Fatal(err)
		}
		body := m.body
		if m.Header.Get("Content-Transfer-Encoding") == "quoted-printable" {
			text, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(body)))
			if err != nil {
				t.Fatal(err)
			}
			body = string(text)
		}
		all = append(all, outbound.Mail{To: to.Address, Subject: subject, Text: strings.ReplaceAll(body, "\r\n", "\n")})
	}
	return all
}

// session is one connection.
type session struct {
	server *Server
	conn   *smtp.Conn
	signed bool
	from   string
}

func (s *session) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, pass string) error {
		if user != Username || pass != Password {
			return &smtp.SMTPError{Code: 535, EnhancedCode: smtp.EnhancedCode{5, 7, 8}, Message: "not with " + pass}
		}
		s.signed = true
		return nil
	}), nil
}

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	if !s.signed && !s.server.Open {
		return errors.New("nobody is signed in")
	}
	s.from = from
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	switch to {
	case Unknown:
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such user"}
	case Later:
		return &smtp.SMTPError{Code: 450, EnhancedCode: smtp.EnhancedCode{4, 2, 1}, Message: "later"}
	}
	return nil
}

func (s *session) Data(r io.Reader) error {
	message, err := netmail.ReadMessage(r)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(message.Body)
	if err != nil {
		return err
	}
	_, secure := s.conn.TLSConnectionState()
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.server.messages = append(s.server.messages, Message{Header: message.Header, From: s.from, Secure: secure, body: string(body)})
	return nil
}

func (s *session) Reset()        {}
func (s *session) Logout() error { return nil }

// Silent accepts connections until the test ends, and says nothing.
func Silent(t *testing.T) (port string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var open []net.Conn
	t.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, conn := range slices.Clone(open) {
			_ = conn.Close()
		}
	})
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, conn)
			mu.Unlock()
		}
	}()
	_, port, _ = net.SplitHostPort(listener.Addr().String())
	return port
}
