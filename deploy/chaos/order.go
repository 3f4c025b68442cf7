package main

import (
	"fmt"
	"slices"
	"sync"
)

// order is a run that a client wants, and what it was answered.
type order struct {
	call           string // names it, in the payload
	tenant         *tenant
	scenario       *scenario
	amount         int
	entity         string
	line           int    // of which one run is live at a time, where the scenario says so
	idempotencyKey string // the idempotency key of the call that starts it; empty for none
	dedupe         string // its dedupe key; empty for none

	refuse bool // the receiver refuses it until the run has failed once
	cancel bool // the client cancels it

	mu        sync.Mutex
	skipped   []string // the live runs for which it was, one for each acknowledgement
	runs      []string // as which it was acknowledged, one for each acknowledgement
	resumed   bool     // the answer or the event was acknowledged
	cancelled bool     // the cancellation was acknowledged
	retried   bool     // the retry was acknowledged
}

// payload is the event data of the call.
func (o *order) payload() map[string]any {
	return map[string]any{"call": o.call, "amount": o.amount, "refuse": o.refuse, "line": o.line}
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

// update changes what the client knows.
func (o *order) update(change func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change()
}

// newOrder makes an order up.
func (e *env) newOrder(n int) *order {
	t := e.tenants[e.random.intN(len(e.tenants))]
	o := &order{call: fmt.Sprintf("%s-%d", t.name, n), tenant: t, scenario: e.pickScenario(), amount: e.random.intN(2 * bigOrder)}
	switch e.random.intN(3) {
	case 0:
		o.idempotencyKey = "once-" + o.call
	case 1:
		o.dedupe = "key-" + o.call
	default:
		o.idempotencyKey, o.dedupe = "once-"+o.call, "key-"+o.call
	}
	if o.line = e.random.intN(lines); o.scenario.overflow == overflowSkip {
		// Once more means again, unless it says that it is the same call.
		o.idempotencyKey, o.dedupe = "once-"+o.call, ""
	}
	if o.scenario.awaits != "" || e.random.chance(50) {
		o.entity = "order-" + o.call
	}
	calls := len(o.scenario.effects) > 0
	o.cancel = o.scenario.awaits == awaitsAnswer && e.random.chance(15) || o.scenario.overflow == overflowQueue && e.random.chance(15) || calls && e.random.chance(4)
	o.refuse = calls && !o.cancel && e.random.chance(6)
	return o
}

func (e *env) pickScenario() *scenario {
	n := e.random.intN(100)
	for _, sc := range e.scenarios {
		if n -= sc.share; n < 0 {
			return sc
		}
	}
	return e.scenarios[0]
}

// calls says whether the node runs for the order, as far as it completes.
func (o *order) calls(node string) bool {
	return slices.Contains(o.scenario.done(o.amount), node) || slices.Contains(o.scenario.body, node)
}
