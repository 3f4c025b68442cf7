//go:build !noconsole

package console

import (
	"crypto/rand"
	"fmt"
	"html"
	"io"
	"net/http"
	"strings"
)

// Files of the editor for other products' pages.
const (
	embedPage = "embed.html"
	element   = "sluice-editor.js"
)

// ServeEmbed answers with the page of the editor. It has no session and no storage: the page that frames it gives it a token.
func (c *console) ServeEmbed(w http.ResponseWriter, origins []string) {
	ancestors := "'none'"
	if len(origins) > 0 {
		ancestors = strings.Join(origins, " ")
	}
	w.Header().Set("Referrer-Policy", "no-referrer")
	c.write(w, c.embed, ancestors, `name="embed-origins" content=""`, `name="embed-origins" content="`+html.EscapeString(strings.Join(origins, " "))+`"`)
}

// ServeElement answers with the script of the element. Pages of any origin may run it: what frames the editor is said by the
// page that it puts there.
func (c *console) ServeElement(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	h.Set("Cache-Control", "public, max-age=300")
	c.element.serve(w, r)
}

// write answers with a page that knows where it is, and which pages may frame it.
func (c *console) write(w http.ResponseWriter, page, ancestors string, replaced ...string) {
	base, nonce := c.base(), rand.Text()
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", fmt.Sprintf(policy, nonce, ancestors))
	h.Set("X-Content-Type-Options", "nosniff")
	base = html.EscapeString(base)
	_, _ = io.WriteString(w, strings.NewReplacer(append([]string{ // a client that is gone reads no answer
		`content="/console/"`, `content="` + base + `"`,
		`name="console-nonce" content=""`, `name="console-nonce" content="` + nonce + `"`,
		`href="./`, `href="` + base, `src="./`, `src="` + base,
	}, replaced...)...).Replace(page))
}
