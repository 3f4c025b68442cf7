// Package operator serves over HTTP what the operator of the gateway does with tenants and
// runs, which processes there are, and what waits for them.
package operator

import (
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/domain/audit"
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
	now       func() time.Time
}

// Entrance is a way to the operator's routes: where they are, and who uses them, which is an error for who may not. Scopes are those of
// which one is needed.
type Entrance struct {
	Prefix string
	Admit  func(c *gin.Context, scopes []Scope) (audit.Actor, error)
}

// ByToken is the entrance for whoever has one of the tokens.
func ByToken(tokens *Tokens, now func() time.Time) Entrance {
	return Entrance{Prefix: prefix, Admit: (&byToken{tokens: tokens, now: now}).admit}
}

// Serve adds the operator's routes to an engine, once for each entrance, and returns their methods and paths below its prefix. No tenant's
// key reaches them. A route that only reads takes any scope that has to do with it.
func Serve(engine *gin.Engine, tenants inbound.Tenants, processes inbound.Processes, runs Runs, used inbound.OperatorUsage, keys Keys, now func() time.Time, entrances ...Entrance) (served [][2]string) {
	a := &api{tenants: tenants, processes: processes, runs: runs, usage: used, now: now}
	serve := func(method, path string, handle func(*gin.Context) error) {
		served = append(served, [2]string{method, path})
		scopes := []Scope{scopeOf(path)}
		if method == http.MethodGet {
			scopes = []Scope{Read, scopeOf(path)}
		}
		action, known := actions[method+" "+path]
		if !known && method != http.MethodGet {
			panic("operator: the audit log has no name for " + method + " " + path) // a defect of the program
		}
		for _, e := range entrances {
			engine.Handle(method, e.Prefix+path, e.admitted(handle, action, scopes))
		}
	}
	serve(http.MethodGet, "/processes", a.listProcesses)
	serve(http.MethodGet, "/queues", a.listQueues)
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
	return served
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

// admitted runs a handler for who comes in, and has the audit log say who that was where the handler changes something.
func (e Entrance) admitted(handle func(*gin.Context) error, action tenant.Operation, scopes []Scope) gin.HandlerFunc {
	return func(c *gin.Context) {
		state := exchange.StateOf(c)
		state.Strict = true
		who, err := e.Admit(c, scopes)
		state.Operator = who.ID
		if err == nil {
			if action != "" {
				exchange.Acting(c, audit.Act{Actor: who, Action: string(action)})
			}
			err = handle(c)
		}
		if err != nil {
			exchange.Fail(c, err)
		}
	}
}

// byToken knows the operator by a token.
type byToken struct {
	tokens  *Tokens
	now     func() time.Time
	guesses guesses
}

func (b *byToken) admit(c *gin.Context, scopes []Scope) (who audit.Actor, err error) {
	token, ok := b.tokens.find(bearer(c.Request.Header))
	if !ok {
		err := b.guesses.count(b.now())
		if err.RetryAfter == 0 {
			c.Header("Www-Authenticate", "Bearer") // RFC 6750, as http.CanonicalHeaderKey spells it
		}
		return who, err
	}
	return audit.Actor{Kind: audit.ByOperator, ID: token.Name, Name: token.Name}, token.refuse(scopes...)
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
