package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"sync"
	"time"
)

// receiver is what workflows call: an unreliable server that repeats an effect as
// often as it is asked for it, and keeps books by Idempotency-Key.
type receiver struct {
	random *dice
	found  *findings
	calm   bool // it never fails

	mu      sync.Mutex
	keys    map[string]*effect
	refused map[string]bool // orders that it will not take before it is told to
}

// effect is what one Idempotency-Key led to.
type effect struct {
	calledAs                // what the first call said
	attempts int            // calls with the key
	times    int            // that the effect happened
	unsaid   int            // of these, how often the receiver itself lost the answer
	failures map[string]int // how the other calls ended
}

// calledAs says which node of which run called, as the body tells.
type calledAs struct{ tenant, run, node string }

func newReceiver(random *dice, found *findings) *receiver {
	return &receiver{random: random, found: found, keys: make(map[string]*effect), refused: make(map[string]bool)}
}

// mostFailures of one key keep every run within its retries.
const mostFailures = 3

// tooLong is longer than a node waits.
const tooLong = 2 * attemptTimeout * time.Millisecond

// mood is how the receiver treats a call.
type mood struct {
	name    string
	share   int // of a hundred
	effect  bool
	respond func(w http.ResponseWriter, r *http.Request)
}

func status(code int, header ...string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
	}
}

// hang waits until nobody waits any more, and answers all the same.
func hang(w http.ResponseWriter, _ *http.Request) {
	time.Sleep(tooLong)
	w.WriteHeader(http.StatusOK)
}

func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// slow takes a while that a node waits for, in which its process may die.
func slow(w http.ResponseWriter, _ *http.Request) {
	time.Sleep(attemptTimeout * time.Millisecond / 2)
	w.WriteHeader(http.StatusOK)
}

// moods of the receiver. The last one is also that towards a key that failed often
// enough.
var moods = []mood{
	{"500", 5, false, status(http.StatusInternalServerError)},
	{"503 with Retry-After", 4, false, status(http.StatusServiceUnavailable, "Retry-After", "1")},
	{"429 with Retry-After", 4, false, status(http.StatusTooManyRequests, "Retry-After", "1")},
	{"closed before the effect", 4, false, hangUp},
	{"closed after the effect", 4, true, hangUp},
	{"no answer", 4, false, hang},
	{"late after the effect", 5, true, hang},
	{"slow", 30, true, slow},
	{"fine", 40, true, status(http.StatusOK)},
}

func (r *receiver) draw() mood {
	if r.calm {
		return moods[len(moods)-1]
	}
	n := r.random.below(100)
	for _, m := range moods {
		if n -= m.share; n < 0 {
			return m
		}
	}
	return moods[len(moods)-1]
}

// failed says that the caller is not told of a success.
func (m mood) failed() bool { return m.name != "slow" && m.name != "fine" }

// ServeHTTP has the effect that is asked for, or not, and tells so, or not.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var body struct {
		Tenant, Run string
		Order       struct {
			Call   string
			Refuse bool
		}
	}
	text, err := io.ReadAll(req.Body)
	if err == nil {
		err = json.Unmarshal(text, &body)
	}
	key := req.Header.Get("Idempotency-Key")
	if err != nil || key == "" {
		r.found.add(sameKey, "the receiver was called with the key %q and %q: %v", key, text, err)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	as := calledAs{body.Tenant, body.Run, path.Base(req.URL.Path)}
	r.respond(key, as, body.Order.Refuse, body.Order.Call)(w, req)
}

// respond keeps the books and says how to answer.
func (r *receiver) respond(key string, as calledAs, refuse bool, order string) func(http.ResponseWriter, *http.Request) {
	m := r.draw()
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.keys[key]
	if e == nil {
		e = &effect{calledAs: as, failures: make(map[string]int)}
		r.keys[key] = e
	}
	r.found.check(e.calledAs == as, sameKey, "the key %s came from %v and from %v", key, e.calledAs, as)
	r.found.check(key == as.run+":"+as.node, sameKey, "node %s of run %s bears the key %s", as.node, as.run, key)
	e.attempts++
	if _, known := r.refused[order]; refuse && !known {
		r.refused[order] = true
	}
	if r.refused[order] {
		e.failures["422"]++
		return status(http.StatusUnprocessableEntity)
	}
	failures := 0
	for _, n := range e.failures {
		failures += n
	}
	if failures >= mostFailures {
		m = moods[len(moods)-1]
	}
	if m.failed() {
		e.failures[m.name]++
	}
	if m.effect {
		e.times++
		if m.failed() {
			e.unsaid++
		}
	}
	return m.respond
}

// accept takes an order from now on that was refused.
func (r *receiver) accept(order string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused[order] = false
}

// effects returns the books.
func (r *receiver) effects() map[string]effect {
	r.mu.Lock()
	defer r.mu.Unlock()
	books := make(map[string]effect, len(r.keys))
	for key, e := range r.keys {
		books[key] = *e
	}
	return books
}

// sums counts over all keys.
func sums(books map[string]effect) (attempts, happened, times, unsaid int) {
	for _, e := range books {
		attempts += e.attempts
		times += e.times
		unsaid += e.unsaid
		if e.times > 0 {
			happened++
		}
	}
	return attempts, happened, times, unsaid
}

// String tells an effect in one line.
func (e effect) String() string {
	return fmt.Sprintf("node %s of run %s: %d attempts, %d effects, failures %v", e.node, e.run, e.attempts, e.times, e.failures)
}
