package main

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// load makes every order, spread over the length of the round, and does what their
// runs wait for. It returns when everything was acknowledged.
func (s *stage) load(ctx context.Context) []*order {
	orders := make([]*order, s.runs)
	for i := range orders {
		orders[i] = s.draw(i)
	}
	var open sync.WaitGroup
	began := time.Now()
	for i, o := range orders {
		due := began.Add(s.length * time.Duration(i) / time.Duration(len(orders)))
		if wait := time.Until(due); wait > 0 && !pause(ctx, wait) {
			break
		}
		s.inFlight <- struct{}{}
		open.Go(func() {
			s.place(ctx, o)
			<-s.inFlight
			s.see(ctx, o)
		})
	}
	open.Wait()
	return orders
}

// repeats is how many acknowledged calls of a hundred are made once more.
const repeats = 8

// place makes the call until it is acknowledged. Some are made twice: by two clients at
// the same time, where a dedupe key makes one run of both, or once more afterwards.
func (s *stage) place(ctx context.Context, o *order) {
	r := request{key: o.tenant.key, method: http.MethodPost, path: "/triggers/" + o.tenant.triggers[o.shape.name] + "/webhook", body: o.body(), once: o.once}
	var both sync.WaitGroup
	if o.dedupe != "" && s.random.one(repeats) {
		other := r
		if other.once != "" {
			other.once += "-other"
		}
		both.Go(func() { s.fire(ctx, o, other) })
	}
	s.fire(ctx, o, r)
	if s.random.one(repeats) {
		s.fire(ctx, o, r)
	}
	both.Wait()
}

func (s *stage) fire(ctx context.Context, o *order, r request) {
	got, ok := s.clients.until(ctx, r)
	var fired struct{ DedupeKey, RunID string }
	switch {
	case !ok:
	case got.status != http.StatusOK || !got.read(&fired) || fired.RunID == "":
		s.found.add(onlyExpected, "call %s was answered %d: %s", o.call, got.status, got.body)
	default:
		o.acknowledge(fired.RunID)
		s.accepted.Add(1)
		if o.dedupe != "" && fired.DedupeKey != o.dedupe {
			s.found.add(acknowledged, "call %s with the dedupe key %s was answered with %s", o.call, o.dedupe, fired.DedupeKey)
		}
	}
}

// see does what the run of an order waits for.
func (s *stage) see(ctx context.Context, o *order) {
	if o.run() == "" {
		return
	}
	switch {
	case o.cancel:
		s.cancelSoon(ctx, o)
	case o.shape.awaits == awaitsAnswer:
		s.resume(ctx, o)
	case o.shape.awaits == awaitsEvent:
		s.ingest(ctx, o)
	}
	if o.refuse && o.calls(o.shape.effects[0]) {
		s.retry(ctx, o)
	}
}

// shownRun is what the API shows of a run.
type shownRun struct {
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
func (r shownRun) finished() bool {
	return r.Status == "completed" || r.Status == "failed" || r.Status == "cancelled"
}

// show reads the run of an order.
func (s *stage) show(ctx context.Context, o *order) (r shownRun, ok bool) {
	got, ok := s.clients.until(ctx, request{key: o.tenant.key, method: http.MethodGet, path: "/runs/" + o.run()})
	if !ok {
		return r, false
	}
	if got.status != http.StatusOK || !got.read(&r) || r.ID != o.run() {
		s.found.add(onlyExpected, "reading run %s of call %s: %d %s", o.run(), o.call, got.status, got.body)
		return r, false
	}
	return r, true
}

// become waits until the run of an order is in a state, or has ended. It looks less
// often the longer that takes.
func (s *stage) become(ctx context.Context, o *order, in string) (r shownRun, ok bool) {
	wait := 250 * time.Millisecond
	for began := time.Now(); time.Since(began) < s.settle; {
		if !pause(ctx, wait) {
			return r, false
		}
		if r, ok = s.show(ctx, o); !ok || r.Status == in || r.finished() {
			return r, ok
		}
		wait = min(wait*3/2, 4*time.Second)
	}
	s.found.add(everyRunEnds, "run %s of call %s (%s) is %s and not %s after %s", o.run(), o.call, o.shape.name, r.Status, in, s.settle)
	return r, false
}

// resume brings the answer that the run waits for.
func (s *stage) resume(ctx context.Context, o *order) {
	r, ok := s.become(ctx, o, "paused")
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
		s.found.add(everyRunEnds, "run %s of call %s is %s and shows no resume token", r.ID, o.call, r.Status)
		return
	}
	got, ok := s.clients.until(ctx, request{
		key: o.tenant.key, method: http.MethodPost, path: "/triggers/resume", once: "resume-" + o.call,
		body: map[string]any{"runId": r.ID, "resumeToken": token, "input": "yes, " + o.call},
	})
	if ok && got.status != http.StatusNoContent {
		s.found.add(onlyExpected, "resuming call %s, sent %d times, was answered %d: %s", o.call, got.tries, got.status, got.body)
		return
	}
	o.note(func() { o.moved = ok })
}

// ingest brings the event that the run waits for.
func (s *stage) ingest(ctx context.Context, o *order) {
	if _, ok := s.become(ctx, o, "paused"); !ok {
		return
	}
	got, ok := s.clients.until(ctx, request{
		key: o.tenant.key, method: http.MethodPost, path: "/triggers/ingest", once: "ingest-" + o.call,
		body: map[string]any{"event": paidEvent, "entityId": o.entity, "eventData": map[string]any{"paid": o.amount}},
	})
	if !ok {
		return
	}
	var told struct {
		Resumed   []struct{ RunID, EntityID string }
		Triggered []any
	}
	if got.status != http.StatusOK || !got.read(&told) || len(told.Triggered) > 0 ||
		len(told.Resumed) != 1 || told.Resumed[0].RunID != o.run() || told.Resumed[0].EntityID != o.entity {
		s.found.add(onlyExpected, "the event for call %s, sent %d times, was answered %d: %s", o.call, got.tries, got.status, got.body)
		return
	}
	o.note(func() { o.moved = true })
}

// cancelSoon cancels the run of an order at some time.
func (s *stage) cancelSoon(ctx context.Context, o *order) {
	if o.shape.awaits == awaitsAnswer {
		if _, ok := s.become(ctx, o, "paused"); !ok {
			return
		}
	} else if !pause(ctx, s.random.between(0, time.Second)) {
		return
	}
	got, ok := s.clients.until(ctx, request{
		key: o.tenant.key, method: http.MethodPost, path: "/runs/" + o.run() + "/cancel", once: "cancel-" + o.call,
		body: map[string]any{"reason": "The customer changed their mind."},
	})
	switch {
	case !ok:
	case got.status == http.StatusOK:
		o.note(func() { o.cancelled = true })
	case got.status == http.StatusConflict && got.code() == "run_finished":
		o.note(func() { o.tooLate = true })
	default:
		s.found.add(onlyExpected, "cancelling call %s, sent %d times, was answered %d: %s", o.call, got.tries, got.status, got.body)
	}
}

// retry waits until the run has failed because the receiver refused it, and continues
// it.
func (s *stage) retry(ctx context.Context, o *order) {
	r, ok := s.become(ctx, o, "failed")
	if !ok {
		return
	}
	if r.Status != "failed" {
		s.found.add(everyRunEnds, "run %s of call %s was refused by the receiver and is %s", r.ID, o.call, r.Status)
		return
	}
	s.receiver.accept(o.call)
	got, ok := s.clients.until(ctx, request{key: o.tenant.key, method: http.MethodPost, path: "/runs/" + r.ID + "/retry", once: "retry-" + o.call})
	if ok && got.status != http.StatusOK {
		s.found.add(onlyExpected, "retrying call %s, sent %d times, was answered %d: %s", o.call, got.tries, got.status, got.body)
		return
	}
	o.note(func() { o.retried = ok })
}
