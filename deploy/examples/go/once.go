package main

import "sync"

// maxKeys bounds how many answers are kept. A service that runs in several processes
// keeps them in its database, in the transaction that has the effect.
const maxKeys = 10_000

// once remembers what was answered under a key.
type once struct {
	mu      sync.Mutex
	answers map[string]any
	order   []string // the oldest first
}

func newOnce() *once { return &once{answers: make(map[string]any)} }

// do returns what fn answered the first time it was called under the key. An empty key
// is none.
func (o *once) do(key string, fn func() any) (answer any, again bool) {
	if key == "" {
		return fn(), false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if answer, again = o.answers[key]; again {
		return answer, true
	}
	if len(o.order) == maxKeys {
		delete(o.answers, o.order[0])
		o.order = o.order[1:]
	}
	answer = fn()
	o.answers[key] = answer
	o.order = append(o.order, key)
	return answer, false
}
