package httpapi

import (
	"net/http"
	"regexp"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/domain/tenant"
)

// prefix stands before the path of every operation of this version of the API.
const prefix = "/v1/gateway"

// handler answers an admitted request, or returns the error to answer with.
type handler func(c *gin.Context, who tenant.Caller) error

// route is one operation of the API.
type route struct {
	method    string
	path      string
	operation tenant.Operation
	handle    handler
}

// routes is the whole API behind the keys.
func (a *API) routes() []route {
	return []route{
		{http.MethodPost, prefix + "/triggers", tenant.CreateTrigger, a.createTrigger},
		{http.MethodGet, prefix + "/custom-nodes/registry", tenant.ReadNodeRegistry, a.nodeRegistry},
	}
}

var pathParameter = regexp.MustCompile(`[:*]([A-Za-z]+)`)

// openAPIPath turns Gin's notation of a path into that of OpenAPI.
func openAPIPath(path string) string { return pathParameter.ReplaceAllString(path, "{$1}") }
