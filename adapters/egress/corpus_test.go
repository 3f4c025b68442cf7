package egress_test

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/egress"
	"github.com/sluicehq/sluice/domain"
)

// hostile is one line of a corpus.
type hostile struct{ code, target, claim string }

func corpus(t *testing.T, name string) []hostile {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []hostile
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if lines.Text() == "" || strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		parts := strings.Split(lines.Text(), "\t")
		if len(parts) != 3 {
			t.Fatalf("%s: %q has not three parts", name, lines.Text())
		}
		all = append(all, hostile{parts[0], parts[1], parts[2]})
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// sentry listens on every address of the machine and counts who comes.
func sentry(t *testing.T) (port string, visits *atomic.Int64) {
	t.Helper()
	visits = new(atomic.Int64)
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{
		ReadHeaderTimeout: time.Second,
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }),
		ConnState: func(_ net.Conn, s http.ConnState) {
			if s == http.StateNew {
				visits.Add(1)
			}
		},
	}
	go server.Serve(l)                       //nolint:errcheck // it ends with the test
	t.Cleanup(func() { _ = server.Close() }) // nobody waits for an answer any more
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), visits
}

func ranges(t testing.TB, texts ...string) []netip.Prefix {
	t.Helper()
	allow, err := egress.ParseAllow(texts)
	if err != nil {
		t.Fatal(err)
	}
	return allow
}

// get calls the URL and gives the error's code for the tenant, empty for an answer.
func get(t *testing.T, c *http.Client, target string) (code string, err error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, http.NoBody)
	if err != nil {
		return "not_a_url", err
	}
	resp, err := c.Do(req)
	if err != nil {
		return codeOf(err), err
	}
	return "", resp.Body.Close()
}

func codeOf(err error) string {
	var e *domain.Error
	if !errors.As(err, &e) {
		return "unknown: " + err.Error()
	}
	return e.Code
}

func TestNoHostileURLIsReached(t *testing.T) {
	port, visits := sentry(t)
	names := newZone(map[string]func(int) []string{
		"public.test":              always("93.184.215.14"),
		"metadata.google.internal": always("169.254.169.254"),
	})
	g := egress.New(egress.Options{Resolver: names.resolver(t), ConnectTimeout: 2 * time.Second})
	defer g.Close()
	for _, c := range corpus(t, "hostile.txt") {
		t.Run(c.claim+" "+c.target, func(t *testing.T) {
			code, err := get(t, g.Client(egress.Follow), strings.ReplaceAll(c.target, "PORT", port))
			if code != c.code {
				t.Errorf("the code is %q, not %q: %v", code, c.code, err)
			}
		})
	}
	if n := visits.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

func TestNoSpellingOfLoopbackIsReachedByTheSystemsResolver(t *testing.T) {
	port, visits := sentry(t)
	g := egress.New(egress.Options{ConnectTimeout: 2 * time.Second})
	defer g.Close()
	for _, c := range corpus(t, "hostile.txt") {
		if c.code != "dns_failed" {
			continue
		}
		target := strings.ReplaceAll(c.target, "PORT", port)
		if code, err := get(t, g.Client(egress.Stay), target); code != "dns_failed" && code != "address_refused" && code != "connect_timeout" {
			t.Errorf("%s: the code is %q: %v", target, code, err)
		}
	}
	if n := visits.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

func TestNoRedirectLeadsToWhereACallMayNotGo(t *testing.T) {
	port, visits := sentry(t)
	var target atomic.Value
	origin := serve(t, "127.0.0.1:0", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", target.Load().(string))
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	names := newZone(map[string]func(int) []string{"elsewhere.test": always("10.9.8.7", "fd00::1")})
	g := egress.New(egress.Options{Allow: ranges(t, "127.0.0.1"), Resolver: names.resolver(t), ConnectTimeout: 2 * time.Second})
	defer g.Close()
	for _, c := range corpus(t, "redirects.txt") {
		t.Run(c.claim+" "+c.target, func(t *testing.T) {
			target.Store(strings.ReplaceAll(c.target, "PORT", port))
			if code, err := get(t, g.Client(egress.Follow), origin); code != c.code {
				t.Errorf("the code is %q, not %q: %v", code, c.code, err)
			}
			if code, err := get(t, g.Client(egress.Stay), origin); code != "" {
				t.Errorf("a client that stays does not get the redirect itself: %v", err)
			}
		})
	}
	if n := visits.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

// serve answers on the address and returns the URL.
func serve(t testing.TB, address string, handle http.HandlerFunc) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handle, ReadHeaderTimeout: time.Second}
	go server.Serve(l) //nolint:errcheck // it ends with the test
	t.Cleanup(func() { _ = server.Close() })
	return "http://" + l.Addr().String() + "/"
}
