// Package operator serves over HTTP what the operator of the gateway does with tenants and
// runs, and which processes there are.
package operator

import (
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
)

// prefix begins the path of every operation of the operator.
const prefix = "/v1/operator"

// Owns says whether a path is the operator's.
func Owns(path string) bool {
	rest, ok := strings.CutPrefix(path, prefix)
	return ok && (rest == "" || rest[0] == '/')
}

// Keys are the handlers of the tenants' own API for keys. Their key is the parameter keyId.
type Keys struct{ List, Create, Revoke, Rotate exchange.Handler }

// api is the operator's.
type api struct {
	tenants   inbound.Tenants
	processes inbound.Processes
	runs      Runs
	usage     inbound.OperatorUsage
	tokens    *Tokens
	now       func() time.Time
	guesses   guesses
}

// Serve adds the operator's routes to an engine; none where the tokens are nil. No tenant's
// key reaches them. A route that only reads takes any scope that has to do with it.
func Serve(engine *gin.Engine, tenants inbound.Tenants, processes inbound.Processes, runs Runs, used inbound.OperatorUsage, keys Keys, tokens *Tokens, now func() time.Time) {
	if tokens == nil {
		return
	}
	a := &api{tenants: tenants, processes: processes, runs: runs, usage: used, tokens: tokens, now: now}
	serve := func(method, path string, handle func(*gin.Context) error) {
		scopes := []Scope{scopeOf(path)}
		if method == http.MethodGet {
			scopes = []Scope{Read, scopeOf(path)}
		}
		if _, known := actions[method+" "+path]; !known && method != http.MethodGet {
			panic("operator: the audit log has no name for " + method + " " + path) // a defect of the program
		}
		engine.Handle(method, prefix+path, a.admitted(handle, scopes))
	}
	serve(http.MethodGet, "/processes", a.listProcesses)
	serve(http.MethodGet, "/runs", a.listRuns)
	serve(http.MethodGet, "/runs/:id", a.ofRun(a.getRun))
	serve(http.MethodPost, "/runs/:id/cancel", a.ofRun(a.cancelRun))
	serve(http.MethodPost, "/runs/:id/retry", a.ofRun(a.retryRun))
	serve(http.MethodGet, "/usage", a.listUsage)
	serve(http.MethodGet, "/tenants", a.list)
	serve(http.MethodPost, "/tenants", a.create)
	serve(http.MethodGet, "/tenants/:id", a.ofTenant(get))
	serve(http.MethodPatch, "/tenants/:id", a.ofTenant(a.update))
	serve(http.MethodDelete, "/tenants/:id", a.ofTenant(a.remove))
	serve(http.MethodPost, "/tenants/:id/suspend", a.ofTenant(a.suspend))
	serve(http.MethodPost, "/tenants/:id/resume", a.ofTenant(a.resume))
	serve(http.MethodGet, "/tenants/:id/api-keys", a.onBehalf(keys.List))
	serve(http.MethodPost, "/tenants/:id/api-keys", a.onBehalf(keys.Create))
	serve(http.MethodDelete, "/tenants/:id/api-keys/:keyId", a.onBehalf(keys.Revoke))
	serve(http.MethodPost, "/tenants/:id/api-keys/:keyId/rotate", a.onBehalf(keys.Rotate))
}

// scopeOf is the scope that changes what is at a path.
func scopeOf(path string) Scope {
	switch part, _, _ := strings.Cut(path[1:], "/"); part {
	case "tenants":
		return OfTenants
	case "runs":
		return OfRuns
	default:
		return Read // and there is nothing to change
	}
}

// admitted runs a handler for the operator, whose token has one of the scopes.
func (a *api) admitted(handle func(*gin.Context) error, scopes []Scope) gin.HandlerFunc {
	return func(c *gin.Context) {
		state := exchange.StateOf(c)
		state.Strict = true
		token, ok := a.tokens.find(bearer(c.Request.Header))
		var err error
		if !ok {
			err = a.refuse(c)
		} else {
			state.Operator = token.Name
			err = token.refuse(scopes...)
		}
		if err == nil {
			recorded(c, token.Name)
			err = handle(c)
		}
		if err != nil {
			exchange.Fail(c, err)
		}
	}
}

// refuse is the error of a request without the token.
func (a *api) refuse(c *gin.Context) error {
	err := a.guesses.count(a.now())
	if err.RetryAfter == 0 {
		c.Header("Www-Authenticate", "Bearer") // RFC 6750, as http.CanonicalHeaderKey spells it
	}
	return err
}

// ofTenant runs a handler for the tenant in the path. If there is none, that is the answer,
// whatever else the request holds.
func (a *api) ofTenant(handle func(*gin.Context, *tenant.Tenant) error) func(*gin.Context) error {
	return func(c *gin.Context) error {
		ten, err := a.tenants.Get(c.Request.Context(), exchange.PathID[tenant.ID](c, "id", tenant.IDPrefix))
		if err != nil {
			return err
		}
		exchange.StateOf(c).Caller = tenant.Caller{Scope: tenant.All(ten.ID())}
		return handle(c, ten)
	}
}

// onBehalf runs a handler of the tenants' own API for the tenant in the path.
func (a *api) onBehalf(handle exchange.Handler) func(*gin.Context) error {
	return a.ofTenant(func(c *gin.Context, ten *tenant.Tenant) error { return handle(c, tenant.Operator(ten.ID())) })
}
