//go:build !noconsole

package console_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/adapters/console"
)

func get(t *testing.T, public, address string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	console.New(func() string { return public }).ServeHTTP(w, r)
	return w
}

var (
	nonces  = regexp.MustCompile(`name="console-nonce" content="([A-Z0-9]{26})"`)
	scripts = regexp.MustCompile(`src="([^"]*\.js)"`)
)

func TestThePageKnowsWhereItIsAndLoadsItsOwnFilesOnly(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range []struct{ public, address, base string }{
		{"https://sluice.example", "/console/", "/console/"},
		{"https://sluice.example/", "/console/t/tenant_1/keys", "/console/"},
		{"https://example.com/automation", "/console/", "/automation/console/"},
		{`https://example.com/a"b/`, "/console/", "/a%22b/console/"},
	} {
		w := get(t, c.public, c.address)
		body := w.Body.String()
		nonce := nonces.FindStringSubmatch(body)
		script := scripts.FindStringSubmatch(body)
		if w.Code != http.StatusOK || nonce == nil || script == nil {
			t.Fatalf("%s: %d %s", c.address, w.Code, body)
		}
		if seen[nonce[1]] {
			t.Errorf("the nonce %s comes twice", nonce[1])
		}
		seen[nonce[1]] = true
		policy := "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-" + nonce[1] + "'; img-src 'self' data:; connect-src 'self'; " +
			"worker-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
		for name, want := range map[string]string{"Content-Security-Policy": policy, "Cache-Control": "no-store", "X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff"} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s is %q", name, got)
			}
		}
		if !strings.Contains(body, `name="console-base" content="`+c.base+`"`) || path.Dir(script[1])+"/" != c.base+"assets/" || strings.Contains(body, `"./`) {
			t.Errorf("below %s the page is %s", c.base, body)
		}
	}
}

func TestTheFilesAreKeptForEverAndCompressed(t *testing.T) {
	script := scripts.FindStringSubmatch(get(t, "", "/console/").Body.String())[1]
	plain := get(t, "", script)
	for _, c := range []struct {
		accepts, encoding string
		unpack            func(io.Reader) (io.Reader, error)
	}{
		{"gzip, deflate, br, zstd", "br", nil},
		{"gzip, br;q=0", "gzip", func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }},
		{"", "", func(r io.Reader) (io.Reader, error) { return r, nil }},
	} {
		w := get(t, "", script, "Accept-Encoding", c.accepts)
		h := w.Header()
		if w.Code != http.StatusOK || h.Get("Content-Encoding") != c.encoding || h.Get("Cache-Control") != "public, max-age=31536000, immutable" ||
			h.Get("Content-Type") != "text/javascript; charset=utf-8" || h.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%q: %d %v", c.accepts, w.Code, h)
		}
		if c.unpack == nil {
			if w.Body.Len() >= plain.Body.Len()/2 {
				t.Errorf("%q: %d bytes of %d", c.accepts, w.Body.Len(), plain.Body.Len())
			}
			continue
		}
		r, err := c.unpack(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(r); err != nil || !bytes.Equal(text, plain.Body.Bytes()) {
			t.Errorf("%q: other bytes, %v", c.accepts, err)
		}
	}
	if w := get(t, "", "/console/favicon.svg"); w.Header().Get("Cache-Control") != "no-cache" || w.Header().Get("Content-Type") != "image/svg+xml" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	if w := get(t, "", "/console/assets/index-of-another-version.js"); w.Code != http.StatusNotFound || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("a file of another version: %d %v", w.Code, w.Header())
	}
}

func TestTheEditorIsFramedByWhoIsNamed(t *testing.T) {
	for _, c := range []struct {
		origins         []string
		ancestors, said string
	}{
		{nil, "'none'", ""},
		{[]string{"https://app.example.com", "http://localhost:3000"}, "https://app.example.com http://localhost:3000", "https://app.example.com http://localhost:3000"},
	} {
		w := httptest.NewRecorder()
		console.New(func() string { return "https://example.com/automation" }).ServeEmbed(w, c.origins)
		body, h := w.Body.String(), w.Header()
		nonce := nonces.FindStringSubmatch(body)
		if nonce == nil {
			t.Fatal(body)
		}
		policy := "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-" + nonce[1] + "'; img-src 'self' data:; connect-src 'self'; " +
			"worker-src 'self'; frame-ancestors " + c.ancestors + "; base-uri 'none'; form-action 'self'"
		for name, want := range map[string]string{"Content-Security-Policy": policy, "Cache-Control": "no-store", "X-Frame-Options": "", "Set-Cookie": "", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff"} {
			if got := h.Get(name); got != want {
				t.Errorf("%s is %q", name, got)
			}
		}
		if script := scripts.FindStringSubmatch(body); script == nil || path.Dir(script[1]) != "/automation/console/assets" || !strings.Contains(body, `name="embed-origins" content="`+c.said+`"`) {
			t.Errorf("the page is %s", body)
		}
	}
	if w := get(t, "", "/console/embed.html"); !strings.Contains(w.Header().Get("Content-Security-Policy"), "frame-ancestors 'none'") || strings.Contains(w.Body.String(), "embed-origins") {
		t.Error("the page of the editor has a second address")
	}
}

func TestPagesOfAnyOriginLoadTheElement(t *testing.T) {
	w := httptest.NewRecorder()
	console.New(func() string { return "" }).ServeElement(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/embed/sluice-editor.js", http.NoBody))
	h := w.Header()
	if w.Code != http.StatusOK || h.Get("Access-Control-Allow-Origin") != "*" || h.Get("Cross-Origin-Resource-Policy") != "cross-origin" ||
		h.Get("Content-Type") != "text/javascript; charset=utf-8" || h.Get("Cache-Control") != "public, max-age=300" || h.Get("Content-Security-Policy") != "" {
		t.Errorf("%d %v", w.Code, h)
	}
	if text := w.Body.String(); !strings.Contains(text, "sluice-editor") || strings.Contains(text, "import ") {
		t.Errorf("it is not the whole element: %s", text)
	}
}

func TestATagLeavesTheConsoleOut(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-tags", "noconsole", "-f", "{{.EmbedFiles}} {{.GoFiles}} {{.Imports}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.TrimSpace(string(out)), "[] [doc.go without.go] [net/http]"; got != want {
		t.Errorf("without the console there are %s, not %s", got, want)
	}
}
