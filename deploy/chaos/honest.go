package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

// honestScenarios are the workflows of honest tenants.
func honestScenarios(calls string) []*scenario {
	all := scenarios(calls)
	return append(all[:3:3], &scenario{
		name: "by event", share: 20, event: "order.made",
		done: all[0].done, nodes: all[0].nodes, edges: all[0].edges,
	})
}

// honestCall is a call that an honest tenant makes.
type honestCall struct {
	*order
	underAttack bool      // the hostile tenant was there
	phase       string    // what it did then
	due         time.Time // when it was to be made
	answered    time.Duration
	ownLimit    int // how often the tenant's own limits refused it
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
func (h *hostileRound) honest(ctx context.Context, length time.Duration, underAttack bool) {
	began := time.Now()
	count := int(length.Seconds() * float64(h.settings.perSecond))
	ctx, stop := context.WithDeadline(ctx, began.Add(length+answerGrace))
	defer stop()
	for i := range count {
		due := began.Add(time.Duration(i) * length / time.Duration(count))
		if wait := time.Until(due); wait > 0 && !harness.Sleep(ctx, wait) {
			break
		}
		made := &honestCall{order: h.newOrder(len(h.calls.list())), underAttack: underAttack, phase: h.guard.currentPhase(), due: due}
		h.calls.add(made)
		h.calls.open.Go(func() { h.submit(ctx, made) })
	}
	harness.Sleep(ctx, time.Until(began.Add(length)))
	h.calls.open.Wait()
}

// answerGrace is how long after the last call one is still waited for.
const answerGrace = 5 * time.Second

// newOrder makes up what an honest tenant wants.
func (h *hostileRound) newOrder(n int) *order {
	t := h.tenants[n%len(h.tenants)]
	o := &order{call: fmt.Sprintf("%s-%d", t.name, n), tenant: t, scenario: h.pickScenario(), amount: h.random.intN(2 * bigOrder)}
	o.idempotencyKey, o.dedupe = "once-"+o.call, "key-"+o.call
	return o
}

// submit makes a call until it is acknowledged or the phase is over.
func (h *hostileRound) submit(ctx context.Context, c *honestCall) {
	body := c.body()
	r := harness.Request{Method: http.MethodPost, Body: body, IdempotencyKey: c.idempotencyKey}
	if r.Path = "/triggers/" + c.tenant.triggers[c.scenario.name] + "/webhook"; c.scenario.event != "" {
		r.Path, body["event"] = "/triggers/webhook/by-event", c.scenario.event
	}
	for ctx.Err() == nil {
		got, err := h.clients.sendTo(ctx, h.gateway, c.tenant.key, r)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			h.found.add(onlyOwnLimits, "call %s, made at %s, was not answered: %v", c.call, c.due.Sub(h.began).Round(time.Millisecond), err)
		case got.Status == http.StatusTooManyRequests:
			c.update(func() { c.ownLimit++ })
		case got.Status != http.StatusOK:
			h.found.add(onlyOwnLimits, "call %s was answered %d: %s", c.call, got.Status, got.Body)
		default:
			h.acknowledge(c, got)
			return
		}
		harness.Sleep(ctx, 100*time.Millisecond)
	}
}

// acknowledge notes which run a call was answered with.
func (h *hostileRound) acknowledge(c *honestCall, got harness.Response) {
	var one struct {
		RunID    string
		Triggers []struct{ RunID string }
	}
	err := got.JSON(&one)
	if len(one.Triggers) == 1 {
		one.RunID = one.Triggers[0].RunID
	}
	if err != nil || one.RunID == "" || len(one.Triggers) > 1 {
		h.found.add(acknowledged, "call %s was answered %s", c.call, got.Body)
		return
	}
	c.acknowledge(one.RunID)
	c.update(func() { c.answered = time.Since(c.due) })
}
