// Package console serves the console's pages, and the editor for pages of other products: what web/ is built into, which lies
// in dist/. The tag noconsole leaves them out of the binary.
package console

import "net/http"

// Pages serve what browsers show.
type Pages interface {
	// ServeHTTP answers below /console/, to GET and HEAD. Any path that is no file is a page.
	http.Handler

	// ServeEmbed answers with the page of the editor, which pages of these origins may frame; with none, it says so.
	ServeEmbed(w http.ResponseWriter, origins []string)

	// ServeElement answers with the script that puts that page into others.
	ServeElement(w http.ResponseWriter, r *http.Request)
}
