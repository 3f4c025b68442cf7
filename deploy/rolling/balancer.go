// Package rolling tests what a rolling restart does to clients: a load balancer like
// those in front of a gateway in production, a load of reads and writes, and a
// ledger of what was sent, what was acknowledged and what is there afterwards.
package rolling

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Balancer spreads requests over several backends in turn. It is as simple as
// balancers come, so that what it survives others do as well: it polls /readyz of each
// backend, sends requests only to those that answered 200 the last time, and
// repeats a request on another one only where the first refused the connection, that
// is before a byte was sent. It keeps its connections to the backends open.
type Balancer struct {
	proxy    *httputil.ReverseProxy
	backends []*backend
	next     atomic.Uint64
	probes   sync.WaitGroup
}

var _ http.Handler = (*Balancer)(nil)

// backend is one server behind the balancer.
type backend struct {
	url   *url.URL
	ready atomic.Bool
}

// NewBalancer balances over backends such as http://127.0.0.1:8080, and polls their
// readiness in these intervals until ctx ends; call [Balancer.Wait] after that. No backend
// counts as ready before it was polled.
func NewBalancer(ctx context.Context, every time.Duration, addresses ...string) (*Balancer, error) {
	b := new(Balancer)
	for _, address := range addresses {
		u, err := url.Parse(address)
		if err != nil {
			return nil, err
		}
		b.backends = append(b.backends, &backend{url: u})
	}
	b.proxy = &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetXForwarded() }, // send chooses the backend
		Transport: transport{b, &http.Transport{MaxIdleConnsPerHost: 256}},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	}
	for _, one := range b.backends {
		b.probes.Go(func() { one.probe(ctx, every) })
	}
	return b, nil
}

// Wait waits until no backend is polled any more.
func (b *Balancer) Wait() { b.probes.Wait() }

// Ready returns how many backends are ready.
func (b *Balancer) Ready() (n int) {
	for _, one := range b.backends {
		if one.ready.Load() {
			n++
		}
	}
	return n
}

// ServeHTTP forwards a request.
func (b *Balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) { b.proxy.ServeHTTP(w, r) }

// probe follows the backend's readiness on connections of its own, so that it also
// notices a listener that is closed.
func (b *backend) probe(ctx context.Context, every time.Duration) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	for {
		b.ready.Store(b.isReady(ctx, client))
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
	}
}

func (b *backend) isReady(ctx context.Context, client *http.Client) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.url.JoinPath("readyz").String(), nil)
	if err != nil {
		return false
	}
	answer, err := client.Do(r)
	if err != nil {
		return false
	}
	_ = answer.Body.Close() // only the status matters
	return answer.StatusCode == http.StatusOK
}

// errNoBackend means that no backend took the request.
var errNoBackend = errors.New("no backend is ready")

// transport sends a request to the next backend that is ready.
type transport struct {
	balancer *Balancer
	http     http.RoundTripper
}

// RoundTrip tries the backends in turn while they refuse the connection.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	refusal := errNoBackend
	first := t.balancer.next.Add(1)
	for i := range len(t.balancer.backends) {
		one := t.balancer.backends[(first+uint64(i))%uint64(len(t.balancer.backends))]
		if !one.ready.Load() {
			continue
		}
		again := r.Clone(r.Context())
		again.URL.Scheme, again.URL.Host, again.Host = one.url.Scheme, one.url.Host, one.url.Host
		if body != nil {
			again.Body = io.NopCloser(bytes.NewReader(body))
		}
		answer, err := t.http.RoundTrip(again)
		if !errors.Is(err, syscall.ECONNREFUSED) {
			return answer, err
		}
		refusal = err
	}
	return nil, refusal
}

// readBody reads a request's body, so that it can be sent once more. The transport would
// close it even where no connection came about.
func readBody(r *http.Request) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	body, err := io.ReadAll(r.Body)
	return body, errors.Join(err, r.Body.Close())
}
