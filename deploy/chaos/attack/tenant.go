package attack

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Tenant is the hostile one.
type Tenant struct {
	gateway string // base URL
	key     string
	server  string // base URL of what its workflows call
	size    Size
	client  *http.Client
	slow    *http.Client // its connections hold little that is not read
	book    *Book
	made    *things
	attack  string // under which requests are counted
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
		gateway: gateway, key: key, server: server, size: size,
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: 2 * time.Minute},
		slow:   &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: narrow.DialContext}, Timeout: 2 * time.Minute},
		book:   &Book{answers: make(map[string]map[string]int), errors: make(map[string]error), began: make(map[string]int)},
		made:   &things{flows: make(map[string]*flow)},
	}
}

// Book returns what the tenant's requests were answered.
func (t *Tenant) Book() *Book { return t.book }

// during returns the tenant as it counts requests under an attack.
func (t *Tenant) during(attack string) *Tenant {
	same := *t
	same.attack = attack
	return &same
}

// send makes a request and returns the status and, of a success, the answer. Where it is
// asked to come back later it waits, for a moment at most.
func (t *Tenant) send(ctx context.Context, method, path string, body []byte) (status int, text []byte) {
	answer, err := t.open(ctx, t.client, method, path, bytes.NewReader(body))
	if err != nil {
		return 0, nil
	}
	defer func() { _ = answer.Body.Close() }() // read to its end below
	text, err = io.ReadAll(answer.Body)
	if err != nil {
		return 0, nil
	}
	if after, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && after > 0 {
		pause(ctx, min(time.Duration(after)*time.Second, 2*time.Second))
	}
	return answer.StatusCode, text
}

// open makes a request and counts its status.
func (t *Tenant) open(ctx context.Context, client *http.Client, method, path string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, t.gateway+"/v1/gateway"+path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-API-Key", t.key)
	req.Header.Set("Content-Type", "application/json")
	answer, err := client.Do(req)
	switch {
	case err == nil:
		t.book.count(t.attack, strconv.Itoa(answer.StatusCode))
	case ctx.Err() == nil:
		t.book.count(t.attack, "unanswered")
		pause(ctx, 200*time.Millisecond) // the gateway may be starting again
	}
	return answer, err
}

// create makes something and reads its identifier; nil is an empty body.
func (t *Tenant) create(ctx context.Context, path string, body any) (id string, err error) {
	text := []byte("{}")
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return "", err
		}
	}
	var made struct{ ID string }
	for {
		status, got := t.send(ctx, http.MethodPost, path, text)
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case status == http.StatusCreated || status == http.StatusOK:
			return made.ID, json.Unmarshal(got, &made)
		case status == 0 || status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
			continue // later
		}
		if _, details, ok := bytes.Cut(got, []byte(`"details":`)); ok {
			got = details
		}
		return "", fmt.Errorf("POST %s: %d %s", path, status, got[:min(len(got), 300)])
	}
}

// Book counts what was answered, for each attack.
type Book struct {
	mu      sync.Mutex
	answers map[string]map[string]int
	errors  map[string]error // the last one of each attack
	began   map[string]int   // how often it was begun with all that it needs
}

func (b *Book) count(attack, answer string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.answers[attack] == nil {
		b.answers[attack] = make(map[string]int)
	}
	b.answers[attack][answer]++
}

func (b *Book) failed(attack string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.errors[attack] = err
}

// ready notes that all that an attack needs is there, and it begins.
func (t *Tenant) ready() {
	t.book.mu.Lock()
	defer t.book.mu.Unlock()
	t.book.began[t.attack]++
}

// Began returns how often an attack was begun with all that it needs.
func (b *Book) Began(attack string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.began[attack]
}

// Answers returns how many requests of an attack were answered with which status, and
// what stood in its way last; nil for nothing.
func (b *Book) Answers(attack string) (map[string]int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	same := make(map[string]int)
	for status, n := range b.answers[attack] {
		same[status] = n
	}
	return same, b.errors[attack]
}
