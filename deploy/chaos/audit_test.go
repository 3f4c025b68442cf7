package main

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// sound is the evidence of a small round in which nothing was lost: a charged order of
// each of two tenants, one that was cancelled, one that was retried, and a schedule.
func sound() *evidence {
	ev := &evidence{
		scenarios: scenarios("http://receiver"), runs: make(map[string]*storedRun), effects: make(map[string]effect), delivered: make(map[string]deliveredEvent),
		shown: make(map[string]apiRun), listed: make(map[string]listing), since: make(map[string]time.Time), until: noon.Add(2 * time.Minute),
		disturbed: []span{{noon.Add(time.Second), noon.Add(time.Second)}},
	}
	for i := range 2 {
		t := &tenant{name: fmt.Sprintf("t%d", i), id: fmt.Sprintf("tenant_%d", i), triggers: make(map[string]string)}
		for _, sc := range ev.scenarios {
			t.triggers[sc.name] = fmt.Sprintf("trg_%d_%s", i, sc.name)
		}
		ev.tenants = append(ev.tenants, t)
		ev.since[t.id] = noon
		ev.order(t, 1, "completed")
		ev.scheduled(t)
	}
	ev.order(ev.tenants[0], 2, "cancelled").cancelled = true
	ev.order(ev.tenants[0], 3, "retried").retried = true
	for _, t := range ev.tenants {
		var l listing
		for _, r := range ev.runs {
			if r.tenant == t.id {
				l.ids = append(l.ids, r.id)
				l.total++
				if r.status == "completed" {
					l.completed++
				}
			}
		}
		ev.listed[t.id] = l
	}
	return ev
}

// order adds one that was charged, with its run, effect and events.
func (ev *evidence) order(t *tenant, n int, how string) *order {
	o := &order{call: fmt.Sprintf("%s-%d", t.name, n), tenant: t, scenario: ev.scenarios[1], amount: 2 * bigOrder, dedupe: "key"}
	id := fmt.Sprintf("run_%s_%d", t.name, n)
	o.dedupe += id
	o.runs = []string{id}
	r := &storedRun{
		id: id, tenant: t.id, trigger: t.triggers[o.scenario.name], entity: "e", dedupe: o.dedupe, cause: "webhook", call: o.call, status: "completed", finished: true,
	}
	steps := []entry{{Type: "run.started"}, {Type: "node.completed", Node: "big"}, {Type: "node.started", Node: "charge", Attempt: 1}}
	switch how {
	case "cancelled":
		r.status = "cancelled"
		steps = append(steps, entry{Type: "run.cancelled"})
	case "retried":
		steps = append(steps, entry{Type: "node.failed", Node: "charge", Attempt: 1}, entry{Type: "run.failed", Node: "charge"}, entry{Type: "run.retried"},
			entry{Type: "node.started", Node: "charge", Attempt: 2})
		fallthrough
	default:
		steps = append(steps, entry{Type: "node.completed", Node: "charge"}, entry{Type: "node.completed", Node: "join"}, entry{Type: "run.completed"})
	}
	ev.keep(t, r, steps)
	ev.effects[id+":charge"] = effect{
		callSource: callSource{t.id, id, "charge"}, calls: []time.Time{noon, noon.Add(time.Millisecond)}, times: 2, lostAnswers: 1, failures: map[string]int{closedAfter: 1},
	}
	r.entity = "e"
	shown := apiRun{ID: id, Status: r.status, EntityID: "e"}
	ev.shown[id] = shown
	ev.orders = append(ev.orders, o)
	return o
}

// scheduled adds three minutes of a schedule.
func (ev *evidence) scheduled(t *tenant) {
	for i := range 3 {
		at := noon.Add(time.Duration(i) * time.Minute)
		id := fmt.Sprintf("run_%s_at_%d", t.name, i)
		ev.fires = append(ev.fires, storedFire{tenant: t.id, trigger: t.triggers["schedule"], outcome: "caught_up", run: id, at: at})
		ev.keep(t, &storedRun{
			id: id, tenant: t.id, trigger: t.triggers["schedule"], cause: "schedule", status: "completed", finished: true,
			payload: fmt.Sprintf(`{"scheduledAt":"%s"}`, at.Format("2006-01-02T15:04:05.000Z")),
		}, []entry{{Type: "run.started"}, {Type: "node.started", Node: "tick", Attempt: 1}, {Type: "node.completed", Node: "tick"}, {Type: "run.completed"}})
		ev.effects[id+":tick"] = effect{callSource: callSource{t.id, id, "tick"}, calls: []time.Time{noon, noon.Add(2 * time.Second)}, times: 2}
	}
}

// keep adds a run with its history, and the events of its ends.
func (ev *evidence) keep(t *tenant, r *storedRun, steps []entry) {
	for i, e := range steps {
		e.Seq = int64(i + 1)
		r.history = append(r.history, e)
		if e.Type == "run.completed" || e.Type == "run.failed" || e.Type == "run.cancelled" {
			id := fmt.Sprintf("evt_%s_%d", r.id, i)
			ev.events = append(ev.events, storedEvent{tenant: t.id, id: id, kind: e.Type, run: r.id})
			ev.delivered[id] = deliveredEvent{e.Type, r.id, t.name, 1}
		}
	}
	r.seq = int64(len(steps))
	ev.runs[r.id] = r
}

// inLine bounds the runs of all orders.
func (ev *evidence) inLine(overflow string) {
	bounded := *ev.orders[0].scenario
	bounded.overflow = overflow
	for _, o := range ev.orders {
		o.scenario = &bounded
	}
}

// numbered numbers the entries of a run again.
func numbered(r *storedRun) {
	for i := range r.history {
		r.history[i].Seq = int64(i + 1)
	}
	r.seq = int64(len(r.history))
}

func TestARoundInWhichNothingIsLostKeepsEveryPromise(t *testing.T) {
	found := newFindings()
	sound().audit(found)
	if err := found.err(); err != nil {
		t.Error(err)
	}
}

// charged is a run of a sound round that had an effect.
const charged = "run_t0_1"

// auditFault changes a sound round so that it breaks a promise.
type auditFault struct {
	plant func(*evidence)
	want  promise
}

func faultsOfCalls() map[string]auditFault {
	return map[string]auditFault{
		"a run that is not there":                {func(ev *evidence) { delete(ev.runs, charged) }, acknowledged},
		"a call that has two runs":               {func(ev *evidence) { ev.runs["run_t0_2"].call = "t0-1" }, acknowledged},
		"a call that was answered with two runs": {func(ev *evidence) { ev.orders[0].runs = append(ev.orders[0].runs, "run_t0_3") }, acknowledged},
		"a call that was never acknowledged":     {func(ev *evidence) { ev.orders[0].runs = nil }, acknowledged},
		"a run that nobody wanted":               {func(ev *evidence) { ev.orders = ev.orders[1:] }, acknowledged},
		"a dedupe key that started two runs": {func(ev *evidence) {
			ev.runs["run_t0_2"].dedupe = ev.runs[charged].dedupe
		}, dedupeHolds},
		"a run that began while another one of its line was live": {func(ev *evidence) {
			ev.inLine(overflowQueue)
			ev.runs[charged].history[5].At, ev.runs["run_t0_3"].history[0].At = 1000, 1
		}, oneOfALine},
		"a call that was skipped and has a run": {func(ev *evidence) {
			ev.inLine(overflowSkip)
			ev.orders[0].skipped = []string{"run_t0_3"}
		}, acknowledged},
		"a call that was skipped for another line": {func(ev *evidence) {
			ev.inLine(overflowSkip)
			ev.orders[0].skipped, ev.orders[0].runs, ev.orders[0].line = []string{"run_t0_3"}, nil, 1
			delete(ev.runs, charged)
		}, oneOfALine},
		"a run about something else":     {func(ev *evidence) { ev.orders[0].entity = "other" }, acknowledged},
		"a run under another dedupe key": {func(ev *evidence) { ev.runs[charged].dedupe = "other" }, acknowledged},
		"a run with another engine":      {func(ev *evidence) { ev.runs[charged].engine = engineTemporal }, rightEngine},
	}
}

func faultsOfRuns() map[string]auditFault {
	return map[string]auditFault{
		"a run that goes on for ever": {func(ev *evidence) { r := ev.runs[charged]; r.status, r.finished, r.leased = "running", false, true }, everyRunEnds},
		"a run that did not wait": {func(ev *evidence) {
			waiting := *ev.orders[0].scenario
			waiting.awaits = awaitsAnswer
			ev.orders[0].scenario = &waiting
		}, everyRunEnds},
		"a lease that outlived its run":      {func(ev *evidence) { ev.runs[charged].leased = true }, everyRunEnds},
		"a run that failed":                  {func(ev *evidence) { ev.runs[charged].status = "failed" }, everyRunEnds},
		"a cancelled run that went on":       {func(ev *evidence) { ev.runs["run_t0_2"].status = "completed" }, cancelStays},
		"a retry that happened twice":        {func(ev *evidence) { r := ev.runs["run_t0_3"]; r.history[3] = entry{Seq: 4, Type: "run.retried"} }, everyRunEnds},
		"a retry that nobody asked for":      {func(ev *evidence) { ev.orders[3].retried = false }, everyRunEnds},
		"a gap in a history":                 {func(ev *evidence) { r := ev.runs[charged]; r.history = slices.Delete(r.history, 2, 3) }, historyWhole},
		"an entry too few":                   {func(ev *evidence) { ev.runs[charged].seq++ }, historyWhole},
		"a run that did not begin":           {func(ev *evidence) { ev.runs[charged].history[0].Type = "node.skipped" }, historyWhole},
		"a run that began twice":             {func(ev *evidence) { ev.runs[charged].history[1] = entry{Seq: 2, Type: "run.started"} }, historyWhole},
		"an attempt that began twice":        {func(ev *evidence) { ev.runs["run_t0_3"].history[6].Attempt = 1 }, historyWhole},
		"a status that is not the history's": {func(ev *evidence) { r := ev.runs[charged]; r.history = r.history[:5]; r.seq = 5 }, historyWhole},
		"a result that was recorded twice": {func(ev *evidence) {
			r := ev.runs[charged]
			r.history = slices.Insert(r.history, 3, entry{Type: "node.completed", Node: "charge"})
			numbered(r)
		}, recordedOnce},
		"a node of the other branch": {func(ev *evidence) { ev.runs[charged].history[4].Node = "small" }, recordedOnce},
		"an effect that is not recorded": {func(ev *evidence) {
			ev.effects["run_t0_1:join"] = effect{callSource: callSource{"tenant_0", charged, "join"}}
		}, historyWhole},
		"a run that another waited for in vain": {func(ev *evidence) { ev.runs["run_t0_2"].parent = charged }, everyRunEnds},
		"an item without a run": {func(ev *evidence) {
			loops := *ev.orders[0].scenario
			loops.items = 1
			ev.orders[0].scenario = &loops
		}, recordedOnce},
		"a call without a run": {func(ev *evidence) {
			calls := *ev.orders[0].scenario
			calls.callee = calls.nodes
			ev.orders[0].scenario = &calls
		}, recordedOnce},
		"a run that nothing superseded":       {func(ev *evidence) { ev.inLine(overflowQueue); ev.orders[2].cancelled = false }, everyRunEnds},
		"a scheduled run that did not finish": {func(ev *evidence) { ev.runs["run_t0_at_1"].status = "failed" }, everyRunEnds},
	}
}

func faultsOfEffects() map[string]auditFault {
	return map[string]auditFault{
		"a result without its effect": {func(ev *evidence) {
			e := ev.effects[charged+":charge"]
			e.times = 0
			ev.effects[charged+":charge"] = e
		}, effectHappens},
		"a call that was made again for nothing": {func(ev *evidence) { ev.disturbed = nil }, repeatsExcused},
		"a call that was made again twice for one disturbance": {func(ev *evidence) {
			e := ev.effects["run_t0_at_1:tick"]
			e.calls = append(e.calls, noon.Add(3*time.Second))
			ev.effects["run_t0_at_1:tick"] = e
		}, repeatsExcused},
		"an effect under another key": {func(ev *evidence) {
			ev.effects["run_t0_3:other"] = effect{callSource: callSource{"tenant_0", charged, "charge"}}
		}, sameKey},
		"an effect of no run": {func(ev *evidence) {
			ev.effects["run_x:charge"] = effect{callSource: callSource{"tenant_0", "run_x", "charge"}}
		}, sameKey},
	}
}

func faultsOfInstants() map[string]auditFault {
	return map[string]auditFault{
		"an instant that is missing": {func(ev *evidence) { ev.fires = slices.Delete(ev.fires, 1, 2) }, instantOnce},
		"an instant that is there twice": {func(ev *evidence) {
			twice := ev.fires[1]
			twice.run = "run_t0_at_9"
			ev.fires = slices.Insert(ev.fires, 1, twice)
		}, instantOnce},
		"an instant that was skipped":       {func(ev *evidence) { ev.fires[1].outcome = "skipped" }, instantOnce},
		"two instants of one run":           {func(ev *evidence) { ev.fires[1].run = ev.fires[0].run }, instantOnce},
		"a ledger that begins too late":     {func(ev *evidence) { ev.since["tenant_0"] = noon.Add(-time.Minute) }, instantOnce},
		"a ledger that ends too early":      {func(ev *evidence) { ev.until = noon.Add(3 * time.Minute) }, instantOnce},
		"a ledger that is empty":            {func(ev *evidence) { ev.fires = ev.fires[:3] }, instantOnce},
		"a run of an instant that is not":   {func(ev *evidence) { ev.fires[1].run = "" }, instantOnce},
		"a fire with another one's payload": {func(ev *evidence) { ev.runs["run_t0_at_1"].payload = "{}" }, instantOnce},
	}
}

func faultsOfEvents() map[string]auditFault {
	return map[string]auditFault{
		"an end with two events":            {func(ev *evidence) { ev.events = append(ev.events, ev.events[0]) }, eventsDelivered},
		"an end without an event":           {func(ev *evidence) { ev.events = ev.events[1:] }, eventsDelivered},
		"an event that was never delivered": {func(ev *evidence) { delete(ev.delivered, ev.events[0].id) }, eventsDelivered},
		"an event that nobody keeps":        {func(ev *evidence) { ev.delivered["evt_x"] = deliveredEvent{"run.completed", charged, "t0", 1} }, eventsDelivered},
	}
}

func faultsOfTenants() map[string]auditFault {
	return map[string]auditFault{
		"an effect of another tenant": {func(ev *evidence) {
			ev.effects[charged+":charge"] = effect{callSource: callSource{"tenant_1", charged, "charge"}, times: 1}
		}, tenantsIsolated},
		"an event that was delivered astray": {func(ev *evidence) {
			h := ev.delivered[ev.events[0].id]
			h.path = "t1"
			ev.delivered[ev.events[0].id] = h
		}, tenantsIsolated},
		"a total that is wrong":               {func(ev *evidence) { l := ev.listed["tenant_0"]; l.total++; ev.listed["tenant_0"] = l }, totalsAgree},
		"a filtered total that is wrong":      {func(ev *evidence) { l := ev.listed["tenant_0"]; l.completed--; ev.listed["tenant_0"] = l }, totalsAgree},
		"a run that is listed twice":          {func(ev *evidence) { l := ev.listed["tenant_0"]; l.ids[0] = l.ids[1] }, totalsAgree},
		"a run that another tenant is shown":  {func(ev *evidence) { ev.listed["tenant_1"].ids[0] = charged }, tenantsIsolated},
		"a status that is shown wrongly":      {func(ev *evidence) { r := ev.shown[charged]; r.Status = "failed"; ev.shown[charged] = r }, totalsAgree},
		"a run of another tenant's trigger":   {func(ev *evidence) { ev.runs[charged].tenant = "tenant_1" }, tenantsIsolated},
		"a run that another tenant's started": {func(ev *evidence) { ev.runs["run_t0_at_1"].parent = "run_t1_1" }, tenantsIsolated},
	}
}

func TestEveryFaultIsFound(t *testing.T) {
	for _, faults := range []map[string]auditFault{faultsOfCalls(), faultsOfRuns(), faultsOfEffects(), faultsOfInstants(), faultsOfEvents(), faultsOfTenants()} {
		for claim, c := range faults {
			t.Run(claim, func(t *testing.T) {
				ev := sound()
				c.plant(ev)
				found := newFindings()
				ev.audit(found)
				if found.broken(c.want) == 0 {
					t.Errorf("it does not break %q, but: %v", c.want, found.err())
				}
			})
		}
	}
}

func TestPlannedFaultsAreTheSameForASeed(t *testing.T) {
	o := options{seed: 3, processes: 3, length: time.Minute, kills: 20, freezes: 4, restarts: 3, cuts: 2, stalls: 2, engineKills: 2, engineAbsence: time.Second}
	all := planFaults(o)
	if diff := cmp.Diff(all, planFaults(o), cmp.AllowUnexported(fault{})); diff != "" {
		t.Error(diff)
	}
	count := make(map[faultKind]int)
	for i, f := range all {
		count[f.kind]++
		if f.at < 0 || f.at > o.length || f.target < 0 || f.target >= o.processes || i > 0 && f.at < all[i-1].at {
			t.Errorf("%+v", f)
		}
		if f.kind == freezeGateway && f.length < shortestFreeze {
			t.Errorf("a process is frozen for %s, and keeps its leases", f.length)
		}
	}
	if diff := cmp.Diff(map[faultKind]int{killGateway: 20, freezeGateway: 4, restartDatabase: 3, cutConnections: 2, stallDatabase: 2, killEngine: 2, leaveEngineAway: 1}, count); diff != "" {
		t.Error(diff)
	}
	o.seed++
	if cmp.Equal(all, planFaults(o), cmp.AllowUnexported(fault{})) {
		t.Error("another seed changes nothing")
	}
}
