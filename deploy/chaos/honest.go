package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// honestShapes are the workflows of honest tenants.
func honestShapes(calls string) []*shape {
	const event = "order.made"
	all := shapes(calls)
	return append(all[:3:3], &shape{
		name: "by event", share: 20, trigger: map[string]any{"type": "webhook", "webhookConfig": map[string]any{"event": event}}, event: event,
		done: all[0].done, nodes: all[0].nodes, edges: all[0].edges,
	})
}

// honestCall is a call that an honest tenant makes.
type honestCall struct {
	*order
	beside   bool      // the hostile tenant was there
	phase    string    // what it did then
	due      time.Time // when it was to be made
	answered time.Duration
	ownLimit int // how often the tenant's own limits refused it
}

// honestCalls are all that were made.
type honestCalls struct {
	open sync.WaitGroup
	mu   sync.Mutex
	all  []*honestCall
}

func (c *honestCalls) add(made *honestCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, made)
}

// list returns those that were made so far.
func (c *honestCalls) list() []*honestCall {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*honestCall(nil), c.all...)
}

// acknowledged returns the calls by the runs that they were answered with.
func (c *honestCalls) acknowledged() map[string]*honestCall {
	runs := make(map[string]*honestCall)
	for _, made := range c.list() {
		if id := made.run(); id != "" {
			runs[id] = made
		}
	}
	return runs
}

// honest lets the tenants call at a steady rate, whether or not they are answered, so that
// a gateway that stands still is not asked less often.
func (h *hostileRound) honest(ctx context.Context, length time.Duration, beside bool) {
	began := time.Now()
	count := int(length.Seconds() * float64(h.how.perSecond))
	ctx, stop := context.WithDeadline(ctx, began.Add(length+lastAnswer))
	defer stop()
	for i := range count {
		due := began.Add(time.Duration(i) * length / time.Duration(count))
		if wait := time.Until(due); wait > 0 && !pause(ctx, wait) {
			break
		}
		made := &honestCall{order: h.draw(len(h.calls.list())), beside: beside, phase: h.guard.current(), due: due}
		h.calls.add(made)
		h.calls.open.Go(func() { h.place(ctx, made) })
	}
	pause(ctx, time.Until(began.Add(length)))
	h.calls.open.Wait()
}

// lastAnswer is how long after the last call one is still waited for.
const lastAnswer = 5 * time.Second

// draw makes up what an honest tenant wants.
func (h *hostileRound) draw(n int) *order {
	t := h.lodgers[n%len(h.lodgers)]
	o := &order{call: fmt.Sprintf("%s-%d", t.name, n), tenant: t, shape: h.drawShape(), amount: h.random.below(2 * bigOrder)}
	o.once, o.dedupe = "once-"+o.call, "key-"+o.call
	return o
}

// place makes a call until it is acknowledged or the phase is over.
func (h *hostileRound) place(ctx context.Context, c *honestCall) {
	r := request{key: c.tenant.key, method: http.MethodPost, once: c.once}
	body := c.body()
	if r.path = "/triggers/" + c.tenant.triggers[c.shape.name] + "/webhook"; c.shape.event != "" {
		r.path, body["event"] = "/triggers/webhook/by-event", c.shape.event
	}
	for ctx.Err() == nil {
		status, text, err := h.clients.once(ctx, r, body)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			h.found.add(onlyOwnLimits, "call %s, made at %s, was not answered: %v", c.call, c.due.Sub(h.began).Round(time.Millisecond), err)
		case status == http.StatusTooManyRequests:
			c.note(func() { c.ownLimit++ })
		case status != http.StatusOK:
			h.found.add(onlyOwnLimits, "call %s was answered %d: %s", c.call, status, text)
		default:
			h.acknowledge(c, text)
			return
		}
		pause(ctx, 100*time.Millisecond)
	}
}

// acknowledge notes which run a call was answered with.
func (h *hostileRound) acknowledge(c *honestCall, text []byte) {
	var one struct {
		RunID    string
		Triggers []struct{ RunID string }
	}
	ok := answer{body: text}.read(&one)
	if len(one.Triggers) == 1 {
		one.RunID = one.Triggers[0].RunID
	}
	if !ok || one.RunID == "" || len(one.Triggers) > 1 {
		h.found.add(acknowledged, "call %s was answered %s", c.call, text)
		return
	}
	c.acknowledge(one.RunID)
	c.note(func() { c.answered = time.Since(c.due) })
}
