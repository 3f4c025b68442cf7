package main

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

// load makes every order, spread over the length of the round, and does what their
// runs wait for. It returns when everything was acknowledged.
func (e *env) load(ctx context.Context) []*order {
	orders := make([]*order, e.runs)
	for i := range orders {
		orders[i] = e.newOrder(i)
	}
	var open sync.WaitGroup
	began := time.Now()
	for i, o := range orders {
		due := began.Add(e.length * time.Duration(i) / time.Duration(len(orders)))
		if wait := time.Until(due); wait > 0 && !harness.Sleep(ctx, wait) {
			break
		}
		e.inFlight <- struct{}{}
		open.Go(func() {
			e.submit(ctx, o)
			<-e.inFlight
			e.followUp(ctx, o)
		})
	}
	open.Wait()
	return orders
}

// repeatPercent is how many acknowledged calls of a hundred are made once more.
const repeatPercent = 8

// submit makes the call until it is acknowledged. Some are made twice: by two clients at
// the same time, where a dedupe key makes one run of both, or once more afterwards.
func (e *env) submit(ctx context.Context, o *order) {
	r := harness.Request{Method: http.MethodPost, Path: "/triggers/" + o.tenant.triggers[o.scenario.name] + "/webhook", Body: o.body(), IdempotencyKey: o.idempotencyKey}
	var both sync.WaitGroup
	if o.dedupe != "" && e.random.chance(repeatPercent) {
		other := r
		if other.IdempotencyKey != "" {
			other.IdempotencyKey += "-other"
		}
		both.Go(func() { e.startRun(ctx, o, other) })
	}
	e.startRun(ctx, o, r)
	if e.random.chance(repeatPercent) {
		e.startRun(ctx, o, r)
	}
	both.Wait()
}

func (e *env) startRun(ctx context.Context, o *order, r harness.Request) {
	got, ok := e.clients.do(ctx, o.tenant.key, r)
	var fired struct{ DedupeKey, RunID, Skipped string }
	switch {
	case !ok:
	case got.Status != http.StatusOK || got.JSON(&fired) != nil || fired.RunID == "":
		e.found.add(onlyExpected, "call %s was answered %d: %s", o.call, got.Status, got.Body)
	case fired.Skipped != "":
		o.skip(fired.RunID)
		e.accepted.Add(1)
	default:
		o.acknowledge(fired.RunID)
		e.accepted.Add(1)
		if o.dedupe != "" && fired.DedupeKey != o.dedupe {
			e.found.add(acknowledged, "call %s with the dedupe key %s was answered with %s", o.call, o.dedupe, fired.DedupeKey)
		}
	}
}

// followUp does what the run of an order waits for.
func (e *env) followUp(ctx context.Context, o *order) {
	if o.run() == "" {
		return
	}
	switch {
	case o.cancel:
		e.cancelSoon(ctx, o)
	case o.scenario.awaits == awaitsAnswer:
		e.resume(ctx, o)
	case o.scenario.awaits == awaitsEvent:
		e.ingest(ctx, o)
	}
	if o.refuse && o.calls(o.scenario.effects[0]) {
		e.retry(ctx, o)
	}
}

// apiRun is what the API shows of a run.
type apiRun struct {
	ID       string
	TenantID string
	Status   string
	EntityID string
	Nodes    []struct {
		NodeID, Status string
		Waiting        *struct{ ResumeToken string }
	}
}

// finished says whether the run has ended.
func (r apiRun) finished() bool {
	return r.Status == "completed" || r.Status == "failed" || r.Status == "cancelled"
}

// getRun reads the run of an order.
func (e *env) getRun(ctx context.Context, o *order) (r apiRun, ok bool) {
	if err := e.get(o.tenant)(ctx, "/runs/"+o.run(), &r); err != nil || r.ID != o.run() {
		if ctx.Err() == nil {
			e.found.add(onlyExpected, "reading run %s of call %s: run %q, %v", o.run(), o.call, r.ID, err)
		}
		return r, false
	}
	return r, true
}

// awaitStatus waits until the run of an order has a status, or has ended. It polls less
// often the longer that takes. While the load goes on runs may wait for as long as it does.
func (e *env) awaitStatus(ctx context.Context, o *order, status string) (r apiRun, ok bool) {
	wait := 250 * time.Millisecond
	for began := time.Now(); time.Since(began) < e.settle || time.Since(e.began) < e.length+e.settle; {
		if !harness.Sleep(ctx, wait) {
			return r, false
		}
		if r, ok = e.getRun(ctx, o); !ok || r.Status == status || r.finished() {
			return r, ok
		}
		wait = min(wait*3/2, 4*time.Second)
	}
	e.found.add(everyRunEnds, "run %s of call %s (%s) is %s and not %s %s after the load", o.run(), o.call, o.scenario.name, r.Status, status, e.settle)
	return r, false
}

// resume brings the answer that the run waits for.
func (e *env) resume(ctx context.Context, o *order) {
	r, ok := e.awaitStatus(ctx, o, "paused")
	if !ok {
		return
	}
	token := ""
	for _, n := range r.Nodes {
		if n.Waiting != nil {
			token = n.Waiting.ResumeToken
		}
	}
	if token == "" {
		e.found.add(everyRunEnds, "run %s of call %s is %s and shows no resume token", r.ID, o.call, r.Status)
		return
	}
	got, ok := e.clients.do(ctx, o.tenant.key, harness.Request{Method: http.MethodPost, Path: "/triggers/resume", IdempotencyKey: "resume-" + o.call,
		Body: map[string]any{"runId": r.ID, "resumeToken": token, "input": "yes, " + o.call},
	})
	if ok && got.Status != http.StatusNoContent {
		e.found.add(onlyExpected, "resuming call %s, sent %d times, was answered %d: %s", o.call, got.tries, got.Status, got.Body)
		return
	}
	o.update(func() { o.resumed = ok })
}

// ingest brings the event that the run waits for.
func (e *env) ingest(ctx context.Context, o *order) {
	if _, ok := e.awaitStatus(ctx, o, "paused"); !ok {
		return
	}
	got, ok := e.clients.do(ctx, o.tenant.key, harness.Request{Method: http.MethodPost, Path: "/triggers/ingest", IdempotencyKey: "ingest-" + o.call,
		Body: map[string]any{"event": paidEvent, "entityId": o.entity, "eventData": map[string]any{"paid": o.amount}},
	})
	if !ok {
		return
	}
	var ingested struct {
		Resumed   []struct{ RunID, EntityID string }
		Triggered []any
	}
	if got.Status != http.StatusOK || got.JSON(&ingested) != nil || len(ingested.Triggered) > 0 ||
		len(ingested.Resumed) != 1 || ingested.Resumed[0].RunID != o.run() || ingested.Resumed[0].EntityID != o.entity {
		e.found.add(onlyExpected, "the event for call %s, sent %d times, was answered %d: %s", o.call, got.tries, got.Status, got.Body)
		return
	}
	o.update(func() { o.resumed = true })
}

// cancelSoon cancels the run of an order at some time.
func (e *env) cancelSoon(ctx context.Context, o *order) {
	if o.scenario.awaits == awaitsAnswer {
		if _, ok := e.awaitStatus(ctx, o, "paused"); !ok {
			return
		}
	} else if !harness.Sleep(ctx, e.random.duration(0, time.Second)) {
		return
	}
	got, ok := e.clients.do(ctx, o.tenant.key, harness.Request{Method: http.MethodPost, Path: "/runs/" + o.run() + "/cancel", IdempotencyKey: "cancel-" + o.call,
		Body: map[string]any{"reason": "The customer changed their mind."},
	})
	switch {
	case !ok:
	case got.Status == http.StatusOK:
		o.update(func() { o.cancelled = true })
	case got.Status == http.StatusConflict && got.Code() == "run_finished":
	default:
		e.found.add(onlyExpected, "cancelling call %s, sent %d times, was answered %d: %s", o.call, got.tries, got.Status, got.Body)
	}
}

// retry waits until the run has failed because the receiver refused it, and continues
// it.
func (e *env) retry(ctx context.Context, o *order) {
	r, ok := e.awaitStatus(ctx, o, "failed")
	if !ok {
		return
	}
	if r.Status != "failed" {
		e.found.add(everyRunEnds, "run %s of call %s was refused by the receiver and is %s", r.ID, o.call, r.Status)
		return
	}
	e.receiver.accept(o.call)
	got, ok := e.clients.do(ctx, o.tenant.key, harness.Request{Method: http.MethodPost, Path: "/runs/" + r.ID + "/retry", IdempotencyKey: "retry-" + o.call})
	if ok && got.Status != http.StatusOK {
		e.found.add(onlyExpected, "retrying call %s, sent %d times, was answered %d: %s", o.call, got.tries, got.Status, got.Body)
		return
	}
	o.update(func() { o.retried = ok })
}
