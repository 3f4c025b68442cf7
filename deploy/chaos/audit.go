package main

import (
	"fmt"
	"slices"
	"strings"
)

// audit compares everything with everything.
func (ev *evidence) audit(found *findings) {
	ev.auditOrders(found)
	ev.auditRuns(found)
	ev.auditFamilies(found)
	ev.auditEffects(found)
	ev.auditRepeats(found)
	ev.auditLanes(found)
	ev.auditSchedules(found)
	ev.auditEvents(found)
	ev.auditLists(found)
	ev.auditEngine(found)
}

// auditOrders compares what clients were answered with the runs.
func (ev *evidence) auditOrders(found *findings) {
	byCall := make(map[string][]*storedRun)
	byKey := make(map[[2]string]string)
	for _, r := range ev.runs {
		if r.call != "" && r.parent == "" { // the run of an item has the payload, too
			byCall[r.call] = append(byCall[r.call], r)
		}
		if r.dedupe == "" || r.cause != "webhook" {
			continue
		}
		key := [2]string{r.trigger, r.dedupe}
		if first, twice := byKey[key]; twice {
			found.add(dedupeHolds, "the dedupe key %s started %s and %s", r.dedupe, first, r.id)
		}
		byKey[key] = r.id
	}
	known := make(map[string]*order, len(ev.orders))
	for _, o := range ev.orders {
		known[o.call] = o
	}
	for _, o := range ev.orders {
		runs := byCall[o.call]
		if ev.auditSkipped(found, o, runs, known) {
			continue
		}
		if len(o.runs) == 0 {
			found.add(acknowledged, "call %s was never acknowledged; it has %d runs", o.call, len(runs))
			continue
		}
		for _, id := range o.runs {
			found.check(id == o.runs[0], acknowledged, "call %s was answered with %s and with %s", o.call, o.runs[0], id)
		}
		if len(runs) != 1 || runs[0].id != o.runs[0] {
			found.add(acknowledged, "call %s was answered with %s and has %d runs: %v", o.call, o.runs[0], len(runs), ids(runs))
			continue
		}
		r := runs[0]
		found.check(r.tenant == o.tenant.id && r.trigger == o.tenant.triggers[o.scenario.name], tenantsIsolated,
			"call %s of %s is run %s of %s", o.call, o.tenant.id, r.id, r.tenant)
		found.check(o.entity == "" || r.entity == o.entity, acknowledged, "call %s is about %s and its run about %s", o.call, o.entity, r.entity)
		found.check(o.dedupe == "" || r.dedupe == o.dedupe, acknowledged, "call %s has the dedupe key %s and its run %s", o.call, o.dedupe, r.dedupe)
		ev.auditEnd(found, o, r)
	}
	for call := range byCall {
		found.check(known[call] != nil, acknowledged, "there is a run of call %s, which nobody made", call)
	}
}

func ids(runs []*storedRun) (all []string) {
	for _, r := range runs {
		all = append(all, r.id)
	}
	return all
}

// auditEnd checks that a run ended as what was done with it asks for.
func (ev *evidence) auditEnd(found *findings, o *order, r *storedRun) {
	if o.cancelled {
		found.check(r.status == "cancelled", cancelStays, "run %s of call %s was cancelled and is %s", r.id, o.call, r.status)
		return
	}
	if r.status == "cancelled" && ev.superseded(o) {
		return
	}
	if !found.checked(r.status == "completed", everyRunEnds, "run %s of call %s (%s) is %s: %s", r.id, o.call, o.scenario.name, r.status, r.end()) {
		return
	}
	ev.auditDone(found, r, o.scenario.done(o.amount))
	found.check(o.scenario.awaits == "" || o.resumed, everyRunEnds, "run %s of call %s completed, and nobody brought it the %s", r.id, o.call, o.scenario.awaits)
	wanted := 0
	if o.retried {
		wanted = 1
	}
	retries := r.count("run.retried", "")
	found.check(retries == wanted, everyRunEnds, "run %s of call %s was retried %d times, and says %d", r.id, o.call, wanted, retries)
}

// auditDone checks that the nodes of a completed run completed that should.
func (ev *evidence) auditDone(found *findings, r *storedRun, nodes []string) {
	var done []string
	for _, e := range r.history {
		if e.Type == "node.completed" {
			done = append(done, e.Node)
		}
	}
	slices.Sort(done)
	want := slices.Sorted(slices.Values(nodes))
	found.check(slices.Equal(done, want), recordedOnce, "run %s completed %v and not %v", r.id, done, want)
}

// auditRuns compares every run with its own history.
func (ev *evidence) auditRuns(found *findings) {
	for _, r := range ev.runs {
		finished := r.status == "completed" || r.status == "failed" || r.status == "cancelled"
		found.check(finished && r.finished, everyRunEnds, "run %s of %s is %s, leased to %q: %t", r.id, r.tenant, r.status, r.worker, r.leased)
		found.check(!finished || !r.leased, everyRunEnds, "run %s is %s and still leased to %q", r.id, r.status, r.worker)
		if finished {
			found.check(r.last() == "run."+r.status, historyWhole, "run %s is %s and its history ends with %s", r.id, r.status, r.last())
		}
		begins := r.count("run.started", "")
		found.check(begins == 1 || begins == 0 && r.status == "cancelled", historyWhole, "run %s is %s and began %d times", r.id, r.status, begins)
		found.check(int64(len(r.history)) == r.seq, historyWhole, "run %s counts %d entries and has %d", r.id, r.seq, len(r.history))
		type attempt struct {
			node   string
			number int
		}
		begun, completed := make(map[attempt]int), make(map[string]int)
		for i, e := range r.history {
			found.check(e.Seq == int64(i+1), historyWhole, "entry %d of run %s bears the number %d", i+1, r.id, e.Seq)
			switch e.Type {
			case "node.started":
				begun[attempt{e.Node, e.Attempt}]++
			case "node.completed":
				completed[e.Node]++
			}
		}
		for node, n := range completed {
			found.check(n == 1, recordedOnce, "node %s of run %s completed %d times", node, r.id, n)
		}
		for a, n := range begun {
			found.check(n == 1, historyWhole, "attempt %d at node %s of run %s began %d times", a.number, a.node, r.id, n)
		}
	}
}

// auditFamilies compares runs with those that they started: each call and each item that a node
// completed has one run, which completed, and those that nobody waits for any more have ended as well, as
// auditRuns checks of all.
func (ev *evidence) auditFamilies(found *findings) {
	completed := make(map[string][]*storedRun)
	for _, r := range ev.runs {
		if r.parent == "" {
			continue
		}
		parent := ev.runs[r.parent]
		if !found.checked(parent != nil && parent.tenant == r.tenant, tenantsIsolated, "run %s of %s was started by %s of %s", r.id, r.tenant, r.parent, parent.owner()) {
			continue
		}
		if r.status == "completed" {
			completed[r.parent] = append(completed[r.parent], r)
		}
		found.check(r.status == "completed" || parent.status != "completed", everyRunEnds, "run %s is %s, and %s, which waited for it, completed", r.id, r.status, r.parent)
	}
	for _, o := range ev.orders {
		r := ev.runs[o.run()]
		if r == nil || r.status != "completed" {
			continue
		}
		started := completed[r.id]
		if o.scenario.callee != nil {
			found.check(len(started) == 1, recordedOnce, "run %s called one workflow, and %d runs of it completed", r.id, len(started))
		}
		if o.scenario.items > 0 {
			found.check(len(started) == o.scenario.items, recordedOnce, "run %s has %d items, and %d runs of them completed", r.id, o.scenario.items, len(started))
			for _, item := range started {
				ev.auditDone(found, item, o.scenario.body)
			}
		}
	}
}

// checked is check, and says whether it was so.
func (f *findings) checked(ok bool, p promise, format string, args ...any) bool {
	f.check(ok, p, format, args...)
	return ok
}

// count says how many entries of a type the history has, of a node or, without one, at all.
func (r *storedRun) count(kind, node string) (n int) {
	for _, e := range r.history {
		if e.Type == kind && (node == "" || e.Node == node) {
			n++
		}
	}
	return n
}

// end is the last entry with its error, and the errors of attempts before it.
func (r *storedRun) end() string {
	said := []string{r.last()}
	for _, e := range r.history {
		if e.Code != "" || e.Message != "" {
			said = append(said, fmt.Sprintf("%s %s: %s %s", e.Type, e.Node, e.Code, e.Message))
		}
	}
	return strings.Join(said, "; ")
}

// last is the type of the last entry.
func (r *storedRun) last() string {
	if len(r.history) == 0 {
		return "nothing"
	}
	e := r.history[len(r.history)-1]
	return e.Type
}
