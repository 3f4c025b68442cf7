package main

import (
	"fmt"
	"slices"
	"sync"
)

// order is a run that a client wants, and what it was told.
type order struct {
	call   string // names it, in the payload
	tenant *lodger
	shape  *shape
	amount int
	entity string
	once   string // the idempotency key of the call that starts it; empty for none
	dedupe string // its dedupe key; empty for none

	refuse bool // the receiver refuses it until the run has failed once
	cancel bool // the client cancels it

	mu        sync.Mutex
	runs      []string // as which it was acknowledged, one for each acknowledgement
	moved     bool     // the answer or the event was acknowledged
	cancelled bool     // the cancellation was acknowledged
	tooLate   bool     // the run had ended before it could be cancelled
	retried   bool     // the retry was acknowledged
}

// payload is the event data of the call.
func (o *order) payload() map[string]any {
	return map[string]any{"call": o.call, "amount": o.amount, "refuse": o.refuse}
}

// body is that of the call.
func (o *order) body() map[string]any {
	body := map[string]any{"eventData": o.payload()}
	if o.entity != "" {
		body["entityId"] = o.entity
	}
	if o.dedupe != "" {
		body["dedupeKey"] = o.dedupe
	}
	return body
}

// acknowledge notes as which run the call was answered.
func (o *order) acknowledge(run string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.runs = append(o.runs, run)
}

// run is that of the first acknowledgement; empty before.
func (o *order) run() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.runs) == 0 {
		return ""
	}
	return o.runs[0]
}

// note changes what the client knows.
func (o *order) note(change func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change()
}

// draw makes an order up.
func (s *stage) draw(n int) *order {
	tenant := s.lodgers[s.random.below(len(s.lodgers))]
	o := &order{call: fmt.Sprintf("%s-%d", tenant.name, n), tenant: tenant, shape: s.drawShape(), amount: s.random.below(2 * bigOrder)}
	switch s.random.below(3) {
	case 0:
		o.once = "once-" + o.call
	case 1:
		o.dedupe = "key-" + o.call
	default:
		o.once, o.dedupe = "once-"+o.call, "key-"+o.call
	}
	if o.shape.awaits != "" || s.random.one(50) {
		o.entity = "order-" + o.call
	}
	calls := len(o.shape.effects) > 0
	o.cancel = o.shape.awaits == awaitsAnswer && s.random.one(15) || calls && s.random.one(4)
	o.refuse = calls && !o.cancel && s.random.one(6)
	return o
}

func (s *stage) drawShape() *shape {
	n := s.random.below(100)
	for _, sh := range s.shapes {
		if n -= sh.share; n < 0 {
			return sh
		}
	}
	return s.shapes[0]
}

// calls says whether the node runs for the order, as far as it completes.
func (o *order) calls(node string) bool { return slices.Contains(o.shape.done(o.amount), node) }
