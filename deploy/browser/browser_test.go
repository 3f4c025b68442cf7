package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sluicehq/sluice/deploy/harness"
)

// attempts are bodies that act wherever a browser takes them for what they are.
var attempts = map[string]string{
	"HTML":              `<!DOCTYPE html><script>` + act + `</script><img src="/stolen?by=img"><meta http-equiv="refresh" content="0;url=/stolen?by=refresh">`,
	"HTML in capitals":  `<HTML><BODY ONLOAD="` + act + `">`,
	"HTML behind a BOM": "\ufeff<html><svg onload=\"" + act + "\">",
	"a form":            `<form id=f action="/stolen"><input name=by value=form></form><script>f.submit()</script>`,
	"SVG":               `<svg xmlns="http://www.w3.org/2000/svg" onload="` + act + `"><script>` + act + `</script></svg>`,
	"XHTML":             `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><script>` + act + `</script></html>`,
	"a style sheet":     `<?xml version="1.0"?><?xml-stylesheet type="text/xsl" href="#s"?><x><xsl:stylesheet id="s" version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:template match="/"><script xmlns="http://www.w3.org/1999/xhtml">` + act + `</script></xsl:template></xsl:stylesheet></x>`,
	"JavaScript":        act,
	"a service worker":  `self.addEventListener("fetch", e => e.respondWith(new Response("stolen")));` + act,
	"CSS":               `body { outline-style: solid; background: url(/stolen?by=css) }`,
	"JSON with a call":  `/**/` + act + `//{"a":1}`,
}

// act tells the server and marks the page.
const act = `fetch('/stolen?by=script');self.stolen=1;try{localStorage.stolen=1;document.cookie='stolen=1';top.location='/stolen?by=top'}catch(e){}`

// types are the content types that a tenant may answer with.
var types = []string{"text/plain", "text/csv", "application/xml", "text/xml", "application/octet-stream", "application/vnd.a+json", ""}

// stand is an origin: a page that somebody is signed in to, next to the gateway.
type stand struct {
	*httptest.Server
	mu     sync.Mutex
	stolen []string
}

func newStand(t *testing.T, gateway string) *stand {
	t.Helper()
	target, err := url.Parse(gateway)
	if err != nil {
		t.Fatal(err)
	}
	s := &stand{}
	mux := http.NewServeMux()
	mux.HandleFunc("/console", func(w http.ResponseWriter, _ *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "of-somebody", Path: "/"})
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, "<!DOCTYPE html><title>Console</title><body>Signed in</body>")
	})
	mux.HandleFunc("/stolen", func(_ http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.stolen = append(s.stolen, r.URL.RawQuery)
	})
	mux.HandleFunc("/unguarded", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", r.URL.Query().Get("type"))
		_, _ = fmt.Fprint(w, attempts[r.URL.Query().Get("attempt")])
	})
	mux.Handle("/h/", &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// session is what one page opens, in its own session of the browser.
type session struct {
	Console   string   `json:"console"`
	Addresses []string `json:"addresses"`
}

// session says that a page of the stand opens these paths.
func (s *stand) session(paths ...string) session {
	v := session{Console: s.URL + "/console"}
	for _, path := range paths {
		v.Addresses = append(v.Addresses, s.URL+path)
	}
	return v
}

// change is what became of a page that something changed.
type change struct {
	Addresses []string        `json:"addresses"`
	State     json.RawMessage `json:"state"`
	Workers   int             `json:"workers"`
	Led       string          `json:"led"`
}

func open(t *testing.T, executable string, sessions []session) (changed []change) {
	t.Helper()
	input, err := json.Marshal(map[string]any{"executable": executable, "sessions": sessions})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "attempts.mjs")
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	if err := json.Unmarshal(out, &changed); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return changed
}

// findBrowser returns the browser that make e2e asks for; other runs of the tests go without.
func findBrowser(t *testing.T) string {
	t.Helper()
	if os.Getenv("SLUICE_TEST_BROWSER") == "" {
		t.Skip("make e2e runs this in a browser")
	}
	if _, err := os.Stat("node_modules/playwright-core"); err != nil {
		t.Fatal("there is no browser driver: run make e2e, which installs it")
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			return found
		}
	}
	t.Fatal("there is no Chromium (Debian: apt-get install chromium)")
	return ""
}

// tenantHooks makes a hook for each answer, and returns their paths.
func tenantHooks(ctx context.Context, g *harness.Gateway, answers []map[string]any) (paths []string, err error) {
	ten, err := g.CreateTenant(ctx, "Acme")
	if err = errors.Join(err, g.LiftLimits(ctx, ten.ID)); err != nil {
		return nil, err
	}
	c := harness.Client{URL: g.URL, Key: ten.SecretKey, HTTP: http.DefaultClient}
	published, err := harness.Publish(ctx, c.Post, "answers", []map[string]any{harness.Transform("a", "1")}, harness.Chain("a"))
	if err != nil {
		return nil, err
	}
	for i, answer := range answers {
		trigger, err := harness.CreateTrigger(ctx, c.Post, published.VersionID, fmt.Sprint("Answer ", i), "webhook", map[string]any{})
		if err != nil {
			return nil, err
		}
		body, err := c.Call(ctx, harness.Request{Method: http.MethodPost, Path: "/triggers/" + trigger + "/hook", Body: map[string]any{"scheme": map[string]any{"kind": "none"}, "respond": answer}})
		if err != nil {
			return nil, err
		}
		var made struct{ URL string }
		if err := json.Unmarshal(body, &made); err != nil {
			return nil, err
		}
		address, err := url.Parse(made.URL)
		if err != nil {
			return nil, err
		}
		paths = append(paths, address.Path)
	}
	return paths, nil
}

// startGateway starts the real binary on a database of its own.
func startGateway(t *testing.T) *harness.Gateway {
	t.Helper()
	dir := t.TempDir()
	binary, err := harness.Build(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	g, err := harness.NewGateway("gateway", binary, "sqlite:"+dir+"/a.db", dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.StartReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Stop)
	return g
}

func TestNothingThatATenantAnswersWithActsOnOurOrigin(t *testing.T) {
	t.Parallel()
	executable := findBrowser(t)
	g := startGateway(t)
	var answers []map[string]any
	var control []string
	names := slices.Sorted(func(yield func(string) bool) {
		for name := range attempts {
			if !yield(name) {
				return
			}
		}
	})
	for i, name := range names {
		for j, contentType := range types {
			answer := map[string]any{"mode": "fixed", "status": []int{200, 404, 500}[(i+j)%3], "body": attempts[name]}
			if contentType != "" {
				answer["headers"] = map[string]any{"content-type": contentType}
			}
			answers = append(answers, answer)
		}
		kind := "text/html"
		switch {
		case strings.Contains(name, "JavaScript") || strings.Contains(name, "worker") || strings.Contains(name, "JSON"):
			kind = "text/javascript"
		case name == "SVG":
			kind = "image/svg+xml"
		case name == "XHTML" || name == "a style sheet":
			kind = "application/xhtml+xml"
		case name == "CSS":
			kind = "text/css"
		}
		if name != "a style sheet" { // of which a browser without XSLT makes nothing
			control = append(control, "/unguarded?attempt="+url.QueryEscape(name)+"&type="+url.QueryEscape(kind))
		}
	}
	paths, err := tenantHooks(t.Context(), g, answers)
	if err != nil {
		t.Fatal(err)
	}
	guarded := newStand(t, g.URL)
	var sessions []session
	for some := range slices.Chunk(paths, len(types)) {
		sessions = append(sessions, guarded.session(some...))
	}
	var unguarded []*stand
	for _, path := range control {
		s := newStand(t, g.URL)
		unguarded = append(unguarded, s)
		sessions = append(sessions, s.session(path))
	}
	acted := map[string]bool{}
	for _, c := range open(t, executable, sessions) {
		acted[c.Addresses[0]] = true
		if strings.HasPrefix(c.Addresses[0], guarded.URL) {
			at := slices.IndexFunc(sessions, func(v session) bool { return v.Addresses[0] == c.Addresses[0] })
			t.Errorf("%s, of hooks, changed a page: %s, %d service workers, %s", names[at], c.State, c.Workers, c.Led)
		}
	}
	if len(guarded.stolen) > 0 {
		t.Errorf("answers of hooks sent %v", guarded.stolen)
	}
	for i, path := range control { // each of them acts where nothing keeps it from it
		if s := unguarded[i]; !acted[s.URL+path] && len(s.stolen) == 0 {
			t.Errorf("%s does nothing anywhere, so that it proves nothing", path)
		}
	}
}
