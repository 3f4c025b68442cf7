//go:build !noconsole

package console

import (
	"compress/gzip"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
)

//go:embed dist
var embedded embed.FS

// prefix is where the console begins, behind the path of the gateway's public address.
const prefix = "/console/"

// policy lets the page load its own files only. What styles itself with an element needs the nonce, which differs each time. Last
// come those who may frame it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-%s'; img-src 'self' data:; connect-src 'self'; " +
	"worker-src 'self'; frame-ancestors %s; base-uri 'none'; form-action 'self'"

// file is one of the built files. Its encodings are named by where they lie in the binary, and read when they are
// served: most processes never show a page.
type file struct {
	contentType    string
	brotli, zipped string
	isNamed        bool // by its content, so that it never changes
}

type console struct {
	public func() string
	files  map[string]file // by their paths below prefix
	page   string

	embed   string // the page of the editor for other products
	element file   // what puts it into theirs
}

// New returns what serves the pages. The public address is where browsers reach the gateway.
func New(public func() string) Pages {
	c := &console{public: public, files: make(map[string]file)}
	err := fs.WalkDir(embedded, "dist", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		c.add(name)
		return nil
	})
	if err == nil {
		c.page, err = unzip(c.files["index.html"].zipped)
	}
	if err == nil {
		c.embed, err = unzip(c.files[embedPage].zipped)
	}
	if err != nil {
		panic(fmt.Sprintf("console: the embedded files cannot be read: %v", err)) // a defect of the build
	}
	c.element = c.files[element]
	for _, name := range []string{"index.html", embedPage, element} { // which have addresses of their own
		delete(c.files, name)
	}
	return c
}

// add takes a file in one of its encodings.
func (c *console) add(location string) {
	encoding := path.Ext(location)
	name := strings.TrimSuffix(strings.TrimPrefix(location, "dist/"), encoding)
	f := c.files[name]
	f.contentType, f.isNamed = mime.TypeByExtension(path.Ext(name)), strings.HasPrefix(name, "assets/")
	switch path.Ext(name) {
	case ".js":
		f.contentType = "text/javascript; charset=utf-8"
	case ".svg":
		f.contentType = "image/svg+xml"
	}
	if encoding == ".br" {
		f.brotli = location
	} else {
		f.zipped = location
	}
	c.files[name] = f
}

func unzip(location string) (string, error) {
	content, err := embedded.Open(location)
	if err != nil {
		return "", err
	}
	r, err := gzip.NewReader(content)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(r)
	return string(text), err
}

// ServeHTTP answers with a file, or with the page.
func (c *console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	name := strings.TrimPrefix(r.URL.Path, prefix)
	if f, ok := c.files[name]; ok {
		f.serve(w, r)
		return
	}
	if strings.HasPrefix(name, "assets/") { // of another version, which a page still asks for
		h.Set("Cache-Control", "no-store")
		http.Error(w, "The console has changed. Load the page again.", http.StatusNotFound)
		return
	}
	c.servePage(w)
}

// servePage answers with the page, which nobody may frame.
func (c *console) servePage(w http.ResponseWriter) {
	h := w.Header()
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Opener-Policy", "same-origin-allow-popups") // the page learns when a window that it opened is closed
	c.write(w, c.page, "'none'")
}

// base is where browsers find the files.
func (c *console) base() string {
	public, err := url.Parse(c.public())
	if err != nil { // the configuration was checked
		return prefix
	}
	return strings.TrimSuffix(public.EscapedPath(), "/") + prefix
}

func (f file) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	switch {
	case f.isNamed:
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	case h.Get("Cache-Control") == "":
		h.Set("Cache-Control", "no-cache")
	}
	h.Set("Content-Type", f.contentType)
	h.Add("Vary", "Accept-Encoding")
	taken := r.Header.Values("Accept-Encoding")
	var content []byte
	var err error
	switch {
	case takes(taken, "br"):
		h.Set("Content-Encoding", "br")
		content, err = embedded.ReadFile(f.brotli)
	case takes(taken, "gzip"):
		h.Set("Content-Encoding", "gzip")
		content, err = embedded.ReadFile(f.zipped)
	default:
		var text string
		text, err = unzip(f.zipped)
		content = []byte(text)
	}
	if err != nil {
		h.Del("Content-Encoding")
		http.Error(w, "The file cannot be read.", http.StatusInternalServerError)
		return
	}
	h.Set("Content-Length", strconv.Itoa(len(content)))
	_, _ = w.Write(content) // a client that is gone reads no answer
}

// takes reads Accept-Encoding (RFC 9110, section 12.5.3): a coding is taken that is named with a weight above 0. Browsers name
// what they take.
func takes(values []string, coding string) bool {
	for part := range strings.SplitSeq(strings.Join(values, ","), ",") {
		name, parameters, _ := strings.Cut(part, ";")
		if !strings.EqualFold(strings.TrimSpace(name), coding) {
			continue
		}
		weight, isWeighed := strings.CutPrefix(strings.TrimSpace(parameters), "q=")
		q, err := strconv.ParseFloat(strings.TrimSpace(weight), 64)
		return !isWeighed || err == nil && q > 0
	}
	return false
}
