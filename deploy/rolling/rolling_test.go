package rolling

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/deploy/harness"
)

// peer is a backend that can be unready, and broken.
type peer struct {
	*httptest.Server
	unready atomic.Bool
	asked   atomic.Int32 // requests other than those for /readyz
	bodies  chan string
}

func newPeer(t *testing.T) *peer {
	t.Helper()
	p := &peer{bodies: make(chan string, 100)}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/readyz" && p.unready.Load():
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Path == "/cut":
			panic(http.ErrAbortHandler)
		case r.URL.Path != "/readyz":
			p.asked.Add(1)
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			p.bodies <- string(body)
		}
	}))
	t.Cleanup(p.Close)
	return p
}

func balanced(t *testing.T, addresses ...string) (*Balancer, string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	b, err := NewBalancer(ctx, time.Millisecond, addresses...)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(b)
	t.Cleanup(func() {
		front.Close()
		cancel()
		b.Wait()
	})
	return b, front.URL
}

func await(t *testing.T, b *Balancer, ready int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); b.Ready() != ready; {
		if time.Now().After(deadline) {
			t.Fatalf("%d backends are ready, not %d", b.Ready(), ready)
		}
		time.Sleep(time.Millisecond)
	}
}

func post(t *testing.T, address string) int {
	t.Helper()
	answer, err := http.Post(address, "text/plain", strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

func TestRequestsTakeTurnsAmongReadyBackends(t *testing.T) {
	one, two := newPeer(t), newPeer(t)
	b, url := balanced(t, one.URL, two.URL)
	await(t, b, 2)
	for range 10 {
		if got := post(t, url); got != http.StatusOK {
			t.Errorf("got %d", got)
		}
	}
	if one.asked.Load() != 5 || two.asked.Load() != 5 {
		t.Errorf("they were asked %d and %d times", one.asked.Load(), two.asked.Load())
	}
	two.unready.Store(true)
	await(t, b, 1)
	for range 10 {
		post(t, url)
	}
	if two.asked.Load() != 5 {
		t.Error("a backend that is not ready was asked")
	}
	one.unready.Store(true)
	await(t, b, 0)
	if got := post(t, url); got != http.StatusBadGateway {
		t.Errorf("without a backend: %d", got)
	}
}

func TestARefusedConnectionIsTriedElsewhereWithTheWholeBody(t *testing.T) {
	one := newPeer(t)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	b, err := NewBalancer(ctx, time.Hour, "http://"+closed.Addr().String(), one.URL)
	if err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	defer func() { cancel(); b.Wait() }()
	await(t, b, 1)
	b.backends[0].ready.Store(true) // it was, a moment ago
	front := httptest.NewServer(b)
	defer front.Close()
	for range 4 {
		if got := post(t, front.URL); got != http.StatusOK {
			t.Errorf("got %d", got)
		}
		if got := <-one.bodies; got != "hello" {
			t.Errorf("the body arrived as %q", got)
		}
	}
}

func TestARequestThatWasSentIsNeverSentAgain(t *testing.T) {
	one, two := newPeer(t), newPeer(t)
	b, url := balanced(t, one.URL, two.URL)
	await(t, b, 2)
	if got := post(t, url+"/cut"); got != http.StatusBadGateway {
		t.Errorf("a connection that broke after the request was sent: %d", got)
	}
}

func TestAnAccountNamesWhatWentWrong(t *testing.T) {
	l := newLedger()
	l.wrote("a", 201, nil, nil)
	l.wrote("b", 201, nil, nil)
	l.wrote("lost", 201, nil, nil)
	l.wrote("refused", 502, []byte("no backend"), nil)
	l.read(200, nil)
	l.read(200, errors.New("cut"))
	got := l.Balance([]string{"a", "b", "b", "refused"})
	want := Account{Sent: 6, Acknowledged: 3, Failed: 2, Missing: 1, Duplicates: 1, Unasked: 1, Examples: []string{
		`creating "refused": status 502, no backend, <nil>`, `reading the registry: status 200, cut`,
		`"lost" was acknowledged and is not there`, `"b" is there 2 times`,
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if err := got.Err(); err == nil || !strings.Contains(err.Error(), "6 requests sent, 3 writes acknowledged, 2 failed, 1 missing, 1 duplicates, 1 unasked") {
		t.Errorf("the error is %v", err)
	}
	if err := l.Err(); err == nil || !strings.Contains(err.Error(), "2 of 6 requests failed") {
		t.Errorf("the ledger's error is %v", err)
	}
	good := newLedger()
	good.wrote("a", 201, nil, nil)
	if err := errors.Join(good.Err(), good.Balance([]string{"a"}).Err()); err != nil {
		t.Error(err)
	}
}

func TestALoadRecordsEveryRequest(t *testing.T) {
	var mu sync.Mutex
	var names, keys []string
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case r.Method == http.MethodPost:
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			_, rest, _ := strings.Cut(string(body), `"name":"`)
			name, _, _ := strings.Cut(rest, `"`)
			names, keys = append(names, name), append(keys, r.Header.Get("X-Idempotency-Key"))
			w.WriteHeader(http.StatusCreated)
		case r.URL.Path == "/v1/gateway/triggers":
			var offset int
			if _, err := fmt.Sscan(r.URL.Query().Get("offset"), &offset); err != nil {
				t.Error(err)
			}
			page := names[offset:min(offset+harness.PageSize, len(names))]
			items := make([]string, len(page))
			for i, name := range page {
				items[i] = fmt.Sprintf(`{"name":%q}`, name)
			}
			_, _ = fmt.Fprintf(w, `{"items":[%s],"hasMore":%t}`, strings.Join(items, ","), offset+len(page) < len(names)) // the client checks
		}
	}))
	defer gateway.Close()
	load := Load{URL: gateway.URL, Key: "sk_x", WorkflowVersionID: "wfv_x", Writers: 3, Readers: 1}
	ctx, stop := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, stop)
	ledger := load.Run(ctx)
	there, err := load.Triggers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	account := ledger.Balance(there)
	if err := account.Err(); err != nil || account.Acknowledged != len(names) || account.Acknowledged < 3 || account.Sent <= account.Acknowledged {
		t.Errorf("%s for %d names: %v", account, len(names), err)
	}
	with := 0
	for _, key := range keys {
		if key != "" {
			with++
		}
	}
	if with == 0 || with == len(keys) {
		t.Errorf("%d of %d writes have an idempotency key", with, len(keys))
	}
}
