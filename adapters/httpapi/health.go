package httpapi

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/docs"
	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/adapters/httpapi/openapi"
)

const (
	healthPath    = "/healthz"
	readinessPath = "/readyz"
)

// getOpen adds what needs no key to read. net/http leaves the body out of an answer to HEAD.
func (a *API) getOpen(path string, handle gin.HandlerFunc) {
	a.engine.GET(path, handle)
	a.engine.HEAD(path, handle)
	a.undescribed = append(a.undescribed, Route{http.MethodHead, openAPIPath(path)})
}

// serveOpen adds what needs no key: health and readiness, and, unless healthOnly, the
// API's description and its page.
func (a *API) serveOpen(healthOnly bool) {
	get := a.getOpen
	get(healthPath, a.health)
	get(readinessPath, a.readiness)
	if healthOnly {
		return
	}
	get("/openapi.yaml", description("application/yaml; charset=utf-8", openapi.YAML))
	get("/openapi.json", description("application/json; charset=utf-8", openapi.JSON))
	get("/docs", func(c *gin.Context) { c.Redirect(http.StatusMovedPermanently, "/docs/") })
	get("/docs/*file", a.documentation(http.StripPrefix("/docs", docs.Handler())))
}

// documentation serves the page about the API.
func (a *API) documentation(page http.Handler) gin.HandlerFunc {
	return func(c *gin.Context) {
		if !docs.Has(c.Param("file")) {
			exchange.Fail(c, errNoRoute(c.Request))
			return
		}
		page.ServeHTTP(c.Writer, c.Request)
	}
}

type healthBody struct {
	Status string `json:"status"`
}

// health says that the process lives.
func (a *API) health(c *gin.Context) {
	if err := exchange.WriteJSON(c, http.StatusOK, healthBody{"ok"}); err != nil {
		exchange.Fail(c, err)
	}
}

// readiness says whether requests can be served: the database answers and takes writes,
// and its schema is up to date.
func (a *API) readiness(c *gin.Context) {
	err := a.opts.Ready(c.Request.Context())
	if err == nil {
		err = exchange.WriteJSON(c, http.StatusOK, healthBody{"ready"})
	}
	if err != nil {
		exchange.Fail(c, err)
	}
}

// description makes its text when somebody asks for it: few do, and one takes many times its size to make.
func description(contentType string, text func() []byte) gin.HandlerFunc {
	return func(c *gin.Context) { c.Data(http.StatusOK, contentType, text()) }
}
