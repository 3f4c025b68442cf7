package main

import (
	"slices"
	"strings"
	"time"
)

// auditEffects compares the calls of the receiver with the runs.
func (ev *evidence) auditEffects(found *findings) {
	for key, e := range ev.effects {
		r := ev.runs[e.run]
		if r == nil {
			found.add(sameKey, "the receiver was called for run %s, which is not there", e.run)
			continue
		}
		found.check(r.tenant == e.tenant, tenantsIsolated, "run %s of %s called as %s", r.id, r.tenant, e.tenant)
		found.check(r.count("node.started", e.node) > 0, historyWhole, "node %s of run %s called, and nothing is recorded of it", e.node, r.id)
		found.check(strings.HasPrefix(key, r.id+":"), sameKey, "node %s of run %s bears the key %s", e.node, r.id, key)
	}
	calling := make(map[string]bool)
	for _, sc := range ev.scenarios {
		for _, node := range sc.effects {
			calling[node] = true
		}
	}
	for _, r := range ev.runs {
		for _, e := range r.history {
			if e.Type == "node.completed" && calling[e.Node] {
				found.check(ev.effects[r.id+":"+e.Node].times > 0, effectHappens, "node %s of run %s completed without its effect", e.Node, r.id)
			}
		}
	}
}

// auditSchedules compares the ledger of schedules with the clock and the runs. The
// schedules are due every minute, and nothing is to be left out.
func (ev *evidence) auditSchedules(found *findings) {
	instants := make(map[string][]storedFire)
	started := make(map[string]string)
	for _, f := range ev.fires {
		instants[f.tenant] = append(instants[f.tenant], f)
		if first, twice := started[f.run]; twice {
			found.add(instantOnce, "run %s was started by %s and by %s", f.run, first, f.at)
		}
		started[f.run] = f.at.Format(time.RFC3339)
		r := ev.runs[f.run]
		switch {
		case f.outcome != "fired" && f.outcome != "late" && f.outcome != "caught_up":
			found.add(instantOnce, "%s of %s was %s: %s", f.at, f.trigger, f.outcome, f.reason)
		case r == nil:
			found.add(instantOnce, "%s of %s started run %q, which is not there", f.at, f.trigger, f.run)
		default:
			found.check(r.tenant == f.tenant && r.trigger == f.trigger && r.cause == "schedule" &&
				strings.Contains(r.payload, `"`+f.at.Format("2006-01-02T15:04:05.000Z")+`"`), instantOnce,
				"%s of %s started run %s of %s, cause %s, with %s", f.at, f.trigger, r.id, r.trigger, r.cause, r.payload)
			if found.checked(r.status == "completed", everyRunEnds, "run %s of the schedule of %s is %s", r.id, r.tenant, r.status) {
				ev.auditDone(found, r, []string{"tick"})
			}
		}
	}
	for _, r := range ev.runs {
		found.check(r.cause != "schedule" || started[r.id] != "", instantOnce, "run %s of a schedule is not in the ledger", r.id)
	}
	for _, t := range ev.tenants {
		fires := instants[t.id]
		since := ev.since[t.id]
		if len(fires) == 0 {
			found.check(since.After(ev.until), instantOnce, "the ledger of %s is empty, and should hold %s to %s", t.name, since, ev.until)
			continue
		}
		first, last := fires[0].at, fires[len(fires)-1].at
		found.check(!first.After(since) && !last.Before(ev.until), instantOnce, "the ledger of %s goes from %s to %s, not from %s to %s", t.name, first, last, since, ev.until)
		for i, f := range fires {
			want := first.Add(time.Duration(i) * time.Minute)
			if !found.checked(f.at.Equal(want), instantOnce, "the ledger of %s holds %s where %s was due", t.name, f.at, want) {
				break
			}
		}
	}
}

// auditEvents compares the events with the ends of runs.
func (ev *evidence) auditEvents(found *findings) {
	type end struct{ run, kind string }
	recorded := make(map[end]int)
	names := make(map[string]string)
	for _, t := range ev.tenants {
		names[t.id] = t.name
	}
	for _, e := range ev.events {
		recorded[end{e.run, e.kind}]++
		r := ev.runs[e.run]
		if r == nil || r.tenant != e.tenant {
			found.add(eventsDelivered, "the event %s of %s is about run %s, which is not there", e.id, e.tenant, e.run)
			continue
		}
		h := ev.delivered[e.id]
		found.check(h.times > 0, eventsDelivered, "the event %s, %s of run %s, was never delivered", e.id, e.kind, e.run)
		found.check(h.times == 0 || h.path == names[e.tenant], tenantsIsolated, "the event %s of %s was delivered to %s", e.id, names[e.tenant], h.path)
		found.check(h.times == 0 || h.run == e.run && h.kind == e.kind, eventsDelivered, "the event %s was delivered as %s of %s", e.id, h.kind, h.run)
	}
	ends := make(map[end]int)
	for _, r := range ev.runs {
		for _, kind := range []string{"run.completed", "run.failed", "run.cancelled"} {
			ends[end{r.id, kind}] = r.count(kind, "")
		}
	}
	for e, n := range ends {
		found.check(recorded[e] == n, eventsDelivered, "run %s has %d entries %s and %d events", e.run, n, e.kind, recorded[e])
	}
	kept := make(map[string]bool, len(ev.events))
	for _, e := range ev.events {
		kept[e.id] = true
	}
	for id, h := range ev.delivered {
		found.check(kept[id], eventsDelivered, "the event %s, %s of run %s, was delivered and is not in the database", id, h.kind, h.run)
	}
}

// auditLists compares what the API shows with the database.
func (ev *evidence) auditLists(found *findings) {
	want := make(map[string][]string)
	completed := make(map[string]int)
	for _, r := range ev.runs {
		want[r.tenant] = append(want[r.tenant], r.id)
		if r.status == "completed" {
			completed[r.tenant]++
		}
	}
	for _, t := range ev.tenants {
		got := ev.listed[t.id]
		found.check(got.total == len(want[t.id]), totalsAgree, "%s has %d runs, and the total is %d", t.name, len(want[t.id]), got.total)
		found.check(got.completed == completed[t.id], totalsAgree, "%s has %d completed runs, and the total is %d", t.name, completed[t.id], got.completed)
		slices.Sort(want[t.id])
		listed := slices.Sorted(slices.Values(got.ids))
		found.check(slices.Equal(listed, want[t.id]), totalsAgree, "%s has %d runs, and other %d are listed", t.name, len(want[t.id]), len(listed))
		for _, id := range listed {
			r := ev.runs[id]
			found.check(r == nil || r.tenant == t.id, tenantsIsolated, "%s is shown run %s of %s", t.name, id, r.owner())
		}
	}
	for id, shown := range ev.shown {
		r := ev.runs[id]
		if r == nil {
			continue // auditOrders says so
		}
		found.check(shown.Status == r.status && shown.EntityID == r.entity, totalsAgree, "run %s is %s about %s, and is shown as %s about %s",
			id, r.status, r.entity, shown.Status, shown.EntityID)
		for _, n := range shown.Nodes {
			done := r.count("node.completed", n.NodeID) == 1
			found.check(done == (n.Status == "completed"), totalsAgree, "node %s of run %s is shown as %s", n.NodeID, id, n.Status)
		}
	}
}

// owner is whose the run is.
func (r *storedRun) owner() string {
	if r == nil {
		return "nobody"
	}
	return r.tenant
}
