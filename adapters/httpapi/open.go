package httpapi

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/docs"
	"github.com/sluicehq/sluice/adapters/httpapi/openapi"
)

// The paths that say how the gateway is.
const (
	healthPath    = "/healthz"
	readinessPath = "/readyz"
)

// serveOpen adds what needs no key: the API's description and its page.
func (a *API) serveOpen(e *gin.Engine) {
	e.GET("/openapi.yaml", description("application/yaml; charset=utf-8", openapi.YAML()))
	e.GET("/openapi.json", description(contentType, openapi.JSON()))
	e.GET("/docs", func(c *gin.Context) { c.Redirect(http.StatusMovedPermanently, "/docs/") })
	e.GET("/docs/*file", a.documentation(http.StripPrefix("/docs", docs.Handler())))
}

// documentation serves the page about the API.
func (a *API) documentation(page http.Handler) gin.HandlerFunc {
	return func(c *gin.Context) {
		if !docs.Has(c.Param("file")) {
			a.fail(c, errNoRoute(c.Request))
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
	if err := writeJSON(c, http.StatusOK, healthBody{"ok"}); err != nil {
		a.fail(c, err)
	}
}

// readiness says whether requests can be served: the database answers and takes writes,
// and its schema is up to date.
func (a *API) readiness(c *gin.Context) {
	err := a.opts.Ready(c.Request.Context())
	if err == nil {
		err = writeJSON(c, http.StatusOK, healthBody{"ready"})
	}
	if err != nil {
		a.fail(c, err)
	}
}

func description(contentType string, text []byte) gin.HandlerFunc {
	return func(c *gin.Context) { c.Data(http.StatusOK, contentType, text) }
}
