package mail_test

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
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"github.com/sluicehq/sluice/ports/outbound"
)

const (
	username = "sluice@example.com"
	password = "pass word/+&=%:é"
	unknown  = "nobody@example.com"
	later    = "busy@example.com"
)

// server is an SMTP server.
type server struct {
	port  string
	roots *x509.CertPool
	open  bool // to whoever does not sign in

	mu       sync.Mutex
	messages []*netmail.Message
	bodies   []string
	froms    []string
	secure   []bool
}

// start starts a server, which has TLS from the beginning, after STARTTLS, or not at all.
func start(t *testing.T, wrapped, startTLS bool) *server {
	t.Helper()
	certified := httptest.NewTLSServer(nil)
	t.Cleanup(certified.Close)
	s := &server{roots: x509.NewCertPool()}
	s.roots.AddCert(certified.Certificate())

	smtpServer := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) { return &session{server: s, conn: c}, nil }))
	smtpServer.AllowInsecureAuth = !wrapped && !startTLS
	smtpServer.ErrorLog = log.New(t.Output(), "", 0)
	settings := &tls.Config{Certificates: certified.TLS.Certificates, MinVersion: tls.VersionTLS12}
	if startTLS {
		smtpServer.TLSConfig = settings
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, s.port, _ = net.SplitHostPort(listener.Addr().String())
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

func (s *server) received(t *testing.T) []outbound.Mail {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]outbound.Mail, 0, len(s.messages))
	for i, m := range s.messages {
		to, err := netmail.ParseAddress(m.Header.Get("To"))
		if err != nil {
			t.Fatal(err)
		}
		subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
		if err != nil {
			t.Fatal(err)
		}
		body := s.bodies[i]
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
	server *server
	conn   *smtp.Conn
	signed bool
	from   string
}

func (s *session) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, pass string) error {
		if user != username || pass != password {
			return &smtp.SMTPError{Code: 535, EnhancedCode: smtp.EnhancedCode{5, 7, 8}, Message: "not with " + pass}
		}
		s.signed = true
		return nil
	}), nil
}

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	if !s.signed && !s.server.open {
		return errors.New("nobody is signed in")
	}
	s.from = from
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	switch to {
	case unknown:
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such user"}
	case later:
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
	s.server.messages, s.server.bodies = append(s.server.messages, message), append(s.server.bodies, string(body))
	s.server.froms, s.server.secure = append(s.server.froms, s.from), append(s.server.secure, secure)
	return nil
}

func (s *session) Reset()        {}
func (s *session) Logout() error { return nil }

// silent accepts connections, and says nothing.
func silent(t *testing.T) (port string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
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
