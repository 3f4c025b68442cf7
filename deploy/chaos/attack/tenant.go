package attack

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

// Tenant is the hostile one.
type Tenant struct {
	api    harness.Client
	slow   harness.Client // its connections hold little that is not read
	server string         // base URL of what its workflows call
	size   Size
	counts *Counts
	made   *workflows
	attack string // under which requests are counted
}

// Size says how much the larger attacks bring at once.
type Size struct {
	Triggers int // that wait for one event
	Waiting  int // runs that become due at the same instant
}

// NewTenant makes a hostile tenant out of a secret key; server is where a [Server]
// answers what its workflows call.
func NewTenant(gateway, key, server string, size Size) *Tenant {
	narrow := &net.Dialer{Control: narrowWindow}
	return &Tenant{
		api: harness.Client{URL: gateway, Key: key, HTTP: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: 2 * time.Minute}},
		slow: harness.Client{URL: gateway, Key: key, HTTP: &http.Client{
			Transport: &http.Transport{DisableKeepAlives: true, DialContext: narrow.DialContext}, Timeout: 2 * time.Minute,
		}},
		server: server, size: size, made: &workflows{byName: make(map[string]*workflow)},
		counts: &Counts{all: make(map[string]Count)},
	}
}

// Counts returns what the tenant's requests were answered.
func (t *Tenant) Counts() *Counts { return t.counts }

// during returns the tenant as it counts requests under an attack.
func (t *Tenant) during(attack string) *Tenant {
	same := *t
	same.attack = attack
	return &same
}

// send makes a request and returns the status and the answer. Where it is asked to come
// back later it waits, for a moment at most.
func (t *Tenant) send(ctx context.Context, method, path string, body any) (status int, text []byte) {
	answer, err := t.open(ctx, t.api, method, path, body)
	if err != nil {
		return 0, nil
	}
	defer func() { _ = answer.Body.Close() }() // read to its end below
	text, err = io.ReadAll(answer.Body)
	if err != nil {
		return 0, nil
	}
	if after, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && after > 0 {
		harness.Sleep(ctx, min(time.Duration(after)*time.Second, 2*time.Second))
	}
	return answer.StatusCode, text
}

// open makes a request and counts its status.
func (t *Tenant) open(ctx context.Context, api harness.Client, method, path string, body any) (*http.Response, error) {
	answer, err := api.Open(ctx, harness.Request{Method: method, Path: path, Body: body})
	t.count(ctx, answer, err)
	return answer, err
}

// count counts the status of an answer, or that there was none.
func (t *Tenant) count(ctx context.Context, answer *http.Response, err error) {
	switch {
	case err == nil:
		t.counts.add(t.attack, strconv.Itoa(answer.StatusCode))
	case ctx.Err() == nil:
		t.counts.add(t.attack, "unanswered")
		harness.Sleep(ctx, 200*time.Millisecond) // the gateway may be starting again
	}
}

// post makes something, again until it is neither refused nor unanswered. It is a
// [harness.Post].
func (t *Tenant) post(ctx context.Context, path string, body, into any) error {
	for {
		status, got := t.send(ctx, http.MethodPost, path, body)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case status/100 == 2 && into == nil:
			return nil
		case status/100 == 2:
			return json.Unmarshal(got, into)
		case status == 0 || status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
			continue // later
		}
		if _, details, ok := bytes.Cut(got, []byte(`"details":`)); ok {
			got = details
		}
		return fmt.Errorf("POST %s: %d %s", path, status, got[:min(len(got), 300)])
	}
}

// Counts counts what was answered, for each attack.
type Counts struct {
	mu  sync.Mutex
	all map[string]Count
}

// Count is what came of an attack.
type Count struct {
	Rounds  int            // how often it began with all that it needs
	Answers map[string]int // how many requests were answered with which status
	Error   string         // what stood in its way last; empty for nothing
}

// All returns the count of each attack.
func (c *Counts) All() map[string]Count {
	c.mu.Lock()
	defer c.mu.Unlock()
	same := maps.Clone(c.all)
	for name, count := range same {
		count.Answers = maps.Clone(count.Answers)
		same[name] = count
	}
	return same
}

func (c *Counts) change(attack string, change func(*Count)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	count := c.all[attack]
	if count.Answers == nil {
		count.Answers = make(map[string]int)
	}
	change(&count)
	c.all[attack] = count
}

func (c *Counts) add(attack, answer string) {
	c.change(attack, func(of *Count) { of.Answers[answer]++ })
}

func (c *Counts) failed(attack string, err error) {
	c.change(attack, func(of *Count) { of.Error = err.Error() })
}

// begin notes that all that an attack needs is there, and it begins.
func (t *Tenant) begin() {
	t.counts.change(t.attack, func(of *Count) { of.Rounds++ })
}
