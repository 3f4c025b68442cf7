package egress

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/sluicehq/sluice/domain"
)

// MaxRedirects is how many redirects a client follows.
const MaxRedirects = 5

// harmless are the headers that a redirect to another origin keeps. Which of the
// others is a credential only the caller knows. Without the Idempotency-Key whoever is
// behind the redirect could not recognize a repeated attempt.
var harmless = map[string]bool{
	"Accept": true, "Accept-Language": true, "Content-Type": true, "Content-Encoding": true, "Content-Language": true,
	"Idempotency-Key": true, "User-Agent": true,
}

// checkRedirect is asked before each hop after the first. net/http has copied the
// first request's headers and has dropped only those that it knows as credentials.
func checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > MaxRedirects {
		return domain.Fail(domain.Forbidden, codeRedirects, "%s redirects more than %d times.", shown(via[0].URL), MaxRedirects)
	}
	if via[len(via)-1].URL.Scheme == "https" && req.URL.Scheme == "http" {
		return domain.Fail(domain.Forbidden, codeRedirect, "%s redirects from https to http.", shown(via[len(via)-1].URL))
	}
	req.Header.Del("Referer") // the query of the URL before may hold a secret
	if leftOrigin(req, via) {
		for name := range req.Header {
			if !harmless[name] {
				delete(req.Header, name)
			}
		}
	}
	return nil
}

// leftOrigin says whether this hop or one before it is not at the first origin. Who
// has once been elsewhere may be led back by another site.
func leftOrigin(req *http.Request, via []*http.Request) bool {
	first := via[0].URL
	for _, hop := range via[1:] {
		if !sameOrigin(first, hop.URL) {
			return true
		}
	}
	return !sameOrigin(first, req.URL)
}

// sameOrigin compares scheme, host and port. The step from http to https on their
// usual ports stays at home.
func sameOrigin(a, b *url.URL) bool {
	if !strings.EqualFold(a.Hostname(), b.Hostname()) {
		return false
	}
	if a.Scheme == b.Scheme {
		return portOf(a) == portOf(b)
	}
	return a.Scheme == "http" && b.Scheme == "https" && portOf(a) == "80" && portOf(b) == "443"
}

func portOf(u *url.URL) string {
	switch port := u.Port(); {
	case port != "":
		return port
	case u.Scheme == "https":
		return "443"
	default:
		return "80"
	}
}
