package portstest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// awaiting asks for runs about the entity e.
func (f fixture) awaiting(owner tenant.ID, q outbound.AwaitingQuery) (found []run.Awaiting) {
	f.Helper()
	if q.Entity == "" {
		q.Entity = "e"
	}
	if q.Limit == 0 {
		q.Limit = 99
	}
	f.read(func(ctx context.Context, st outbound.Stores) (err error) {
		found, err = st.Runs.Runs.Awaiting(ctx, tenant.All(owner), q)
		return err
	})
	return found
}

// awaits lets nodes of a run about the entity e wait: for events, for any where one is
// empty, and for a time where it is a minus sign.
func awaits(events ...string) func(*run.State) {
	return func(st *run.State) {
		st.Status, st.Nodes = run.StatusPaused, nil
		for i, event := range events {
			n := run.NodeState{ID: workflow.NodeID(fmt.Sprint("n", i)), Status: run.NodeWaiting, Pause: &run.Pause{Kind: run.PauseEvent, Event: event, Since: noon}}
			if event == "-" {
				n.Pause.Kind, n.Pause.Event, n.Pause.Until = run.PauseWait, "", &noon
			}
			st.Nodes = append(st.Nodes, n)
		}
	}
}

// waiting stores a run about the entity e that has made a step and waits since.
func (f fixture) waiting(owner tenant.ID, seconds int, change ...func(*run.State)) *run.Run {
	f.Helper()
	r := f.started(owner, func(st *run.State) {
		st.Entity, st.CreatedAt = "e", noon.Add(time.Duration(seconds)*time.Second)
	})
	return f.step(r, outbound.RunLease{}, change...)
}

func awaitingIDs(found []run.Awaiting) (ids []run.ID) {
	for _, a := range found {
		ids = append(ids, a.ID)
	}
	return ids
}

func runIDs(runs ...*run.Run) (ids []run.ID) {
	for _, r := range runs {
		ids = append(ids, r.ID())
	}
	return ids
}

// RunsAwaiting is the contract of outbound.RunRepository for finding the runs that an
// event can resume.
func RunsAwaiting(t *testing.T, open OpenStore) {
	cases(t, open, awaitingEntity())
	cases(t, open, awaitingNamed())
}

// awaitingEntity are claims about what is found for an entity.
func awaitingEntity() map[string]func(f fixture) {
	status := func(s run.Status) func(*run.State) { return func(st *run.State) { st.Status = s } }
	return map[string]func(f fixture){
		"what waits about an entity is found with what it waits for, the oldest first": func(f fixture) {
			owner, other := f.tenant().ID(), f.tenant().ID()
			until := noon.Add(90 * time.Second)
			b, a := f.waiting(owner, 2, awaits("paid", "", "sent", "-")), f.waiting(owner, 1, awaits("é \"<paid>\""), func(st *run.State) {
				st.Nodes[0].Pause.Until = &until
			})
			c, d := f.waiting(owner, 3, awaits("paid"), status(run.StatusRunning)), f.waiting(owner, 4, awaits("-"))
			f.waiting(owner, 0, status(run.StatusRunning))
			for _, s := range []run.Status{run.StatusPending, run.StatusCompleted, run.StatusFailed, run.StatusCancelled} {
				f.waiting(owner, 0, awaits("paid"), status(s))
			}
			f.waiting(other, 0, awaits("paid"))
			f.started(owner, func(st *run.State) { st.Entity, st.Status = "E", run.StatusPaused })
			want := []run.Awaiting{awaitingOf(a), awaitingOf(b), awaitingOf(c), awaitingOf(d)}
			f.same(want, f.awaiting(owner, outbound.AwaitingQuery{}))
			f.same(want[:2], f.awaiting(owner, outbound.AwaitingQuery{Limit: 2}))
			f.same([]run.Awaiting{}, f.awaiting(owner, outbound.AwaitingQuery{Entity: "none"}))
		},
		"an event finds what waits for it, for any, or for several things": func(f fixture) {
			owner := f.tenant().ID()
			d, c, b, a := f.waiting(owner, 4, awaits("paid")), f.waiting(owner, 3, awaits("", "")), f.waiting(owner, 2, awaits("sent", "paid")), f.waiting(owner, 1, awaits("paid", "paid"))
			f.waiting(owner, 0, awaits("sent"))
			f.waiting(owner, 0, awaits("-"))
			f.same(runIDs(a, b, c, d), awaitingIDs(f.awaiting(owner, outbound.AwaitingQuery{Event: "paid"})))
			f.same(runIDs(b, c), awaitingIDs(f.awaiting(owner, outbound.AwaitingQuery{Event: "other"})))
			f.same(runIDs(a, b, c), awaitingIDs(f.awaiting(owner, outbound.AwaitingQuery{Event: "paid", Limit: 3})))
		},
		"pages follow one another, with an event and without": func(f fixture) {
			owner := f.tenant().ID()
			var all []run.ID
			for i := range 7 {
				all = append(all, f.waiting(owner, i/3, awaits([]string{"paid", "", "paid"}[i%3])).ID())
			}
			for _, event := range []string{"", "paid"} {
				var got []run.ID
				q := outbound.AwaitingQuery{Event: event, Limit: 2}
				for page := f.awaiting(owner, q); len(page) > 0; page = f.awaiting(owner, q) {
					got, q.After = append(got, awaitingIDs(page)...), &page[len(page)-1]
				}
				f.same(all, got)
			}
		},
		"those of a sub-tenant or of versions are found alone": func(f fixture) {
			owner := f.tenant().ID()
			of := func(sub tenant.SubTenantID, version workflow.VersionID) *run.Run {
				r := f.started(owner, func(st *run.State) { st.Entity, st.SubTenant, st.Version, st.CreatedAt = "e", sub, version, noon })
				return f.step(r, outbound.RunLease{}, awaits("paid"))
			}
			a, b, c, d := of("s", "v1"), of("s", "v2"), of("", "v1"), of("S", "v3")
			sub, none, nowhere := tenant.SubTenantID("s"), tenant.SubTenantID(""), tenant.SubTenantID("x")
			for _, event := range []string{"", "paid"} {
				for _, want := range []struct {
					q     outbound.AwaitingQuery
					found []*run.Run
				}{
					{outbound.AwaitingQuery{SubTenant: &sub}, []*run.Run{a, b}},
					{outbound.AwaitingQuery{SubTenant: &none}, []*run.Run{c}},
					{outbound.AwaitingQuery{SubTenant: &nowhere}, nil},
					{outbound.AwaitingQuery{Versions: []workflow.VersionID{"v1", "v3", "v1"}}, []*run.Run{a, c, d}},
					{outbound.AwaitingQuery{Versions: []workflow.VersionID{"v"}}, nil},
					{outbound.AwaitingQuery{SubTenant: &sub, Versions: []workflow.VersionID{"v1"}}, []*run.Run{a}},
				} {
					want.q.Event = event
					ids := runIDs(want.found...)
					slices.Sort(ids)
					f.same(ids, awaitingIDs(f.awaiting(owner, want.q)))
					if len(ids) > 1 {
						first := f.awaiting(owner, outbound.AwaitingQuery{Runs: ids[:1]})
						want.q.After = &first[0]
						f.same(ids[1:], awaitingIDs(f.awaiting(owner, want.q)))
					}
				}
			}
		},
	}
}

// awaitingNamed are claims about runs that are named, and about what changes.
func awaitingNamed() map[string]func(f fixture) {
	nobody := outbound.RunLease{}
	status := func(s run.Status) func(*run.State) { return func(st *run.State) { st.Status = s } }
	return map[string]func(f fixture){
		"of runs that are named those are found that wait about the entity": func(f fixture) {
			owner, other := f.tenant().ID(), f.tenant().ID()
			b, a := f.waiting(owner, 2, awaits("paid")), f.waiting(owner, 1, awaits("-"))
			f.waiting(owner, 0, awaits("paid"))
			elsewhere := f.step(f.started(owner), nobody, awaits("paid"))
			names := runIDs(b, a, elsewhere, f.waiting(other, 0, awaits("paid")), b, f.started(owner))
			f.same(runIDs(a, b), awaitingIDs(f.awaiting(owner, outbound.AwaitingQuery{Runs: append(names, "run_absent")})))
		},
		"of runs that are named those are found that are about the entity and do not wait": func(f fixture) {
			owner, other := f.tenant().ID(), f.tenant().ID()
			done, works := f.waiting(owner, 2, awaits("paid"), status(run.StatusCompleted)), f.waiting(owner, 1, status(run.StatusRunning))
			f.waiting(owner, 0, status(run.StatusRunning))
			names := runIDs(done, works, f.waiting(owner, 0, awaits("paid")), f.waiting(owner, 0, awaits("-")), f.waiting(other, 0, status(run.StatusRunning)), done, f.started(owner))
			want := []run.Awaiting{awaitingOf(works), awaitingOf(done)}
			for i := range want {
				want[i].Awaits = nil
			}
			f.same(want, f.awaiting(owner, outbound.AwaitingQuery{Runs: append(names, "run_absent"), Idle: true}))
		},
		"each step says anew what a run waits for, alone and with others": func(f fixture) {
			owner := f.tenant().ID()
			r, other := f.waiting(owner, 0, awaits("paid")), f.waiting(owner, 1, awaits("sent"))
			for i, now := range []func(*run.State){awaits("sent"), awaits(""), status(run.StatusRunning), awaits("paid"), func(st *run.State) { st.Nodes = nil }} {
				step := stepped(r, nobody, now)
				r = step.Run
				steps := []outbound.RunStep{step}
				if i%2 == 0 {
					next := stepped(other, nobody)
					other, steps = next.Run, append(steps, next)
				}
				f.write(func(ctx context.Context, st outbound.Stores) error { return st.Runs.Runs.Record(ctx, steps...) })
				want := []run.Awaiting{awaitingOf(r), awaitingOf(other)}
				f.same(want, f.awaiting(owner, outbound.AwaitingQuery{}))
			}
			for _, end := range []func(*run.State){status(run.StatusRunning), status(run.StatusCompleted)} {
				r = f.step(r, nobody, end)
				f.same(runIDs(other), awaitingIDs(f.awaiting(owner, outbound.AwaitingQuery{})))
			}
		},
		"an event that nobody can name and no index hold is no obstacle": func(f fixture) {
			owner := f.tenant().ID()
			a, b := f.waiting(owner, 0, awaits(strings.Repeat("é", 5000))), f.waiting(owner, 1, awaits("a\x00b"))
			f.same([]run.Awaiting{awaitingOf(a), awaitingOf(b)}, f.awaiting(owner, outbound.AwaitingQuery{}))
			c := f.waiting(owner, 2, awaits(strings.Repeat("é", run.MaxEvent)))
			f.same(runIDs(a, b, c), awaitingIDs(f.awaiting(owner, outbound.AwaitingQuery{Event: strings.Repeat("é", run.MaxEvent)})))
		},
		"a run that starts waiting is found": func(f fixture) {
			owner := f.tenant().ID()
			r := f.started(owner, awaits("paid"), func(st *run.State) { st.Entity = "e" })
			f.same([]run.Awaiting{awaitingOf(r)}, f.awaiting(owner, outbound.AwaitingQuery{Event: "paid"}))
			f.same(runIDs(), awaitingIDs(f.awaiting(owner, outbound.AwaitingQuery{Event: "other"})))
		},
		"a record without a history changes what a run waits for": func(f fixture) {
			owner := f.tenant().ID()
			r := f.waiting(owner, 0, awaits("paid"))
			before, next := f.history(owner, r.ID(), 0), r.State()
			awaits("sent")(&next)
			r = run.Restore(next)
			if err := f.tryStep(outbound.RunStep{Run: r, From: r.Seq()}); err != nil {
				f.Fatal(err)
			}
			f.same([]run.Awaiting{awaitingOf(r)}, f.awaiting(owner, outbound.AwaitingQuery{Event: "sent"}))
			f.same(runIDs(), awaitingIDs(f.awaiting(owner, outbound.AwaitingQuery{Event: "paid"})))
			f.same(before, f.history(owner, r.ID(), 0))
		},
	}
}

// awaitingOf is what a store returns of a run that waits.
func awaitingOf(r *run.Run) run.Awaiting {
	return run.Awaiting{ID: r.ID(), SubTenant: r.SubTenant(), Source: r.Source(), CreatedAt: r.CreatedAt(), Awaits: r.Awaits()}
}
