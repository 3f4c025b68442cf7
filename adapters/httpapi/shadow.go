package httpapi

import (
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
)

// shadowed finds, for each path that is spelled out, the methods that it does not take
// but a path with a parameter in that place does: GET /triggers/preview is not a
// trigger of that identifier, but the wrong method.
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

// covers says whether a path with parameters fits another path, which spells out what
// the first leaves open.
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

// refuseShadowed answers what [shadowed] finds as the wrong method.
func (a *API) refuseShadowed(routes []route) {
	a.spelledOut = make(map[string]string)
	for path, methods := range shadowed(routes) {
		var allowed []string
		for _, r := range routes {
			if r.path == path {
				allowed = append(allowed, r.method)
			}
		}
		a.spelledOut[path] = strings.Join(allowed, ", ")
		for _, method := range methods {
			a.engine.Handle(method, path, a.wrongMethod)
			a.refused = append(a.refused, Route{method, openAPIPath(path)})
		}
	}
}

// wrongMethod answers a request whose path takes other methods. The engine has listed
// those of all paths that fit; where one is spelled out, only its own count.
func (a *API) wrongMethod(c *gin.Context) {
	if allowed, ok := a.spelledOut[c.Request.URL.Path]; ok {
		c.Header("Allow", allowed)
	}
	a.failKnown(c, errNoMethod(c.Request))
}
