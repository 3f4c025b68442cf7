package httpapi

import (
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/domain/tenant"
)

// The headers of admission, as [http.CanonicalHeaderKey] spells them.
const (
	headerKey            = "X-Api-Key"
	headerLimit          = "X-Ratelimit-Limit"
	headerRemaining      = "X-Ratelimit-Remaining"
	headerReset          = "X-Ratelimit-Reset"
	headerRequestID      = "X-Request-Id"
	headerIdempotencyKey = "X-Idempotency-Key"
	headerReplayed       = "Idempotent-Replayed"
	headerRetryAfter     = "Retry-After"
	headerShouldRetry    = "X-Should-Retry"
)

// apiKey returns the key that a request bears; empty for none. Two headers are none, for a
// proxy and the gateway could each believe another one.
func apiKey(h http.Header) string {
	if sent := h[headerKey]; len(sent) == 1 {
		return sent[0]
	}
	return ""
}

// admitted runs a route's handler for those who may perform its operation.
func (a *API) admitted(r route) gin.HandlerFunc {
	return func(c *gin.Context) {
		in, err := a.ports.Admission.Admit(c.Request.Context(), apiKey(c.Request.Header), r.operation)
		defer in.Leave()
		note(c, in.Caller)
		if left := in.Allowance; left != nil {
			v := visitOf(c)
			h := v.Header()
			v.set(h, headerLimit, strconv.Itoa(left.Limit))
			v.set(h, headerRemaining, strconv.Itoa(left.Remaining))
			v.set(h, headerReset, strconv.FormatInt(ceilUnix(left.Reset), 10))
		}
		if r.operation == tenant.FollowRun {
			in.Leave() // it may last for hours, in which others are to have the place
		}
		if err == nil {
			err = r.handle(c, in.Caller)
		}
		if err != nil {
			a.fail(c, err)
		}
	}
}
