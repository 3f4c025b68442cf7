package httpapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/console"
	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/adapters/httpapi/operator"
)

const (
	corsMethods = "GET, POST, PATCH, DELETE"
	corsHeaders = "X-API-Key, X-Idempotency-Key, X-Request-Id, Content-Type, Accept, If-Match, If-None-Match, Last-Event-ID, Prefer"
	corsExposed = "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id, Retry-After, " +
		"X-Should-Retry, Idempotent-Replayed, ETag, X-Ignored-Members, Preference-Applied"
	corsMaxAge = "7200" // seconds; browsers cap it there

	sdkPrefix = "x-stainless-" // of the headers that generated clients add
)

// cors lets browsers call from the configured origins (Fetch standard, "HTTP-network
// protocol": CORS). The key travels in a header of its own, so no credentials of
// the browser are ever asked for.
func (a *API) cors(c *gin.Context) {
	origin := c.GetHeader("Origin")
	if origin == "" || len(a.opts.AllowedOrigins) == 0 || operator.Owns(c.Request.URL.Path) || console.Owns(c.Request.URL.Path) || strings.HasPrefix(c.Request.URL.Path, hookPrefix) {
		return
	}
	h := c.Writer.Header()
	h.Add("Vary", "Origin")
	switch {
	case slices.Contains(a.opts.AllowedOrigins, "*"):
		h.Set("Access-Control-Allow-Origin", "*")
	case slices.Contains(a.opts.AllowedOrigins, origin):
		h.Set("Access-Control-Allow-Origin", origin)
	default:
		return
	}
	if c.Request.Method != http.MethodOptions || c.GetHeader("Access-Control-Request-Method") == "" {
		h.Set("Access-Control-Expose-Headers", corsExposed)
		return
	}
	h.Set("Access-Control-Allow-Methods", corsMethods)
	h.Set("Access-Control-Allow-Headers", corsHeaders+sdkRequested(c.GetHeader("Access-Control-Request-Headers")))
	h.Set("Access-Control-Max-Age", corsMaxAge)
	h.Add("Vary", "Access-Control-Request-Headers")
	c.AbortWithStatus(http.StatusNoContent)
}

// sdkRequested lists the headers of generated clients among those asked for.
func sdkRequested(asked string) string {
	var b strings.Builder
	for name := range strings.SplitSeq(asked, ",") {
		name = strings.TrimSpace(name)
		if strings.HasPrefix(strings.ToLower(name), sdkPrefix) && exchange.Printable(name, 64) {
			b.WriteString(", " + name)
		}
	}
	return b.String()
}
