package httpapi

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/domain/tenant"
)

// operatorPrefix stands before the path of everything that is the operator's.
const operatorPrefix = "/v1/operator"

// ofOperator says whether a path is the operator's, who uses no browser: nothing of CORS
// is said there.
func ofOperator(path string) bool {
	rest, ok := strings.CutPrefix(path, operatorPrefix)
	return ok && (rest == "" || rest[0] == '/')
}

// operatorRoutes is what the operator can do. No tenant's key reaches it, and the
// operations of the table of permissions have no part in it.
func (a *API) operatorRoutes() []operatorRoute {
	const get, post, patch, remove = http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete
	all := []operatorRoute{
		{get, "/tenants", a.listTenants},
		{post, "/tenants", a.createTenant},
		{get, "/tenants/:id", a.ofTenant(getTenant)},
		{patch, "/tenants/:id", a.ofTenant(a.updateTenant)},
		{remove, "/tenants/:id", a.ofTenant(a.deleteTenant)},
		{post, "/tenants/:id/suspend", a.ofTenant(a.suspendTenant)},
		{post, "/tenants/:id/resume", a.ofTenant(a.resumeTenant)},
		{get, "/tenants/:id/api-keys", a.onBehalf(a.listKeys)},
		{post, "/tenants/:id/api-keys", a.onBehalf(a.createKey)},
		{remove, "/tenants/:id/api-keys/:keyId", a.onBehalf(a.revokeKey("keyId"))},
		{post, "/tenants/:id/api-keys/:keyId/rotate", a.onBehalf(a.rotateKey("keyId"))},
	}
	for i := range all {
		all[i].path = operatorPrefix + all[i].path
	}
	return all
}

// operatorRoute is one thing that the operator can do.
type operatorRoute struct {
	method string
	path   string
	handle func(*gin.Context) error
}

// operated runs a route's handler for the operator.
func (a *API) operated(r operatorRoute) gin.HandlerFunc {
	return func(c *gin.Context) {
		var err error
		if a.opts.OperatorToken.is(bearer(c.Request.Header)) {
			err = r.handle(c)
		} else {
			err = a.refuseGuess(c)
		}
		if err != nil {
			a.fail(c, err)
		}
	}
}

// refuseGuess returns what a request without the token is told.
func (a *API) refuseGuess(c *gin.Context) error {
	err := a.guesses.another(a.opts.Now())
	if err.RetryAfter == 0 {
		c.Header("Www-Authenticate", "Bearer") // RFC 6750, as http.CanonicalHeaderKey spells it
	}
	return err
}

// ofTenant runs a handler for the tenant that the path names. Where there is none, that
// is the answer, whatever else the request holds.
func (a *API) ofTenant(handle func(*gin.Context, *tenant.Tenant) error) func(*gin.Context) error {
	return func(c *gin.Context) error {
		ten, err := a.ports.Tenants.Get(c.Request.Context(), pathID[tenant.ID](c, "id", tenant.IDPrefix))
		if err != nil {
			return err
		}
		note(c, tenant.Caller{Tenant: ten.ID()})
		return handle(c, ten)
	}
}

// onBehalf runs a handler of the tenants' own API for the tenant that the path names.
func (a *API) onBehalf(handle handler) func(*gin.Context) error {
	return a.ofTenant(func(c *gin.Context, ten *tenant.Tenant) error { return handle(c, tenant.Operator(ten.ID())) })
}
