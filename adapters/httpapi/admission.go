package httpapi

import (
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/domain/tenant"
)

// The headers of admission.
const (
	headerKey            = "X-API-Key"
	headerLimit          = "X-RateLimit-Limit"
	headerRemaining      = "X-RateLimit-Remaining"
	headerReset          = "X-RateLimit-Reset"
	headerRequestID      = "X-Request-Id"
	headerIdempotencyKey = "X-Idempotency-Key"
	headerReplayed       = "Idempotent-Replayed"
	headerRetryAfter     = "Retry-After"
	headerShouldRetry    = "X-Should-Retry"
)

// admitted runs a route's handler for those who may perform its operation.
func (a *API) admitted(r route) gin.HandlerFunc {
	return func(c *gin.Context) {
		in, err := a.ports.Admission.Admit(c.Request.Context(), c.GetHeader(headerKey), r.operation)
		defer in.Leave()
		note(c, in.Caller)
		if left := in.Allowance; left != nil {
			h := c.Writer.Header()
			h.Set(headerLimit, strconv.Itoa(left.Limit))
			h.Set(headerRemaining, strconv.Itoa(left.Remaining))
			h.Set(headerReset, strconv.FormatInt(ceilUnix(left.Reset), 10))
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
