package egress_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/egress"
	"github.com/sluicehq/sluice/domain"
)

// local allows what the test servers listen on.
func local(t testing.TB, o egress.Options) *egress.Guard {
	t.Helper()
	o.Allow = append(o.Allow, ranges(t, "127.0.0.0/8")...)
	g := egress.New(o)
	t.Cleanup(g.Close)
	return g
}

// read calls and reads the whole answer.
func read(ctx context.Context, t testing.TB, c *http.Client, method, target string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, target, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

func TestTheAddressOfEachConnectionIsChecked(t *testing.T) {
	port, visits := sentry(t)
	names := newZone(map[string]func(int) []string{
		"rebinding.test": func(time int) []string {
			if time == 1 {
				return []string{"127.0.0.1"}
			}
			return []string{"127.0.0.2"}
		},
		"mixed.test": always("10.0.0.1", "127.0.0.1"),
	})
	g := egress.New(egress.Options{Allow: ranges(t, "127.0.0.1/32"), Resolver: names.resolver(t), ConnectTimeout: 2 * time.Second})
	defer g.Close()
	client := g.Client(egress.Stay)

	if code, err := get(t, client, "http://rebinding.test:"+port); code != "" {
		t.Fatalf("an allowed address is refused: %v", err)
	}
	g.Close() // the connection, so that the next call looks the name up again
	if code, err := get(t, client, "http://rebinding.test:"+port); code != "address_refused" {
		t.Errorf("the name's second address gives %q: %v", code, err)
	}
	if n := visits.Load(); n != 1 {
		t.Errorf("%d connections were made", n)
	}
	if code, err := get(t, client, "http://mixed.test:"+port); code != "" {
		t.Errorf("the allowed one of two addresses is not called: %v", err)
	}
}

func TestWhatATenantReadsNamesTheHostAndNoAddress(t *testing.T) {
	closed := serve(t, "127.0.0.1:0", nil)
	_, port, _ := strings.Cut(strings.TrimPrefix(closed, "http://"), ":")
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	names := newZone(map[string]func(int) []string{
		"inner.test": always("10.11.12.13"), "here.test": always("127.0.0.1"), "gone.test": always(),
	})
	g := local(t, egress.Options{Resolver: names.resolver(t)})
	for target, want := range map[string]string{
		"http://inner.test/a?key=secret": "address_refused The address of inner.test is not one that calls may go to: it is local, private or reserved. " +
			"The operator of the gateway can allow it.",
		"http://inner.test:25/":               "address_refused The address of inner.test:25 is not one that calls may go to: it is local, private or reserved. The operator of the gateway can allow it.",
		"http://here.test:25/":                "port_refused The port of here.test:25 is not one that calls may go to: it belongs to another protocol than HTTP.",
		"http://user:secret@inner.test/":      "url_refused The URL must not hold credentials; inner.test may get them in a header.",
		"http://gone.test/":                   "dns_failed The name of gone.test could not be resolved.",
		fmt.Sprint("http://here.test:", free): fmt.Sprintf("connection_failed here.test:%d refused the connection.", free),
		"https://here.test:" + port:           "tls_failed No secure connection to here.test:" + strings.TrimSuffix(port, "/") + " could be made.",
	} {
		_, err := read(t.Context(), t, g.Client(egress.Follow), http.MethodGet, strings.TrimSuffix(target, "/"))
		var e *domain.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: %v", target, err)
			continue
		}
		if diff := cmp.Diff(want, e.Code+" "+e.Message); diff != "" {
			t.Errorf("%s: %s", target, diff)
		}
	}
}

func TestARedirectToAnotherOriginTakesNoCredentialAlong(t *testing.T) {
	got := make(chan http.Header, 1)
	keep := func(_ http.ResponseWriter, r *http.Request) { got <- r.Header }
	other := serve(t, "127.0.0.1:0", keep)
	mux := http.NewServeMux()
	mux.HandleFunc("/same", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/end", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/other", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other, http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/end", keep)
	origin := serve(t, "127.0.0.1:0", mux.ServeHTTP)
	back := serve(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, origin+"end", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/there-and-back", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, back, http.StatusTemporaryRedirect)
	})

	all := http.Header{
		"Accept": {"application/json"}, "Accept-Encoding": {"gzip"}, "Authorization": {"Bearer secret"}, "Content-Type": {"text/plain"}, "Content-Length": {"4"},
		"Cookie": {"a=b"}, "Idempotency-Key": {"run_1:call"}, "User-Agent": {"Sluice"}, "X-Api-Key": {"secret"},
	}
	few := http.Header{
		"Accept": all["Accept"], "Accept-Encoding": all["Accept-Encoding"], "Content-Type": all["Content-Type"], "Content-Length": all["Content-Length"],
		"Idempotency-Key": all["Idempotency-Key"], "User-Agent": all["User-Agent"],
	}
	g := local(t, egress.Options{})
	for path, want := range map[string]http.Header{"same": all, "other": few, "there-and-back": few} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, origin+path+"?token=secret", strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		for name, values := range all {
			if name != "Accept-Encoding" && name != "Content-Length" {
				req.Header[name] = values
			}
		}
		resp, err := g.Client(egress.Follow).Do(req)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		_ = resp.Body.Close()
		if diff := cmp.Diff(want, <-got); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
}

func TestARedirectNeverLeavesTLS(t *testing.T) {
	plain := serve(t, "127.0.0.1:0", func(http.ResponseWriter, *http.Request) { t.Error("it was called") })
	secure := httptest.NewTLSServer(http.RedirectHandler(plain, http.StatusFound))
	defer secure.Close()
	g := local(t, egress.Options{RootCAs: trusting(secure)})
	if code, err := get(t, g.Client(egress.Follow), secure.URL); code != "redirect_refused" {
		t.Errorf("the code is %q: %v", code, err)
	}
}

func TestAsManyRedirectsAsPermittedAreFollowed(t *testing.T) {
	origin := serve(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		if left := strings.TrimPrefix(r.URL.Path, "/"); left != "" {
			http.Redirect(w, r, "/"+left[1:], http.StatusFound)
		}
	})
	g := local(t, egress.Options{})
	for path, want := range map[string]string{
		strings.Repeat("x", egress.MaxRedirects):   "",
		strings.Repeat("x", egress.MaxRedirects+1): "too_many_redirects",
	} {
		if code, err := get(t, g.Client(egress.Follow), origin+path); code != want {
			t.Errorf("%d redirects give %q: %v", len(path), code, err)
		}
	}
}

func trusting(s *httptest.Server) *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return pool
}

func TestOnlyCurrentTLSWithAValidCertificateIsSpoken(t *testing.T) {
	start := func(maxVersion uint16) *httptest.Server {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
		s.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: maxVersion} //nolint:gosec // what must not be spoken
		s.StartTLS()
		t.Cleanup(s.Close)
		return s
	}
	for claim, c := range map[string]struct {
		version uint16
		trusted bool
		want    string
	}{
		"TLS 1.3":                {tls.VersionTLS13, true, ""},
		"TLS 1.2":                {tls.VersionTLS12, true, ""},
		"TLS 1.1":                {tls.VersionTLS11, true, "tls_failed"},
		"an unknown certificate": {tls.VersionTLS13, false, "tls_failed"},
	} {
		s := start(c.version)
		o := egress.Options{}
		if c.trusted {
			o.RootCAs = trusting(s)
		}
		if code, err := get(t, local(t, o).Client(egress.Stay), s.URL); code != c.want {
			t.Errorf("%s gives %q: %v", claim, code, err)
		}
	}
}

func TestAnAnswerIsReadWholeOrNotAtAll(t *testing.T) {
	const limit = 1000
	origin := serve(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		var n int
		_, _ = fmt.Sscan(r.URL.Query().Get("n"), &n)
		switch r.URL.Path {
		case "/declared":
			w.Header().Set("Content-Length", fmt.Sprint(n))
		case "/chunked":
			w.(http.Flusher).Flush()
		case "/not-modified":
			w.Header().Set("Content-Length", fmt.Sprint(n))
			w.WriteHeader(http.StatusNotModified)
		case "/cut":
			w.Header().Set("Content-Length", fmt.Sprint(n+1))
		}
		_, _ = io.WriteString(w, strings.Repeat("x", n))
	})
	g := local(t, egress.Options{MaxBody: limit})
	for claim, c := range map[string]struct {
		method, path string
		n            int
		want         string
	}{
		"as long as permitted":                        {http.MethodGet, "declared", limit, ""},
		"as long as permitted, of no declared length": {http.MethodGet, "chunked", limit, ""},
		"too long":                                      {http.MethodGet, "declared", limit + 1, "response_too_large"},
		"too long, of no declared length":               {http.MethodGet, "chunked", limit + 1, "response_too_large"},
		"far too long, of no declared length":           {http.MethodGet, "chunked", 1 << 20, "response_too_large"},
		"of a length that belongs to another request":   {http.MethodHead, "declared", 1 << 20, ""},
		"of a length that belongs to an earlier answer": {http.MethodGet, "not-modified", 1 << 20, ""},
		"cut off": {http.MethodGet, "cut", 10, "connection_failed"},
	} {
		body, err := read(t.Context(), t, g.Client(egress.Stay), c.method, fmt.Sprint(origin, c.path, "?n=", c.n))
		code := ""
		if err != nil {
			code = codeOf(err)
		}
		if code != c.want {
			t.Errorf("%s: the code is %q: %v", claim, code, err)
		}
		if len(body) > limit {
			t.Errorf("%s: %d bytes were given", claim, len(body))
		}
	}
}

func TestHeadersAreBoundedApartFromTheBody(t *testing.T) {
	const most, others = 64 << 10, len("Content-Length: 10\r\n") + len("Date: x\r\n") + len("X-A: \r\n") + len("X-A: b\r\n")
	origin := serve(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		var n int
		_, _ = fmt.Sscan(r.URL.Query().Get("n"), &n)
		w.Header()["Content-Type"] = nil
		w.Header().Set("Date", "x")
		w.Header().Set("Content-Length", "10")
		w.Header()["X-A"] = []string{strings.Repeat("x", n), "b"}
		_, _ = io.WriteString(w, "0123456789")
	})
	c := local(t, egress.Options{MaxBody: 10}).Client(egress.Stay)
	for n, want := range map[int]string{
		most - others: "", most - others + 1: "response_headers_too_large", 2 * most: "response_headers_too_large",
		1 << 20: "connection_failed", // nobody reads on for ever
	} {
		if code, err := get(t, c, fmt.Sprint(origin, "?n=", n)); code != want {
			t.Errorf("%d bytes: the code is %q: %v", n, code, err)
		}
	}
}

func TestACallEndsInTime(t *testing.T) {
	arrived := make(chan struct{}, 1)
	blocked := serve(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow-body" {
			w.(http.Flusher).Flush()
		}
		select {
		case arrived <- struct{}{}:
		default:
		}
		<-r.Context().Done()
	})
	g := local(t, egress.Options{})
	for _, path := range []string{"slow-answer", "slow-body"} {
		t.Run("by the context's deadline, "+path, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
			defer cancel()
			_, err := read(ctx, t, g.Client(egress.Stay), http.MethodGet, blocked+path)
			if codeOf(err) != "timeout" || !errors.Is(err, domain.Unavailable) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the error is %v", err)
			}
		})
		t.Run("by the guard's timeout, "+path, func(t *testing.T) {
			hasty := local(t, egress.Options{Timeout: 30 * time.Millisecond})
			if _, err := read(context.Background(), t, hasty.Client(egress.Stay), http.MethodGet, blocked+path); codeOf(err) != "timeout" {
				t.Errorf("the error is %v", err)
			}
		})
		t.Run("by cancelling, "+path, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			for len(arrived) > 0 {
				<-arrived
			}
			go func() { <-arrived; cancel() }()
			_, err := read(ctx, t, g.Client(egress.Stay), http.MethodGet, blocked+path)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// TestMain names a proxy before net/http reads the environment, which it does once.
func TestMain(m *testing.M) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY"} {
		if err := os.Setenv(name, "http://127.0.0.1:1"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

func TestTheProxyOfTheEnvironmentIsNotAsked(t *testing.T) {
	names := newZone(map[string]func(int) []string{"inner.test": always("10.0.0.1")})
	client := local(t, egress.Options{Resolver: names.resolver(t)}).Client(egress.Stay)
	for _, target := range []string{"http://inner.test/", "https://inner.test/"} {
		if code, err := get(t, client, target); code != "address_refused" { // the proxy's port would be
			t.Errorf("%s: the code is %q: %v", target, code, err)
		}
	}
}

func TestErrorsPassThroughTheClientOfNetHTTP(t *testing.T) {
	_, err := read(t.Context(), t, egress.New(egress.Options{}).Client(egress.Stay), http.MethodGet, "http://127.0.0.1/")
	var outer *url.Error
	if !errors.As(err, &outer) || !errors.Is(err, domain.Forbidden) {
		t.Errorf("the error is %v", err)
	}
}
