package run

import (
	"encoding/json"
	"sync"
	"weak"
)

// cache holds what is computed from a run's state when it is first needed. Every
// output is read from its text, also right after it was computed: so two outputs
// never share an object, and a run that was stored and read again compares objects
// as one that stayed in memory does.
type cache struct {
	outputs []cached           // by place of the node
	given   [givenTexts]cached // the payload, and what the run of an item has besides
	read    int64              // weight of all values that are known
	run     map[string]any     // the root run
}

type cached struct {
	value  any
	known  bool
	weight int64       // of the value; 0 while that is not known
	shared *sharedText // nil for a text that no other run has
	pinned *any        // the shared value, while it is known
}

// forget drops the value.
func (c *cached) forget() { c.value, c.known, c.pinned = nil, false, nil }

// sharedText is a text that several runs are given. Its value stays while one of them has it: what
// it takes in memory is counted there.
type sharedText struct {
	text json.RawMessage

	mu     sync.Mutex
	value  weak.Pointer[any]
	weight int64 // 0 while that is not known
}

// read is the value of the text.
func (t *sharedText) read() *any {
	t.mu.Lock()
	defer t.mu.Unlock()
	if value := t.value.Value(); value != nil {
		return value
	}
	value := new(any)
	*value, _ = parse(t.text) // it was checked when it came
	t.value = weak.Make(value)
	return value
}

func (t *sharedText) weigh() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.weight == 0 {
		t.weight = weightOf(t.text)
	}
	return t.weight
}

// ReadOnce has runs that were given the same texts, at the same place in memory, read each of them
// once: while one has the value of a text, it is that of the others, too. None changes it.
func ReadOnce(all ...*Run) {
	first := make(map[*byte]*cached)
	for _, r := range all {
		for i := range r.cache.given {
			text, own := r.state.given(-1-i), &r.cache.given[i]
			if len(text) == 0 {
				continue
			}
			before := first[&text[0]]
			if before == nil {
				first[&text[0]] = own
				continue
			}
			if before.shared == nil {
				before.shared = &sharedText{text: text}
			}
			own.shared = before.shared
		}
	}
}
