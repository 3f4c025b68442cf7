package httpapi

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/domain/audit"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
)

// The headers of admission, as [http.CanonicalHeaderKey] spells them.
const (
	headerKey       = "X-Api-Key"
	headerLimit     = "X-Ratelimit-Limit"
	headerRemaining = "X-Ratelimit-Remaining"
	headerReset     = "X-Ratelimit-Reset"
	headerRequestID = "X-Request-Id"
)

// apiKey returns the key of a request; empty for none. Two headers count as none: a proxy
// and the gateway could each believe another one.
func apiKey(h http.Header) string {
	if sent := h[headerKey]; len(sent) == 1 {
		return sent[0]
	}
	return ""
}

// credentials are who makes a request: below the console's path of a tenant whoever is signed in, and a key everywhere
// else, with the page that makes it. One of the gateway's own pages has its origin, which is the host that the request
// is for.
func (a *API) credentials(c *gin.Context) inbound.Credentials {
	if isOfMembers(c) {
		return inbound.Credentials{Member: a.console.Member(c)}
	}
	r := c.Request
	origin := r.Header.Get("Origin")
	if _, host, _ := strings.Cut(origin, "://"); host == r.Host {
		origin = ""
	}
	return inbound.Credentials{Key: apiKey(r.Header), Origin: origin}
}

// admitted runs a route's handler for those who may perform its operation.
func (a *API) admitted(r route) gin.HandlerFunc {
	strict := r.isStrict()
	return func(c *gin.Context) {
		in, err := a.ports.Admission.Admit(c.Request.Context(), a.credentials(c), r.operation)
		defer in.Leave()
		state := exchange.StateOf(c)
		state.Caller, state.Strict = in.Caller, strict
		if allowance := in.Allowance; allowance != nil {
			h := state.Header()
			state.SetHeader(h, headerLimit, strconv.Itoa(allowance.Limit))
			state.SetHeader(h, headerRemaining, strconv.Itoa(allowance.Remaining))
			state.SetHeader(h, headerReset, strconv.FormatInt(ceilUnix(allowance.Reset), 10))
		}
		if r.operation == tenant.FollowRun || r.operation == tenant.FollowLists {
			in.Leave() // a stream may last for hours, and others need the place
		}
		if err == nil {
			if r.isRecorded() {
				exchange.Acting(c, audit.ActOf(in.Caller, r.operation))
			}
			err = r.handle(c, in.Caller)
		}
		if err != nil {
			exchange.Fail(c, err)
		}
	}
}

// ceilUnix is the first whole Unix second that is not before t.
func ceilUnix(t time.Time) int64 { return int64(math.Ceil(float64(t.UnixMilli()) / 1000)) }

// noRoute answers requests for a path that does not exist.
func (a *API) noRoute(c *gin.Context) {
	if a.console != nil && a.console.ServePage(c) {
		return
	}
	if !a.opts.HealthOnly {
		a.failKnown(c, errNoRoute(c.Request))
		return
	}
	exchange.Fail(c, &exchange.TransportError{Status: http.StatusNotFound, Code: "route_not_found", Message: fmt.Sprintf(
		"There is no %s: this process answers %s and %s only, and works for those that serve the API.", exchange.Redact(c.Request.URL.Path), healthPath, readinessPath)})
}

func errNoRoute(r *http.Request) error {
	return &exchange.TransportError{Status: http.StatusNotFound, Code: "route_not_found",
		Message: fmt.Sprintf("There is no %s. The API description is at /openapi.yaml and /docs.", exchange.Redact(r.URL.Path))}
}

// failKnown answers with an error that was found before the key was checked. Below the
// prefix of the API the key comes before the path: only who is let in gets the error, and
// it counts as a request.
func (a *API) failKnown(c *gin.Context, err error) {
	if path := c.Request.URL.Path; path != prefix && !strings.HasPrefix(path, prefix+"/") {
		exchange.Fail(c, err)
		return
	}
	h := c.Writer.Header()
	allow := h["Allow"]
	h.Del("Allow")
	a.admitted(route{operation: tenant.Authenticate, handle: func(*gin.Context, tenant.Caller) error {
		if allow != nil {
			h["Allow"] = allow
		}
		return err
	}})(c)
}
