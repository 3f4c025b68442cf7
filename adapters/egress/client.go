package egress

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/sluicehq/sluice/domain"
)

// Redirects says what a client does when it is sent elsewhere.
type Redirects bool

// The ways of treating a redirect.
const (
	// Stay gives the redirect itself as the answer. It is what signed calls want: who
	// is sent elsewhere with a signature can be impersonated there.
	Stay Redirects = false

	// Follow follows redirects, up to [MaxRedirects] times. Each hop is checked as a call of its
	// own. Once a hop leaves the first origin, no header that the caller set goes along
	// but those that describe the content.
	Follow Redirects = true
)

// Client returns a client that refuses what the package says and has no cookies. The
// deadline of a request's context bounds the call with all its hops until the body is
// read; where there is none, [Options.Timeout] bounds each hop.
func (g *Guard) Client(r Redirects) *http.Client {
	c := &http.Client{Transport: roundTripper{g, g.transport}, CheckRedirect: checkRedirect}
	if r == Stay {
		c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return c
}

// roundTripper is one hop of a call.
type roundTripper struct {
	guard     *Guard
	transport *http.Transport
}

// RoundTrip checks the URL here and the address when it is dialled.
func (t roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := checkURL(req.URL); err != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, err
	}
	cancel := context.CancelFunc(func() {})
	if _, bounded := req.Context().Deadline(); !bounded {
		var ctx context.Context
		ctx, cancel = context.WithTimeout(req.Context(), t.guard.timeout)
		req = req.WithContext(ctx)
	}
	resp, err := t.transport.RoundTrip(req)
	if err != nil {
		defer cancel() // after the error was read from the context
		return nil, explain(req, err)
	}
	if headerSize(resp.Header) > maxHeader {
		defer cancel()
		resp.Body.Close()
		return nil, domain.Fail(domain.Forbidden, codeHeaders, "The headers of the answer of %s are longer than the permitted %d bytes.", shown(req.URL), maxHeader)
	}
	// Where there is no body, Content-Length says what another request would get.
	hasBody := req.Method != http.MethodHead && resp.StatusCode != http.StatusNotModified
	resp.Body = &limitedBody{
		from: resp.Body, req: req, limit: t.guard.maxBody, done: cancel,
		tooLarge: hasBody && resp.ContentLength > t.guard.maxBody,
	}
	return resp, nil
}

// headerSize is how long headers are in HTTP/1.1, in bytes.
func headerSize(h http.Header) (size int) {
	for name, values := range h {
		for _, v := range values {
			size += len(name) + len(": ") + len(v) + len("\r\n")
		}
	}
	return size
}

// CloseIdleConnections is what http.Client.CloseIdleConnections looks for.
func (t roundTripper) CloseIdleConnections() { t.guard.Close() }

func checkURL(u *url.URL) error {
	refuse := func(format string, args ...any) error {
		return domain.Fail(domain.Forbidden, codeURL, format, args...)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return refuse("The URL must begin with http:// or https://.")
	case u.Hostname() == "":
		return refuse("The URL must name a host.")
	case u.User != nil:
		return refuse("The URL must not hold credentials; %s may get them in a header.", shown(u))
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return refuse("The port of %s must be from 1 to 65535.", shown(u))
		}
	}
	return nil
}
