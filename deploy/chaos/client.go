package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// callTimeout is how long a client waits for an answer. It is shorter than a process
// stays frozen, so that some calls take effect after the client gave them up.
const callTimeout = 5 * time.Second

// giveUp bounds how long a client repeats a call; nothing disturbs the gateways so long.
const giveUp = 2 * time.Minute

// clients send requests, each to one gateway drawn at random.
type clients struct {
	gateways []*gateway
	http     *http.Client
	found    *findings
	random   *dice

	sent, unanswered, refused atomic.Int64
}

func newClients(gateways []*gateway, found *findings, random *dice) *clients {
	return &clients{
		gateways: gateways, found: found, random: random,
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: callTimeout},
	}
}

// dice is seeded chance that several goroutines share.
type dice struct {
	mu  sync.Mutex
	rng *rand.Rand
}

func newDice(seed uint64) *dice { return &dice{rng: rand.New(rand.NewPCG(seed, seed))} }

func (d *dice) below(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rng.IntN(n)
}

// one says whether something happens that does so that often in a hundred times.
func (d *dice) one(percent int) bool { return d.below(100) < percent }

// between draws a time.
func (d *dice) between(least, most time.Duration) time.Duration {
	return least + time.Duration(d.below(int(most-least)+1))
}

// request is what a client wants.
type request struct {
	key    string // the tenant's
	method string
	path   string // below /v1/gateway
	body   any    // nil for none
	once   string // its idempotency key; empty for none
}

// answer is what it got.
type answer struct {
	status   int
	body     []byte
	tries    int  // how often it was sent
	replayed bool // it is that of an earlier one
}

// code is the slug of an answer that is no success.
func (a answer) code() string {
	var body struct{ Code string }
	_ = json.Unmarshal(a.body, &body) // else there is none
	return body.Code
}

// read reads the body of a success.
func (a answer) read(into any) bool { return json.Unmarshal(a.body, into) == nil }

// until repeats a request, unchanged, until it is answered with a success or a reason.
// Everything in between has to be a connection that broke, or an answer that asks for
// the request to be repeated. ok is false when there was none in time.
func (c *clients) until(ctx context.Context, r request) (got answer, ok bool) {
	body := []byte("{}")
	if r.body != nil {
		body, _ = json.Marshal(r.body) // maps and texts
	}
	last := "nothing"
	for began := time.Now(); ctx.Err() == nil && time.Since(began) < giveUp; {
		got.tries++
		g := c.gateways[c.random.below(len(c.gateways))]
		status, header, text, err := c.send(ctx, g, r, body)
		c.sent.Add(1)
		switch {
		case err != nil:
			c.unanswered.Add(1)
			last = err.Error()
		case repeatable(status, header, text):
			c.refused.Add(1)
			last = strconv.Itoa(status) + " " + string(text)
		default:
			got.status, got.body, got.replayed = status, text, header.Get("Idempotent-Replayed") == "true"
			c.found.check(status < 500, onlyExpected, "%s: %s %s answered %d: %s", g.name, r.method, r.path, status, text)
			if status < 500 {
				return got, true
			}
			last = strconv.Itoa(status) + " " + string(text)
		}
		pause(ctx, c.random.between(50*time.Millisecond, 300*time.Millisecond))
	}
	if ctx.Err() == nil {
		c.found.add(onlyExpected, "%s %s was not answered within %s, after %d tries: %s", r.method, r.path, giveUp, got.tries, last)
	}
	return got, false
}

// once sends a request once.
func (c *clients) once(ctx context.Context, r request, body any) (status int, text []byte, err error) {
	content, err := json.Marshal(body)
	if err != nil {
		return 0, nil, err
	}
	c.sent.Add(1)
	status, _, text, err = c.send(ctx, c.gateways[0], r, content)
	return status, text, err
}

// repeatable says whether an answer asks for the request to be repeated, and says when.
func repeatable(status int, header http.Header, text []byte) bool {
	after, err := strconv.Atoi(header.Get("Retry-After"))
	if err != nil || after < 1 {
		return false
	}
	switch status {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		return true
	case http.StatusConflict:
		return answer{body: text}.code() == "idempotency_in_progress"
	default:
		return false
	}
}

func (c *clients) send(ctx context.Context, to *gateway, r request, body []byte) (int, http.Header, []byte, error) {
	var content io.Reader = http.NoBody
	if r.method != http.MethodGet {
		content = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, to.url+"/v1/gateway"+r.path, content)
	if err != nil {
		return 0, nil, nil, err
	}
	req.Header.Set("X-API-Key", r.key)
	req.Header.Set("Content-Type", "application/json")
	if r.once != "" {
		req.Header.Set("X-Idempotency-Key", r.once)
	}
	got, err := c.http.Do(req)
	if err != nil {
		return 0, nil, nil, err
	}
	defer func() { _ = got.Body.Close() }() // read to its end below
	text, err := io.ReadAll(got.Body)
	return got.StatusCode, got.Header, text, err
}
