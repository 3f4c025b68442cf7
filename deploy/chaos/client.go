package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

// callTimeout is how long a client waits for an answer. It is shorter than a process
// stays frozen, so that some calls take effect after the client gave them up.
const callTimeout = 5 * time.Second

// retryTimeout bounds how long a client repeats a call; no fault lasts so long.
const retryTimeout = 2 * time.Minute

// clients send requests, each to one gateway drawn at random.
type clients struct {
	gateways []*gateway
	http     *http.Client
	found    *findings
	random   *randomSource

	sent, unanswered, refused atomic.Int64
}

func newClients(gateways []*gateway, found *findings, random *randomSource) *clients {
	return &clients{
		gateways: gateways, found: found, random: random,
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: callTimeout},
	}
}

// randomSource is seeded, and shared by several goroutines.
type randomSource struct {
	mu  sync.Mutex
	rng *rand.Rand
}

func newRandom(seed uint64) *randomSource {
	return &randomSource{rng: rand.New(rand.NewPCG(seed, seed))}
}

func (r *randomSource) intN(n int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rng.IntN(n)
}

// chance is true that often in a hundred times.
func (r *randomSource) chance(percent int) bool { return r.intN(100) < percent }

func (r *randomSource) duration(least, most time.Duration) time.Duration {
	return least + time.Duration(r.intN(int(most-least)+1))
}

// answer is what a client got in the end.
type answer struct {
	harness.Response
	tries int // how often the request was sent
}

// do repeats a request, unchanged, until it is answered with a success or a reason.
// Everything in between has to be a connection that broke, or an answer that asks for
// the request to be repeated. ok is false when there was none in time.
func (c *clients) do(ctx context.Context, key string, r harness.Request) (got answer, ok bool) {
	if r.Body == nil && r.Method != http.MethodGet {
		r.Body = "{}"
	}
	last := "nothing"
	for began := time.Now(); ctx.Err() == nil && time.Since(began) < retryTimeout; {
		got.tries++
		g := c.gateways[c.random.intN(len(c.gateways))]
		response, err := c.sendTo(ctx, g, key, r)
		switch {
		case err != nil:
			c.unanswered.Add(1)
			last = err.Error()
		case asksForRetry(response):
			c.refused.Add(1)
			last = fmt.Sprintf("%d %s", response.Status, response.Body)
		default:
			got.Response = response
			if response.Status < 500 {
				return got, true
			}
			c.found.add(onlyExpected, "%s: %s %s answered %d: %s", g.Name, r.Method, r.Path, response.Status, response.Body)
			last = fmt.Sprintf("%d %s", response.Status, response.Body)
		}
		harness.Sleep(ctx, c.random.duration(50*time.Millisecond, 300*time.Millisecond))
	}
	if ctx.Err() == nil {
		c.found.add(onlyExpected, "%s %s was not answered within %s, after %d tries: %s", r.Method, r.Path, retryTimeout, got.tries, last)
	}
	return got, false
}

// call does the same and reads the answer into a value; nil reads nothing. An answer
// without success is an error.
func (c *clients) call(ctx context.Context, key string, r harness.Request, into any) error {
	got, ok := c.do(ctx, key, r)
	if !ok || got.Status/100 != 2 {
		return fmt.Errorf("%s %s: %d %s", r.Method, r.Path, got.Status, got.Body)
	}
	if into == nil {
		return nil
	}
	return got.JSON(into)
}

// asksForRetry says whether an answer asks for the request to be repeated, and says when.
func asksForRetry(r harness.Response) bool {
	after, err := strconv.Atoi(r.Header.Get("Retry-After"))
	if err != nil || after < 1 {
		return false
	}
	switch r.Status {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		return true
	case http.StatusConflict:
		return r.Code() == "idempotency_in_progress"
	default:
		return false
	}
}

// sendTo sends a request once.
func (c *clients) sendTo(ctx context.Context, g *gateway, key string, r harness.Request) (harness.Response, error) {
	c.sent.Add(1)
	return harness.Client{URL: g.URL, Key: key, HTTP: c.http}.Do(ctx, r)
}
