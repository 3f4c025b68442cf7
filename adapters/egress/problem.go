package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"

	"github.com/sluicehq/sluice/domain"
)

// The codes of what this package refuses and of what the network does.
const (
	codeURL          = "url_refused"
	codeAddress      = "address_refused"
	codePort         = "port_refused"
	codeRedirect     = "redirect_refused"
	codeRedirects    = "too_many_redirects"
	codeTooLarge     = "response_too_large"
	codeHeaders      = "response_headers_too_large"
	codeDNS          = "dns_failed"
	codeConnection   = "connection_failed"
	codeTLS          = "tls_failed"
	codeConnectTimer = "connect_timeout"
	codeTimeout      = "timeout"
)

// refusal is the error of the dialer. It names the address, so it stays inside.
type refusal struct {
	code  string
	cause error
}

func (r *refusal) Error() string {
	if r.cause == nil {
		return r.code
	}
	return r.code + ": " + r.cause.Error()
}

// maxShownHost bounds how much of a host a message repeats, in characters.
const maxShownHost = 255

// shown is the host as a message names it.
func shown(u *url.URL) string { return domain.Clip(u.Host, maxShownHost) }

// explain says what a failed call means to a tenant. Errors of the network carry
// addresses, also those of name servers, so none of their text is passed on except what
// they say about a certificate.
func explain(req *http.Request, err error) error {
	host := shown(req.URL)
	var refused *refusal
	var name *net.DNSError
	var wait net.Error
	var certificate *tls.CertificateVerificationError
	unavailable := func(code, format string, args ...any) error {
		return domain.Fail(domain.Unavailable, code, format, args...).Because(err)
	}
	switch {
	case errors.Is(req.Context().Err(), context.Canceled):
		return err
	case req.Context().Err() != nil:
		return unavailable(codeTimeout, "%s did not answer in time.", host)
	case errors.As(err, &refused):
		return refused.explain(host, err)
	case errors.As(err, &name):
		return unavailable(codeDNS, "The name of %s could not be resolved.", host)
	case errors.As(err, &certificate):
		return unavailable(codeTLS, "The certificate of %s is not valid: %v.", host, certificate.Err)
	case isTLS(err):
		return unavailable(codeTLS, "No secure connection to %s could be made.", host)
	case errors.As(err, &wait) && wait.Timeout(): // only connecting has a time of its own
		return unavailable(codeConnectTimer, "No connection to %s could be made in time.", host)
	case errors.Is(err, syscall.ECONNREFUSED):
		return unavailable(codeConnection, "%s refused the connection.", host)
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return unavailable(codeConnection, "%s broke off the connection.", host)
	default:
		return unavailable(codeConnection, "%s could not be reached, or gave no answer that can be read.", host)
	}
}

func (r *refusal) explain(host string, err error) error {
	if r.code == codePlain {
		return domain.Fail(domain.Forbidden, codePlain,
			"A secret is sent to %s over TLS only: the URL has to begin with https://, unless the operator of the gateway allows the address.", host).Because(err)
	}
	if r.code == codePort {
		return domain.Fail(domain.Forbidden, codePort,
			"The port of %s is not one that calls may go to: it belongs to another protocol than HTTP.", host).Because(err)
	}
	return domain.Fail(domain.Forbidden, codeAddress,
		"The address of %s is not one that calls may go to: it is local, private or reserved. "+
			"The operator of the gateway can allow it.", host).Because(err)
}

// isTLS says whether the other side speaks no TLS, or ended it with an alert, which
// crypto/tls names the operation.
func isTLS(err error) bool {
	var record tls.RecordHeaderError
	var alert *net.OpError
	return errors.Is(err, http.ErrSchemeMismatch) || errors.As(err, &record) ||
		errors.As(err, &alert) && (alert.Op == "remote error" || alert.Op == "local error")
}
