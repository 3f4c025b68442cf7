package httpapi

import (
	"net/http"
	"net/netip"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// embedPrefix begins the paths of the pages that are shown within those of other products.
const embedPrefix = "/embed/"

// Pages are what browsers show.
type Pages interface {
	// ServeHTTP serves what is below /console/.
	http.Handler

	// ServeEmbed answers with the page of the editor, which pages of these origins may frame; with none, it says so.
	ServeEmbed(w http.ResponseWriter, origins []string)

	// ServeElement answers with the script that puts that page into others.
	ServeElement(w http.ResponseWriter, r *http.Request)
}

// serveEmbedPages adds the editor for other products' pages. It needs no session: what it may do is said by the token that
// those pages give it.
func (a *API) serveEmbedPages() {
	if a.opts.Pages == nil {
		return
	}
	serve := func(path string, handle gin.HandlerFunc) {
		a.getOpen(embedPrefix+path, handle)
		a.undescribed = append(a.undescribed, Route{http.MethodGet, openAPIPath(embedPrefix + path)})
	}
	serve("sluice-editor.js", func(c *gin.Context) { a.opts.Pages.ServeElement(c.Writer, c.Request) })
	serve(":id", a.showEmbedPage)
}

func (a *API) showEmbedPage(c *gin.Context) {
	from, _ := netip.ParseAddr(a.client(c)) // one that is none counts with all others
	id := exchange.PathID[tenant.ID](c, "id", tenant.IDPrefix)
	origins, err := a.ports.EmbedPages.Origins(c.Request.Context(), from, id)
	if err != nil && domain.KindOf(err) != domain.NotFound {
		exchange.Fail(c, err)
		return
	}
	if len(origins) == 0 {
		c.Status(http.StatusNotFound)
	}
	a.opts.Pages.ServeEmbed(c.Writer, origins)
}
