package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path"
	"slices"
	"sync"
	"time"
)

// receiver is what workflows call: an unreliable server that repeats an effect as
// often as it is asked for it, and counts by Idempotency-Key.
type receiver struct {
	random   *randomSource
	found    *findings
	reliable bool // it never fails

	mu      sync.Mutex
	keys    map[string]*effect
	refused map[string]bool // orders that it refuses until accept is called
}

// effect is what one Idempotency-Key led to.
type effect struct {
	callSource                 // what the first call said
	calls       []time.Time    // when each with the key came
	times       int            // that the effect happened
	lostAnswers int            // of these, how often the receiver itself lost the answer
	failures    map[string]int // how the other calls ended
}

// callSource says which node of which run called, by the body.
type callSource struct{ tenant, run, node string }

func newReceiver(random *randomSource, found *findings) *receiver {
	return &receiver{random: random, found: found, keys: make(map[string]*effect), refused: make(map[string]bool)}
}

// maxFailures of one key keep every run within its retries.
const maxFailures = 3

// hangTime is longer than a node waits.
const hangTime = 2 * attemptTimeout * time.Millisecond

// behaviour is how the receiver treats a call.
type behaviour struct {
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
	time.Sleep(hangTime)
	w.WriteHeader(http.StatusOK)
}

func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// slow takes a while that a node waits for, in which its process may die.
func slow(w http.ResponseWriter, _ *http.Request) {
	time.Sleep(attemptTimeout * time.Millisecond / 2)
	w.WriteHeader(http.StatusOK)
}

// The behaviours in which the receiver closes the connection.
const (
	closedBefore = "closed before the effect"
	closedAfter  = "closed after the effect"
)

// behaviours of the receiver. The last one is also that towards a key that failed often
// enough.
var behaviours = []behaviour{
	{"500", 5, false, status(http.StatusInternalServerError)},
	{"503 with Retry-After", 4, false, status(http.StatusServiceUnavailable, "Retry-After", "1")},
	{"429 with Retry-After", 4, false, status(http.StatusTooManyRequests, "Retry-After", "1")},
	{closedBefore, 4, false, hangUp},
	{closedAfter, 4, true, hangUp},
	{"no answer", 4, false, hang},
	{"late after the effect", 5, true, hang},
	{"slow", 30, true, slow},
	{"fine", 40, true, status(http.StatusOK)},
}

func (r *receiver) pick() behaviour {
	if r.reliable {
		return behaviours[len(behaviours)-1]
	}
	n := r.random.intN(100)
	for _, b := range behaviours {
		if n -= b.share; n < 0 {
			return b
		}
	}
	return behaviours[len(behaviours)-1]
}

// failed says that the caller gets no success.
func (b behaviour) failed() bool { return b.name != "slow" && b.name != "fine" }

// ServeHTTP has the effect that is asked for, or not, and answers, or not.
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
	as := callSource{body.Tenant, body.Run, path.Base(req.URL.Path)}
	r.respond(key, as, body.Order.Refuse, body.Order.Call)(w, req)
}

// respond counts a call and says how to answer it.
func (r *receiver) respond(key string, as callSource, refuse bool, order string) func(http.ResponseWriter, *http.Request) {
	b := r.pick()
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.keys[key]
	if e == nil {
		e = &effect{callSource: as, failures: make(map[string]int)}
		r.keys[key] = e
	}
	r.found.check(e.callSource == as, sameKey, "the key %s came from %v and from %v", key, e.callSource, as)
	r.found.check(key == as.run+":"+as.node, sameKey, "node %s of run %s bears the key %s", as.node, as.run, key)
	e.calls = append(e.calls, time.Now())
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
	if failures >= maxFailures {
		b = behaviours[len(behaviours)-1]
	}
	if b.failed() {
		e.failures[b.name]++
	}
	if b.effect {
		e.times++
		if b.failed() {
			e.lostAnswers++
		}
	}
	return b.respond
}

// accept takes an order from now on that was refused.
func (r *receiver) accept(order string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused[order] = false
}

// effects returns what was counted.
func (r *receiver) effects() map[string]effect {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make(map[string]effect, len(r.keys))
	for key, e := range r.keys {
		all[key] = e.copied()
	}
	return all
}

// copied is the effect as it is now.
func (e *effect) copied() effect {
	now := *e
	now.calls, now.failures = slices.Clone(e.calls), maps.Clone(e.failures)
	return now
}

// sums counts over all keys.
func sumEffects(all map[string]effect) (attempts, happened, times, lostAnswers int) {
	for _, e := range all {
		attempts += len(e.calls)
		times += e.times
		lostAnswers += e.lostAnswers
		if e.times > 0 {
			happened++
		}
	}
	return attempts, happened, times, lostAnswers
}

// String is the effect in one line.
func (e effect) String() string {
	return fmt.Sprintf("node %s of run %s: %d attempts, %d effects, failures %v", e.node, e.run, len(e.calls), e.times, e.failures)
}
