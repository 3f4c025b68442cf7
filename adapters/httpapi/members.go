package httpapi

import (
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/console"
	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
)

// serveConsole adds what people do with their accounts, which has a description of its own, and every operation of the
// API for members of tenants who are signed in.
func (a *API) serveConsole() {
	if a.ports.Accounts == nil || a.opts.PublicURL == nil {
		return
	}
	options := console.Options{PublicURL: a.opts.PublicURL, Address: a.client}
	if a.opts.Pages != nil {
		options.Pages = a.opts.Pages
	}
	a.console = console.New(a.ports.Accounts, a.ports.SignInElsewhere, a.ports.ForgottenPasswords, options)
	for _, r := range a.console.Serve(a.engine) {
		a.undescribed = append(a.undescribed, Route{r.Method, openAPIPath(r.Path)})
	}
	for _, r := range append(a.routes(), a.memberRoutes()...) {
		a.serveMembers(r.method, ofMembers(r.path), a.admitted(r))
	}
}

// serveMembers adds a route of members of tenants.
func (a *API) serveMembers(method, path string, handle gin.HandlerFunc) {
	a.undescribed = append(a.undescribed, Route{method, openAPIPath(path)})
	a.engine.Handle(method, path, func(c *gin.Context) {
		if err := a.console.Guard(c); err != nil {
			exchange.Fail(c, err)
			return
		}
		handle(c)
	})
}

// ofMembers is where members of tenants have what is at a path for keys.
func ofMembers(path string) string { return console.TenantPath + strings.TrimPrefix(path, prefix) }

// isOfMembers says whether a request is one of members of tenants.
func isOfMembers(c *gin.Context) bool { return strings.HasPrefix(c.FullPath(), console.TenantPath) }
