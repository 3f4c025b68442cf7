package egress

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
)

// The codes of calls that a credential may not go along with.
const (
	codeHost        = "host_not_allowed"
	codePlain       = "tls_required"
	codeCertificate = "client_certificate_refused"
)

// Bearing returns a client whose calls bear a credential. It is added to each hop by itself,
// after everything else, and only where the credential may be sent: to its hosts, over TLS or
// to an address that [Options.Allow] opens. A call to another host is refused. A redirect to
// another host is followed without the credential, and bears it no more wherever it leads
// from there; one whose URL holds the secret is refused. Otherwise the client is as
// [Guard.Client] makes it.
func (g *Guard) Bearing(c connection.Credential, r Redirects) *http.Client {
	client := g.Client(r)
	bearer := &bearingTripper{guard: g, credential: c}
	client.Transport = bearer
	follow := client.CheckRedirect
	client.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if err := follow(req, via); err != nil {
			return err
		}
		return bearer.checkRedirect(req, via)
	}
	return client
}

// bearingTripper is one hop of a call that bears a credential.
type bearingTripper struct {
	guard      *Guard
	credential connection.Credential
}

// strayed marks the context of a hop that has left the hosts of the credential.
type strayed struct{}

// reaches says whether the credential may be sent where a URL leads.
func (t *bearingTripper) reaches(u *url.URL) bool {
	target, ok := connection.TargetOf(u, Names{}.ASCII)
	return ok && t.credential.Reaches(target)
}

// checkRedirect is asked before each hop after the first.
func (t *bearingTripper) checkRedirect(req *http.Request, via []*http.Request) error {
	out := !t.reaches(req.URL)
	for _, hop := range via[1:] {
		out = out || !t.reaches(hop.URL)
	}
	if !out {
		return nil
	}
	if text := req.URL.String(); t.credential.Redactor().Holds(text) || t.credential.Redactor().Holds(unescaped(text)) {
		return domain.Fail(domain.Forbidden, codeRedirect, "%s redirects to another host with the secret of the connection in the URL.", shown(via[0].URL))
	}
	*req = *req.WithContext(context.WithValue(req.Context(), strayed{}, true))
	return nil
}

// unescaped decodes what it can of percent-encoding.
func unescaped(text string) string {
	if plain, err := url.PathUnescape(strings.ReplaceAll(text, "+", " ")); err == nil {
		return plain
	}
	return text
}

// RoundTrip adds the credential to a copy of the request, so that nobody who has the request
// finds it there.
func (t *bearingTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	if left, _ := req.Context().Value(strayed{}).(bool); left {
		return roundTripper{guard: t.guard, transport: t.guard.transport}.RoundTrip(req)
	}
	hop := roundTripper{guard: t.guard, transport: t.guard.transport}
	if req.URL.Scheme == "http" {
		hop.transport = t.guard.plain
	}
	bearing, err := t.bear(req)
	if err == nil {
		err = t.showCertificate(req, &hop)
	}
	if err != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, err
	}
	resp, err := hop.RoundTrip(bearing)
	if resp != nil {
		resp.Request = req
	}
	return resp, err
}

// bear copies the request and adds the credential to the copy.
func (t *bearingTripper) bear(req *http.Request) (*http.Request, error) {
	if err := checkURL(req.URL); err != nil {
		return nil, err
	}
	if !t.reaches(req.URL) {
		return nil, domain.Fail(domain.Forbidden, codeHost, "The connection %s may not be sent to %s, which is none of its hosts.", t.credential.Connection(), shown(req.URL))
	}
	bearing := req.Clone(req.Context())
	bearing.URL.Host = asciiHost(req.URL)
	bearing.Host = bearing.URL.Host // servers behind one address are told apart by it
	for _, h := range t.credential.Headers() {
		bearing.Header.Set(h.Name, h.Value.Reveal())
	}
	if fields := t.credential.Query(); len(fields) > 0 {
		bearing.URL.RawQuery = withFields(req.URL.RawQuery, fields)
	}
	body, err := bodyOf(req)
	if err != nil {
		return nil, err
	}
	if header, value, ok := t.credential.Sign(body); ok {
		bearing.Header.Set(header, value)
	}
	if body != nil {
		bearing.Body = io.NopCloser(bytes.NewReader(body))
		bearing.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	}
	return bearing, nil
}

// asciiHost is the host of a URL as its name was compared: net/http looks up the same name, but
// writes another one into the Host header where letters are full-width, say.
func asciiHost(u *url.URL) string {
	host := u.Hostname()
	name, err := Names{}.ASCII(host)
	if err != nil || strings.EqualFold(name, host) {
		return u.Host
	}
	if port := u.Port(); port != "" {
		return net.JoinHostPort(name, port)
	}
	return name
}

// bodyOf reads what a request sends, nil for nothing. It is in memory already.
func bodyOf(req *http.Request) ([]byte, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return nil, nil
	}
	body, err := io.ReadAll(req.Body)
	req.Body.Close()
	return body, err
}

// withFields adds parameters to a query in place of those of the same names.
func withFields(query string, fields []connection.Field) string {
	var kept []string
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(name); err == nil {
			name = plain
		}
		replaced := false
		for _, f := range fields {
			replaced = replaced || f.Name == name
		}
		if pair != "" && !replaced {
			kept = append(kept, pair)
		}
	}
	for _, f := range fields {
		kept = append(kept, url.QueryEscape(f.Name)+"="+url.QueryEscape(f.Value.Reveal()))
	}
	return strings.Join(kept, "&")
}

// showCertificate gives a hop connections of its own where the client shows a certificate in
// TLS: others must not come to use them.
func (t *bearingTripper) showCertificate(req *http.Request, hop *roundTripper) error {
	shows, ok := t.credential.ClientCertificate()
	if !ok {
		return nil
	}
	if req.URL.Scheme != "https" {
		return domain.Fail(domain.Forbidden, codePlain, "A client certificate is shown over TLS only, and the URL of %s begins with http://.", shown(req.URL))
	}
	pair, err := tls.X509KeyPair([]byte(shows.Certificate.Reveal()), []byte(shows.PrivateKey.Reveal()))
	if err != nil {
		return domain.Fail(domain.Forbidden, codeCertificate, "The client certificate of the connection %s cannot be used.", t.credential.Connection())
	}
	own := t.guard.transport.Clone()
	own.DisableKeepAlives = true
	own.TLSClientConfig.Certificates = []tls.Certificate{pair}
	if shows.Authorities != "" {
		own.TLSClientConfig.RootCAs = x509.NewCertPool()
		own.TLSClientConfig.RootCAs.AppendCertsFromPEM([]byte(shows.Authorities))
	}
	hop.transport = own
	return nil
}
