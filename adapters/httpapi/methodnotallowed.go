package httpapi

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/console"
	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
)

// shadowed finds, for each literal path, the methods that only a path with a parameter
// takes: GET /triggers/preview is the wrong method, not a trigger of that identifier.
func shadowed(routes []route) map[string][]string {
	taken := make(map[string][]string)
	for _, r := range routes {
		taken[r.path] = append(taken[r.path], r.method)
	}
	found := make(map[string][]string)
	for path := range taken {
		for _, other := range routes {
			if other.path != path && covers(other.path, path) && !slices.Contains(taken[path], other.method) && !slices.Contains(found[path], other.method) {
				found[path] = append(found[path], other.method)
			}
		}
	}
	return found
}

// covers says whether a path with parameters fits another path, which is literal there.
func covers(general, special string) bool {
	a, b := strings.Split(general, "/"), strings.Split(special, "/")
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] && (!strings.HasPrefix(a[i], ":") || strings.HasPrefix(b[i], ":")) {
			return false
		}
	}
	return true
}

// refuseShadowed answers what [shadowed] finds with 405.
func (a *API) refuseShadowed(routes []route) {
	a.literalPaths = make(map[string]string)
	for path, methods := range shadowed(routes) {
		var allowed []string
		for _, r := range routes {
			if r.path == path {
				allowed = append(allowed, r.method)
			}
		}
		a.literalPaths[path] = strings.Join(allowed, ", ")
		for _, method := range methods {
			a.engine.Handle(method, path, a.wrongMethod)
			a.undescribed = append(a.undescribed, Route{method, openAPIPath(path)})
			if a.console != nil {
				a.serveMembers(method, ofMembers(path), a.wrongMethod)
			}
		}
	}
}

// wrongMethod answers a request whose path takes other methods. Gin has listed those of all
// paths that fit; of a literal path only its own count.
func (a *API) wrongMethod(c *gin.Context) {
	if !a.opts.HealthOnly && strings.HasPrefix(c.Request.URL.Path, hookPrefix) {
		c.Writer.Header().Del("Allow")
		a.receiveHook(c) // a method that HTTP does not define
		return
	}
	path := c.Request.URL.Path
	if rest, ok := console.OfTenant(path); ok {
		path = prefix + rest
	}
	if allowed, ok := a.literalPaths[path]; ok {
		c.Header("Allow", allowed)
	}
	a.failKnown(c, &exchange.TransportError{Status: http.StatusMethodNotAllowed, Code: "method_not_allowed", Message: fmt.Sprintf(
		"%s does not take %s. The Allow header lists what it takes.", exchange.Redact(c.Request.URL.Path), exchange.Redact(c.Request.Method))})
}
