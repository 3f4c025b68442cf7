// Package htmlpage writes the few pages that the gateway itself shows to people: without scripts, framed by nobody, kept
// nowhere.
package htmlpage

import (
	"bytes"
	_ "embed"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
	html "maragu.dev/gomponents"
	tag "maragu.dev/gomponents/html"
)

//go:embed page.css
var style string

// Policy is the Content-Security-Policy of a page, which may do nothing but send its form to this gateway.
const Policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// SetHeaders keeps an answer from frames and caches, and its address, which may hold a secret, from the pages that it leads to.
func SetHeaders(h http.Header) {
	h.Set("Content-Security-Policy", Policy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
}

// Write answers with a page in a language, a tag of BCP 47 such as "pt-BR". Its title is plain text.
func Write(c *gin.Context, status int, language, title string, content ...html.Node) error {
	var text bytes.Buffer
	err := tag.Doctype(tag.HTML(tag.Lang(language),
		tag.Head(
			tag.Meta(tag.Charset("utf-8")),
			tag.Meta(tag.Name("viewport"), tag.Content("width=device-width, initial-scale=1")),
			tag.Meta(tag.Name("color-scheme"), tag.Content("light dark")),
			tag.Meta(tag.Name("robots"), tag.Content("noindex")),
			tag.TitleEl(html.Text(title)),
			tag.StyleEl(html.Raw(style)),
		),
		tag.Body(tag.Main(content...)),
	)).Render(&text)
	if err != nil {
		return err
	}
	SetHeaders(c.Writer.Header())
	c.Data(status, "text/html; charset=utf-8", text.Bytes())
	return nil
}

// Leads is the attribute href of a link to a web page, elsewhere or here; whatever else an address would do, such as run a
// script, the link leads nowhere.
func Leads(address string) html.Node {
	for _, scheme := range []string{"https://", "http://", "/", "#"} {
		if strings.HasPrefix(address, scheme) {
			return tag.Href(address)
		}
	}
	return tag.Href("#")
}
