package docs_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/httpapi/docs"
)

func ask(t *testing.T, method, path string, headers ...string) (*httptest.ResponseRecorder, []byte) {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	docs.Handler().ServeHTTP(w, r)
	return w, w.Body.Bytes()
}

func TestThePageLoadsOnlyWhatIsServedBesideIt(t *testing.T) {
	answer, page := ask(t, http.MethodGet, "/")
	if answer.Code != http.StatusOK || !strings.Contains(string(page), "<title>Sluice API</title>") {
		t.Fatalf("status %d, page %s", answer.Code, page)
	}
	for _, m := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(string(page), -1) {
		link := m[1]
		if strings.HasPrefix(link, "../openapi.") {
			continue
		}
		if !docs.Has("/" + link) {
			t.Errorf("the page names %q, which is not served", link)
		}
	}
	if inline := regexp.MustCompile(`<style|<script>| style=| on[a-z]+=|https?://`).FindString(string(page)); inline != "" {
		t.Errorf("the page holds %q, which its policy forbids", inline)
	}
}

func TestEveryFileIsServedWithItsTypeAndUnderThePolicy(t *testing.T) {
	types := map[string]string{
		"/": "text/html; charset=utf-8", "/init.js": "text/javascript; charset=utf-8", "/page.css": "text/css; charset=utf-8",
		"/favicon.svg": "image/svg+xml", "/swagger-ui-bundle.js": "text/javascript; charset=utf-8",
		"/swagger-ui.css": "text/css; charset=utf-8", "/LICENSE": "text/plain; charset=utf-8", "/NOTICE": "text/plain; charset=utf-8",
		"/swagger-ui-bundle.js.LICENSE.txt": "text/plain; charset=utf-8",
	}
	for path, contentType := range types {
		answer, body := ask(t, http.MethodGet, path)
		if answer.Code != http.StatusOK || len(body) == 0 {
			t.Errorf("%s: status %d, %d bytes", path, answer.Code, len(body))
		}
		h := answer.Header()
		got := map[string]string{}
		for _, name := range []string{"Content-Type", "Cache-Control", "Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy", "X-Frame-Options"} {
			got[name] = h.Get(name)
		}
		want := map[string]string{
			"Content-Type":  contentType,
			"Cache-Control": "no-cache",
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
				"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
		again, rest := ask(t, http.MethodGet, path, "If-None-Match", h.Get("ETag"))
		if h.Get("ETag") == "" || again.Code != http.StatusNotModified || len(rest) != 0 {
			t.Errorf("%s: a second visit with ETag %q got status %d", path, h.Get("ETag"), again.Code)
		}
	}
}

func TestLargeFilesAreCompressedForThoseWhoTakeIt(t *testing.T) {
	for claim, c := range map[string]struct {
		accept     []string
		compressed bool
	}{
		"a browser":                       {[]string{"Accept-Encoding", "gzip, deflate, br, zstd"}, true},
		"gzip with a weight":              {[]string{"Accept-Encoding", "br;q=1.0, GZIP;q=0.5"}, true},
		"anything":                        {[]string{"Accept-Encoding", "*"}, true},
		"gzip in a second header":         {[]string{"Accept-Encoding", "br", "Accept-Encoding", "gzip"}, true},
		"nothing said":                    {nil, false},
		"something else":                  {[]string{"Accept-Encoding", "br"}, false},
		"anything but gzip":               {[]string{"Accept-Encoding", "*, gzip;q=0"}, false},
		"gzip refused":                    {[]string{"Accept-Encoding", "gzip;q=0.000"}, false},
		"a weight that is no number":      {[]string{"Accept-Encoding", "gzip;q=x"}, false},
		"a coding whose name contains it": {[]string{"Accept-Encoding", "notgzip"}, false},
	} {
		t.Run(claim, func(t *testing.T) {
			answer, body := ask(t, http.MethodGet, "/swagger-ui.css", c.accept...)
			if got := answer.Header().Get("Content-Encoding") == "gzip"; got != c.compressed {
				t.Fatalf("compressed: %v", got)
			}
			if got := answer.Header().Get("Vary"); got != "Accept-Encoding" {
				t.Errorf("Vary is %q", got)
			}
			if c.compressed {
				reader, err := gzip.NewReader(bytes.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				if body, err = io.ReadAll(reader); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.HasPrefix(body, []byte(".swagger-ui")) {
				t.Errorf("the file begins with %.40q", body)
			}
		})
	}
	plain, _ := ask(t, http.MethodGet, "/swagger-ui.css")
	packed, _ := ask(t, http.MethodGet, "/swagger-ui.css", "Accept-Encoding", "gzip")
	if plain.Header().Get("ETag") == packed.Header().Get("ETag") {
		t.Error("two encodings share a strong ETag")
	}
}

func TestWhatIsNotPartOfThePageIsRefused(t *testing.T) {
	for _, path := range []string{"/nothing", "/assets/index.html", "/../docs.go", "/swagger-ui.css.gz", "/index.html"} {
		if answer, _ := ask(t, http.MethodGet, path); answer.Code != http.StatusNotFound || docs.Has(path) {
			t.Errorf("%s: status %d", path, answer.Code)
		}
	}
	if answer, _ := ask(t, http.MethodPost, "/"); answer.Code != http.StatusMethodNotAllowed || answer.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: status %d", answer.Code)
	}
	if answer, body := ask(t, http.MethodHead, "/"); answer.Code != http.StatusOK || len(body) != 0 {
		t.Errorf("HEAD: status %d, %d bytes", answer.Code, len(body))
	}
}

func TestTheEmbeddedVersionIsTheOneSaid(t *testing.T) {
	_, bundle := ask(t, http.MethodGet, "/swagger-ui-bundle.js")
	if !bytes.Contains(bundle, []byte(docs.SwaggerUIVersion)) {
		t.Errorf("the bundle is not Swagger UI %s", docs.SwaggerUIVersion)
	}
	readme, err := os.ReadFile("assets/swagger-ui/README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(readme), "# Swagger UI "+docs.SwaggerUIVersion+"\n") {
		t.Error("the README names another version")
	}
}
