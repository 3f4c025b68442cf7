// Package docs serves the page that shows the API's description: Swagger UI,
// embedded, under a policy that lets it load nothing from elsewhere and run nothing
// inline.
package docs

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// SwaggerUIVersion is the version of the embedded Swagger UI.
const SwaggerUIVersion = "5.35.0"

// policy is the page's Content-Security-Policy. Swagger UI's style sheet holds images
// as data.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

//go:embed assets/index.html assets/init.js assets/page.css assets/favicon.svg
//go:embed assets/swagger-ui/swagger-ui-bundle.js.gz assets/swagger-ui/swagger-ui.css.gz
//go:embed assets/swagger-ui/LICENSE assets/swagger-ui/NOTICE assets/swagger-ui/swagger-ui-bundle.js.LICENSE.txt
var embedded embed.FS

// asset is a file of the page.
type asset struct {
	file        string // among the embedded ones; compressed when it ends in .gz
	contentType string
}

// assets are the files by the path they are served at.
var assets = map[string]asset{
	"/":                     {"assets/index.html", "text/html; charset=utf-8"},
	"/init.js":              {"assets/init.js", "text/javascript; charset=utf-8"},
	"/page.css":             {"assets/page.css", "text/css; charset=utf-8"},
	"/favicon.svg":          {"assets/favicon.svg", "image/svg+xml"},
	"/swagger-ui-bundle.js": {"assets/swagger-ui/swagger-ui-bundle.js.gz", "text/javascript; charset=utf-8"},
	"/swagger-ui.css":       {"assets/swagger-ui/swagger-ui.css.gz", "text/css; charset=utf-8"},
	"/LICENSE":              {"assets/swagger-ui/LICENSE", "text/plain; charset=utf-8"},
	"/NOTICE":               {"assets/swagger-ui/NOTICE", "text/plain; charset=utf-8"},

	"/swagger-ui-bundle.js.LICENSE.txt": {"assets/swagger-ui/swagger-ui-bundle.js.LICENSE.txt", "text/plain; charset=utf-8"},
}

// stored is an asset as it lies in the binary.
type stored struct {
	asset
	bytes      []byte
	compressed bool
	digest     string
}

// load reads the assets once: they do not change while the process lives.
var load = sync.OnceValues(func() (map[string]stored, error) {
	all := make(map[string]stored, len(assets))
	for path, a := range assets {
		content, err := embedded.ReadFile(a.file)
		if err != nil {
			return nil, err
		}
		digest := sha256.Sum256(content)
		all[path] = stored{a, content, strings.HasSuffix(a.file, ".gz"), hex.EncodeToString(digest[:16])}
	}
	return all, nil
})

// Has says whether the page has a file at the path, "/" being the page itself. A
// router that answers unknown paths in its own way asks before it calls [Handler].
func Has(path string) bool {
	_, ok := assets[path]
	return ok
}

// Handler serves the page at "/" and its files. Mount it with its prefix
// stripped, one level below /openapi.yaml, which the page shows: at /docs/. Files
// carry a strong ETag for each encoding (RFC 9110, §8.8.3) and are asked for again at
// each time, so that an upgrade shows at once.
func Handler() http.Handler { return http.HandlerFunc(serve) }

func serve(w http.ResponseWriter, r *http.Request) {
	switch {
	case !Has(r.URL.Path):
		http.NotFound(w, r)
		return
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "the page can only be read", http.StatusMethodNotAllowed)
		return
	}
	h := w.Header()
	all, err := load()
	var content []byte
	if err == nil {
		content, err = all[r.URL.Path].encode(h, r)
	}
	if err != nil { // the embedded files are broken, which the tests exclude
		http.Error(w, "the page cannot be read", http.StatusInternalServerError)
		return
	}
	h.Set("Cache-Control", "no-cache")
	h.Set("Content-Type", all[r.URL.Path].contentType)
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// encode returns the bytes to send, compressed where they are stored so and the
// client takes that, and sets the headers that depend on the encoding.
func (s stored) encode(h http.Header, r *http.Request) ([]byte, error) {
	h.Set("ETag", strconv.Quote(s.digest))
	if !s.compressed {
		return s.bytes, nil
	}
	h.Add("Vary", "Accept-Encoding")
	if takesGzip(r.Header.Values("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
		return s.bytes, nil
	}
	h.Set("ETag", strconv.Quote(s.digest+"-plain"))
	reader, err := gzip.NewReader(bytes.NewReader(s.bytes))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.file, err)
	}
	return io.ReadAll(reader)
}

// takesGzip reads Accept-Encoding (RFC 9110, §12.5.3): gzip is taken when it, or
// else "*", is named with a weight above 0.
func takesGzip(values []string) bool {
	star := false
	for part := range strings.SplitSeq(strings.Join(values, ","), ",") {
		coding, params, _ := strings.Cut(part, ";")
		name, weight, _ := strings.Cut(strings.TrimSpace(params), "=")
		wanted := true
		if strings.EqualFold(strings.TrimSpace(name), "q") {
			q, err := strconv.ParseFloat(strings.TrimSpace(weight), 64)
			wanted = err == nil && q > 0
		}
		switch strings.ToLower(strings.TrimSpace(coding)) {
		case "gzip", "x-gzip":
			return wanted
		case "*":
			star = wanted
		}
	}
	return star
}
