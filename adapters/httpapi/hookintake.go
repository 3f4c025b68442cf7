package httpapi

import (
	"cmp"
	"errors"
	"net/http"
	"net/netip"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/hook"
	"github.com/sluicehq/sluice/domain/tenant"
)

// hookPrefix stands before the token in the path of a hook's address.
const hookPrefix = "/h/"

// maxHookHead bounds path, query and headers of a delivery together: each run that it starts has them.
const maxHookHead = 32 << 10

// serveHooks takes deliveries: any method, before keys and the limits of tenants. What HTTP does not define comes by wrongMethod.
func (a *API) serveHooks() {
	for _, path := range []string{hookPrefix + ":token", hookPrefix + ":token/*rest"} {
		a.engine.Any(path, a.receiveHook)
		for _, r := range a.engine.Routes() {
			if r.Path == path && (path != hookPrefix+":token" || r.Method != http.MethodGet && r.Method != http.MethodPost) {
				a.undescribed = append(a.undescribed, Route{r.Method, openAPIPath(path)})
			}
		}
	}
}

// receiveHook answers a delivery to a hook. Whatever it answers with can do nothing on our origin.
func (a *API) receiveHook(c *gin.Context) {
	h := c.Writer.Header()
	for name, value := range hook.AlwaysSent() {
		h.Set(name, value)
	}
	token, rest, hasRest := strings.Cut(strings.TrimPrefix(c.Request.URL.Path, hookPrefix), "/")
	if hasRest {
		rest = "/" + rest
	}
	client, _ := netip.ParseAddr(a.client(c)) // an address that is none may send where everybody may
	in, err := a.ports.HookIntake.Enter(c.Request.Context(), token, client)
	defer in.Leave()
	state := exchange.StateOf(c)
	if in.Tenant != "" {
		state.Caller, state.Trigger = tenant.Caller{Scope: tenant.All(in.Tenant)}, string(in.Trigger)
	}
	if err != nil {
		failHook(c, err)
		return
	}
	r := hook.Request{
		Method: strings.ToUpper(c.Request.Method), Token: token, Path: rest, Query: c.Request.URL.RawQuery, Headers: hook.ReadHeaders(c.Request.Header),
		Address: c.Request.URL.EscapedPath(),
	}
	if r.Query != "" || c.Request.URL.ForceQuery {
		r.Address += "?" + r.Query
	}
	if r.Body, err = readDelivery(c, r); err != nil {
		failHook(c, err)
		return
	}
	answer, err := a.ports.HookIntake.Receive(c.Request.Context(), in, r, client)
	if err != nil {
		failHook(c, err)
		return
	}
	writeAnswer(c, answer)
}

func readDelivery(c *gin.Context, r hook.Request) ([]byte, error) {
	size := len(r.Address)
	for name, values := range r.Headers {
		for _, value := range values {
			size += len(name) + len(value)
		}
	}
	if size > maxHookHead {
		return nil, &exchange.TransportError{Status: http.StatusRequestHeaderFieldsTooLarge, Code: "headers_too_large", Message: "The address and the headers of the delivery are too large."}
	}
	return exchange.ReadRaw(c, hook.MaxBody)
}

// failHook answers with an error. Who is not known is told nothing but that.
func failHook(c *gin.Context, err error) {
	var refused *domain.Error
	if errors.As(err, &refused) && (refused.Kind == domain.Unauthenticated || refused.Kind == domain.Forbidden || refused.Code == "hook_not_found" || refused.Code == "trigger_not_found") {
		answer := hook.Refused()
		switch refused.Kind {
		case domain.Forbidden:
			answer.Status = http.StatusForbidden
		case domain.NotFound:
			answer.Status = http.StatusNotFound
		}
		exchange.StateOf(c).Code = refused.Code
		writeAnswer(c, answer)
		return
	}
	exchange.Fail(c, err)
}

// writeAnswer sends what a hook answers with, and nothing that a browser keeps.
func writeAnswer(c *gin.Context, answer hook.Answer) {
	h := c.Writer.Header()
	for name, value := range answer.Headers {
		h.Set(name, value)
	}
	if answer.Body != nil {
		h.Set("Content-Type", cmp.Or(answer.ContentType, "application/octet-stream"))
	}
	c.Status(answer.Status)
	if len(answer.Body) == 0 {
		c.Writer.WriteHeaderNow()
		return
	}
	_, _ = c.Writer.Write(answer.Body) // a client that is gone is noticed by the server
}
