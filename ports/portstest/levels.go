package portstest

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/job"
	"github.com/sluicehq/sluice/domain/process"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Levels is the contract of all repositories that let processes claim: a row that needs a
// level is claimed by processes that have it, and is as good as absent for the others.
func Levels(t *testing.T, open func(t *testing.T) LevelStores) {
	t.Helper()
	for claim, check := range map[string]func(f levels){
		"a schedule whose version needs a level is claimed by who has it":        scheduleLevels,
		"schedules that need a level keep no others from being claimed in turns": scheduleLevelTurns,
		"an event that needs a level waits for who has it":                       eventLevels,
		"a delivery needs the level of its event":                                deliveryLevels,
		"the next delivery is one that the process has the level for":            nextDeliveryLevels,
		"a run whose version needs a level is leased to who has it":              runLevels,
		"runs that need a level keep no others from being leased":                runBacklogLevels,
		"a run that older processes would begin otherwise is leased to others":   repeatedRunLevels,
		"a run that another one started is leased to who wakes that one":         childRunLevels,
		"a job that needs a level is leased to who has it":                       jobLevels,
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			check(levels{older: fixture{t, s.Older}, newer: fixture{t, s.Newer}, stores: s})
		})
	}
}

// levels are the processes of two levels.
type levels struct {
	older, newer fixture
	stores       LevelStores
}

// exec runs a statement of SQL.
func (l levels) exec(statement string) {
	l.newer.Helper()
	if err := l.stores.Exec(statement); err != nil {
		l.newer.Fatal(err)
	}
}

// needing stores the active version of a new workflow, which needs a level.
func (l levels) needing(owner tenant.ID, level process.Level) *workflow.Version {
	l.newer.Helper()
	f, ver := l.newer, l.newer.version(l.newer.workflow(owner, "team"))
	f.write(func(ctx context.Context, st outbound.Stores) error {
		stored, err := st.Versions.Get(ctx, tenant.All(owner), ver.ID())
		if err != nil {
			return err
		}
		state := stored.State()
		state.Active, state.PublishedAt, state.Level = true, &activated, level
		ver = workflow.RestoreVersion(state)
		return st.Versions.Update(ctx, ver)
	})
	return ver
}

// scheduled stores a schedule of a version that needs a level. It is due a time after noon.
func (l levels) scheduled(owner tenant.ID, level process.Level, after time.Duration) *trigger.Trigger {
	l.newer.Helper()
	trg := l.newer.attach(l.needing(owner, level))
	l.newer.advance(look(trg, noon, noon.Add(after)))
	return trg
}

func jobLevels(l levels) {
	owner := l.newer.tenant().ID()
	l.newer.started(owner)
	j := l.newer.newJob(tenant.All(owner), job.Cancel, run.Filter{})
	l.newer.job(j)
	l.exec(`UPDATE jobs SET needs_level = 2`)
	l.newer.same([]job.ID{"", j.ID()}, []job.ID{l.older.claimJob(time.Hour), l.newer.claimJob(time.Hour)})
}

func scheduleLevels(l levels) {
	hour := noon.Add(time.Hour)
	owner := l.newer.tenant().ID()
	newer, plain := l.scheduled(owner, 2, 0), l.scheduled(owner, 0, time.Minute)
	both, all := l.scheduled(l.newer.tenant().ID(), 1, 2*time.Minute), []string(nil)
	for _, trg := range []*trigger.Trigger{newer, plain, both} {
		all = append(all, line(trg.ID(), noon))
	}
	l.older.next(noon.Add(time.Minute))
	l.newer.next(noon)
	for what, got := range map[string][]string{"all": l.older.due(hour, 9), "as many as there are": l.older.due(hour, 2)} {
		if diff := cmp.Diff(all[1:], got); diff != "" {
			l.older.Errorf("%s: %s", what, diff)
		}
	}
	if diff := cmp.Diff(all, l.newer.due(hour, 9)); diff != "" {
		l.newer.Error(diff)
	}
	dueOf := func(f fixture) (found []string) {
		f.write(func(ctx context.Context, st outbound.Stores) error {
			due, err := st.Schedules.DueOf(ctx, hour, []outbound.TriggerKey{outbound.KeyOf(newer), outbound.KeyOf(plain)})
			found = nil
			for _, d := range due {
				found = append(found, line(d.Trigger.ID(), d.ProcessedUntil))
			}
			return err
		})
		return found
	}
	if diff := cmp.Diff([][]string{all[1:2], all[:2]}, [][]string{dueOf(l.older), dueOf(l.newer)}); diff != "" {
		l.newer.Errorf("by their names: %s", diff)
	}
	l.older.write(func(ctx context.Context, st outbound.Stores) error {
		return st.Schedules.Postpone(ctx, hour, hour.Add(time.Hour), outbound.TriggerKey{Scope: tenant.All(owner)})
	})
	l.newer.next(noon)
	l.older.next(noon.Add(2 * time.Minute))
	l.older.advance(look(both, noon, time.Time{}))
	l.older.advance(look(plain, noon, time.Time{}))
	l.older.next(time.Time{})
}

func scheduleLevelTurns(l levels) {
	var owners []tenant.ID
	for range 3 {
		owner := l.newer.tenant().ID()
		owners = append(owners, owner)
		for range 3 {
			l.scheduled(owner, 2, 0)
		}
	}
	for range 2 {
		l.scheduled(owners[1], 0, time.Minute)
		l.scheduled(owners[2], 0, time.Minute)
	}
	for i, want := range []map[tenant.ID]int{{owners[1]: 1, owners[2]: 1}, {owners[1]: 1, owners[2]: 1}, {}} {
		if diff := cmp.Diff(want, l.older.served(noon.Add(time.Hour), 2)); diff != "" {
			l.older.Errorf("unit %d: %s", i, diff)
		}
	}
	if got := l.newer.served(noon.Add(time.Hour), 9); len(got) != 3 {
		l.newer.Errorf("served were %v", got)
	}
}

// need makes a row need level 2.
func (l levels) need(table, id string) {
	l.newer.Helper()
	l.exec(`UPDATE ` + table + ` SET needs_level = 2 WHERE id = '` + id + `'`)
}

func eventLevels(l levels) {
	older, newer := newWebhooks(l.older), newWebhooks(l.newer)
	first, other := l.newer.tenant().ID(), l.newer.tenant().ID()
	held, plain, later, alone := newEvent(first, 0), newEvent(first, 1), newEvent(first, 2), newEvent(other, 3)
	newer.append(held, plain, later, alone)
	l.need("webhook_events", string(held.ID()))
	older.waiting("the level is too high for one", 9, plain, later, alone)
	older.waiting("as many as are wanted", 1, plain)
	newer.waiting("the level is high enough for all", 9, held, plain, later, alone)
	l.need("webhook_events", string(alone.ID()))
	older.waiting("all of a tenant need it", 9, plain, later)
}

func deliveryLevels(l levels) {
	older, newer := newWebhooks(l.older), newWebhooks(l.newer)
	owner := l.newer.tenant().ID()
	to, held, plain := newer.endpoint(owner), newer.event(owner), newer.event(owner)
	l.need("webhook_events", string(held.ID()))
	first, second := newer.due(to, held, 0), newer.due(to, plain, 1)
	urgent := newer.due(to, held, 2)
	urgent.Urgent = true
	newer.insert(first, second, urgent)
	older.claims("only one of them", 9, 1, second)
	newer.claims("the one that was asked for goes first", 9, 2, urgent)
	newer.claims("the last one", 9, 9, first)
}

func nextDeliveryLevels(l levels) {
	older, newer := newWebhooks(l.older), newWebhooks(l.newer)
	owner := l.newer.tenant().ID()
	to, held, plain := newer.endpoint(owner), newer.event(owner), newer.event(owner)
	l.need("webhook_events", string(held.ID()))
	for i := range 60 { // more than are looked at one by one
		newer.insert(newer.due(to, held, i))
	}
	older.next("all need the level", time.Time{})
	newer.next("it has the level", newer.past)
	older.claims("all need the level", 9, 9)
	last := newer.due(to, plain, future)
	newer.insert(last)
	older.next("one does not", *last.NextAttemptAt)
}

func runLevels(l levels) {
	owner, other := l.newer.tenant().ID(), l.newer.tenant().ID()
	newer, plain := l.needing(owner, 2), l.needing(owner, 1)
	of := func(ver *workflow.Version) func(*run.State) {
		return func(st *run.State) { st.Workflow, st.Version = ver.Workflow(), ver.ID() }
	}
	held := l.newer.started(owner, of(newer))
	l.older.freeAt("it needs the level", time.Time{})
	l.older.leases("it needs the level", 9, 9)
	second, third := l.newer.started(owner, of(plain)), l.newer.started(other)
	soon := l.newer.dbNow().Add(-time.Second)
	elapsed := l.newer.started(owner, of(newer), waits(&soon))
	l.older.leases("the others", 9, 9, second, third)
	leased := l.newer.leases("all that are left", 9, 9, held, elapsed)
	l.newer.renew(0, leased[0].Lease, leased[1].Lease)
	l.older.leases("what was given back", 9, 9)
	leased = l.newer.leases("what was given back, again", 9, 9, leased[0].Run, leased[1].Run)
	for _, n := range []int{2, 1} { // which are written in different ways
		var retried []outbound.RunStep
		for _, one := range leased[:n] {
			finished := l.newer.step(one.Run, one.Lease, over)
			retried = append(retried, stepped(finished, outbound.RunLease{}, busy, func(st *run.State) { st.FinishedAt = nil }))
		}
		if err := l.newer.trySteps(retried...); err != nil {
			l.newer.Fatal(err)
		}
		l.older.leases("what is retried", 9, 9)
		if leased = l.newer.claimRuns(9, 9); len(leased) != n {
			l.newer.Fatalf("%d of those that are retried are leased", len(leased))
		}
	}
}

func repeatedRunLevels(l levels) {
	owner := l.newer.tenant().ID()
	ver := l.newer.version(l.newer.workflow(owner, ""))
	drafted, err := l.newer.executing(ver)
	if err != nil {
		l.newer.Fatal(err)
	}
	taking := l.newer.started(owner, func(st *run.State) {
		st.Nodes = []run.NodeState{{ID: "a", Status: run.NodeCompleted, TakenOver: true, OutputIsInput: true}}
	})
	l.older.leases("both need the level", 9, 9)
	leased := l.newer.leases("they need the level", 9, 9, drafted, taking)
	finished := l.newer.step(drafted, leased[0].Lease, over)
	l.newer.step(finished, outbound.RunLease{}, busy, func(st *run.State) { st.FinishedAt = nil })
	l.older.leases("what is retried", 9, 9)
	l.newer.leases("what is retried, again", 9, 9, drafted)
}

func childRunLevels(l levels) {
	parent := l.newer.started(l.newer.tenant().ID())
	l.older.leases("nobody started it", 9, 9, parent)
	called, item := l.newer.started(parent.Tenant(), childOf(parent)), l.newer.started(parent.Tenant(), childOf(parent), func(st *run.State) { st.Cause = run.CauseItem })
	l.older.leases("both need the level", 9, 9)
	leased := l.newer.leases("they need the level", 9, 9, called, item)
	var retried []outbound.RunStep
	for _, one := range leased {
		finished := l.newer.step(one.Run, one.Lease, over)
		retried = append(retried, stepped(finished, outbound.RunLease{}, busy, func(st *run.State) { st.FinishedAt = nil }))
	}
	l.newer.mustStep(retried...)
	l.older.leases("what is retried", 9, 9)
	l.newer.leases("what is retried, again", 9, 9, called, item)
	loop := l.newer.loop(l.newer.idle(parent.Tenant()), 1, 1, true)
	loop.moves(outbound.LoopMove{})
	loop.ends(0, run.StatusFailed)
	l.newer.write(func(ctx context.Context, st outbound.Stores) error {
		return st.Runs.Loops.Begin(ctx, loop.parent, run.LoopStart{Node: "each", Again: true}, "")
	})
	loop.wants("it begins again", "0!", loop.moves(outbound.LoopMove{}))
	l.older.leases("the one that was woken, without its item", 9, 9, loop.parent)
}

func runBacklogLevels(l levels) {
	const backlog = 300 // more than a claim looks at
	owner := l.newer.tenant().ID()
	newer := l.needing(owner, 2)
	soon := l.newer.dbNow().Add(-time.Hour)
	for i := range 2 * backlog {
		l.newer.started(owner, func(st *run.State) {
			st.Workflow, st.Version = newer.Workflow(), newer.ID()
			if i < backlog {
				waits(&soon)(st)
			}
		})
	}
	l.older.freeAt("all need the level", time.Time{})
	now := l.newer.dbNow().Add(-time.Minute)
	first, second, third := l.newer.started(owner), l.newer.started(owner), l.newer.started(owner, waits(&now))
	if leased := l.older.claimRuns(9, 9); len(leased) != 3 {
		l.older.Errorf("leased are %d, not %s, %s and %s", len(leased), first.ID(), second.ID(), third.ID())
	}
	if leased := l.newer.claimRuns(9, 20); len(leased) != 9 {
		l.newer.Errorf("leased are %d", len(leased))
	}
}
