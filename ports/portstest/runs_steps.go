package portstest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// RunSteps is the contract of outbound.RunRepository for recording steps.
func RunSteps(t *testing.T, open OpenStore) {
	runHistories(t, open)
	nobody := outbound.RunLease{}
	cases(t, open, map[string]func(f fixture){
		"a step writes everything that can change, back and forth": func(f fixture) {
			r := f.started(f.tenant().ID())
			want := runState(r.Tenant())
			want.Origin, want.Seq = r.State().Origin, 3
			if err := f.tryStep(outbound.RunStep{Run: run.Restore(want), From: 0}); err != nil {
				f.Fatal(err)
			}
			f.holds(want)
			back := r.State()
			back.Seq, back.Status = 4, run.StatusRunning
			if err := f.tryStep(outbound.RunStep{Run: run.Restore(back), From: 3}); err != nil {
				f.Fatal(err)
			}
			f.holds(back)
		},
		"a step of a run that has moved on is refused, and its unit does not commit": func(f fixture) {
			r := f.started(f.tenant().ID())
			now := f.step(r, nobody)
			bystander := pending(r.Tenant())
			err := f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
				if _, err := st.Runs.Runs.Start(ctx, bystander); err != nil {
					return err
				}
				f.wantError(st.Runs.Runs.Record(ctx, stepped(r, nobody)), domain.Conflict, "stale_run")
				return nil // the failure is ignored
			})
			f.wantError(err, domain.Conflict, "stale_run")
			f.holds(now.State())
			f.wantError(errorOf(f.getRun(r.Tenant(), bystander.ID())), domain.NotFound, "run_not_found")
			if got := f.history(r.Tenant(), r.ID(), 0); len(got) != 1 {
				f.Errorf("the history is %v", got)
			}
		},
		"of many steps from the same place one is recorded": func(f fixture) {
			r := f.started(f.tenant().ID())
			var mu sync.Mutex
			recorded := 0
			var done sync.WaitGroup
			for range 12 {
				done.Go(func() {
					switch err := f.tryStep(stepped(r, nobody)); {
					case err == nil:
						mu.Lock()
						recorded++
						mu.Unlock()
					case !errors.Is(err, domain.Conflict):
						f.Error(err)
					}
				})
			}
			done.Wait()
			if recorded != 1 || len(f.history(r.Tenant(), r.ID(), 0)) != 1 {
				f.Errorf("%d were recorded", recorded)
			}
		},
		"what is read in a unit that writes is not stale there": func(f fixture) {
			r := f.started(f.tenant().ID())
			const units = 8
			var done sync.WaitGroup
			for range units {
				done.Go(func() {
					f.write(func(ctx context.Context, st outbound.Stores) error {
						held, err := st.Runs.Runs.Get(ctx, tenant.All(r.Tenant()), r.ID())
						if err != nil {
							return err
						}
						return st.Runs.Runs.Record(ctx, stepped(held, nobody))
					})
				})
			}
			done.Wait()
			if got := f.history(r.Tenant(), r.ID(), 0); len(got) != units {
				f.Errorf("%d steps", len(got))
			}
		},
		"a unit that fails records nothing": func(f fixture) {
			r := f.started(f.tenant().ID())
			err := f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
				return errors.Join(st.Runs.Runs.Record(ctx, stepped(r, nobody)), errOnPurpose)
			})
			if !errors.Is(err, errOnPurpose) {
				f.Fatal(err)
			}
			f.holds(r.State())
			if got := f.history(r.Tenant(), r.ID(), 0); len(got) != 0 {
				f.Errorf("the history is %v", got)
			}
		},
	})
}

func runHistories(t *testing.T, open OpenStore) {
	nobody := outbound.RunLease{}
	cases(t, open, map[string]func(f fixture){
		"the history is what the steps appended, from an entry on": func(f fixture) {
			r := f.started(f.tenant().ID())
			other := f.step(f.started(r.Tenant()), nobody)
			until := noon.Add(time.Minute)
			full := run.Entry{
				Seq: 1, At: noon, Type: run.EntryNodeRetrying, Node: "é \"n\"", Attempt: 2, Branch: "case-0", Code: "timeout",
				Message: `<it's> \ late`, Until: &until,
			}
			edge := run.Entry{Seq: 2, At: noon, Type: run.EntryEdgeFailed, Node: "n", Edge: "edge_1", Code: "edge_condition_failed", Message: "so"}
			want := []run.Entry{full, edge, {Seq: 3, At: noon.Add(time.Second), Type: run.EntryRunPaused}}
			s := stepped(r, nobody, func(st *run.State) { st.Seq = 3 })
			s.History = want
			if err := f.tryStep(s); err != nil {
				f.Fatal(err)
			}
			next := stepped(s.Run, nobody)
			if err := f.tryStep(next); err != nil {
				f.Fatal(err)
			}
			want = append(want, next.History...)
			for after := range 5 {
				f.same(want[after:], f.history(r.Tenant(), r.ID(), int64(after)))
			}
			if got := f.history(other.Tenant(), other.ID(), 0); len(got) != 1 {
				f.Errorf("the other run has %v", got)
			}
		},
		"a long history is read in parts": func(f fixture) {
			r := f.started(f.tenant().ID())
			var want []run.Entry
			for range 230 {
				s := stepped(r, nobody)
				if err := f.tryStep(s); err != nil {
					f.Fatal(err)
				}
				r, want = s.Run, append(want, s.History...)
			}
			f.same(want, f.history(r.Tenant(), r.ID(), 0))
			f.read(func(ctx context.Context, st outbound.Stores) error {
				first, more, err := st.Runs.Runs.History(ctx, tenant.All(r.Tenant()), r.ID(), 0)
				if len(first) >= len(want) || !more {
					f.Errorf("%d entries are read at once, and more is %v", len(first), more)
				}
				return err
			})
		},
	})
}

// runs reads a page.
func (f fixture) runs(owner tenant.ID, filter run.Filter, order string, limit, offset int) (found domain.Page[run.Summary]) {
	f.Helper()
	f.read(func(ctx context.Context, st outbound.Stores) (err error) {
		found, err = st.Runs.Runs.List(ctx, tenant.All(owner), filter, f.query(order, limit, offset))
		return err
	})
	return found
}

// named lists what the runs of a page are about, and the total.
func (f fixture) named(owner tenant.ID, filter run.Filter, order string, limit, offset int) string {
	f.Helper()
	found := f.runs(owner, filter, order, limit, offset)
	names := make([]string, len(found.Items))
	for i, r := range found.Items {
		names[i] = r.Entity
	}
	return strings.TrimSpace(fmt.Sprint(strings.Join(names, " "), " of ", found.Total))
}

// gallery stores runs to list, about entities a to e, and others of another tenant.
func (f fixture) gallery() tenant.ID {
	f.Helper()
	owner, other := f.tenant().ID(), f.tenant().ID()
	for i, status := range []run.Status{run.StatusPending, run.StatusRunning, run.StatusRunning, run.StatusFailed, run.StatusCompleted} {
		for _, ten := range []tenant.ID{owner, other} {
			f.started(ten, func(st *run.State) {
				st.Entity, st.Status = string(rune('a'+i)), status
				st.CreatedAt, st.UpdatedAt = noon.Add(time.Duration(i/2)*time.Second), noon.Add(time.Duration(9-i)*time.Second)
				st.Workflow, st.Version = workflow.ID(fmt.Sprint("wf_", i%2)), workflow.VersionID(fmt.Sprint("wfv_", i%3))
				if i != 2 {
					st.Trigger, st.SubTenant = trigger.ID(fmt.Sprint("trg_", i%2)), "team"
				}
			})
		}
	}
	return owner
}

// RunLists is the contract of outbound.RunRepository.List.
func RunLists(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"a summary shows all but the payload and what the nodes did, of which the edge is that a run failed at": func(f fixture) {
			owner := f.tenant().ID()
			want, empty := runState(owner), pending(owner, func(st *run.State) { st.CreatedAt = noon.Add(-time.Hour) }).State()
			f.start(run.Restore(want), run.Restore(empty))
			summary := func(st run.State) run.Summary {
				if st.Failure != nil {
					failure := *st.Failure
					failure.Edge = ""
					st.Failure = &failure
				}
				return run.Summary{
					ID: st.ID, Tenant: st.Tenant, SubTenant: st.SubTenant, Workflow: st.Workflow, Version: st.Version, Trigger: st.Trigger,
					Entity: st.Entity, DedupeKey: st.DedupeKey, Cause: st.Cause, Status: st.Status, Seq: st.Seq, Failure: st.Failure,
					CreatedAt: st.CreatedAt, UpdatedAt: st.UpdatedAt, StartedAt: st.StartedAt, FinishedAt: st.FinishedAt, WakeAt: st.WakeAt,
				}
			}
			f.same([]run.Summary{summary(want), summary(empty)}, f.runs(owner, run.Filter{}, "", 9, 0).Items)
		},
		"the order is the one asked for, ties by id in the same direction": func(f fixture) {
			owner := f.gallery()
			for order, want := range map[string]string{
				"": "e d c b a of 5", "createdAt": "a b c d e of 5", "-createdAt": "e d c b a of 5", "updatedAt": "e d c b a of 5", "-updatedAt": "a b c d e of 5",
			} {
				if got := f.named(owner, run.Filter{}, order, 9, 0); got != want {
					f.Errorf("by %q: %s, not %s", order, got, want)
				}
			}
		},
		"pages do not overlap, and the total is that of all": func(f fixture) {
			owner := f.gallery()
			for offset, want := range map[int]string{0: "a b of 5", 2: "c d of 5", 4: "e of 5", 6: "of 5"} {
				if got := f.named(owner, run.Filter{}, "createdAt", 2, offset); got != want {
					f.Errorf("at %d: %s, not %s", offset, got, want)
				}
			}
		},
		"filters narrow the list and its total": func(f fixture) {
			owner := f.gallery()
			b, team, none := "b", tenant.SubTenantID("team"), tenant.SubTenantID("")
			from, to := noon.Add(time.Second), noon.Add(2*time.Second)
			for _, c := range []struct {
				filter run.Filter
				want   string
			}{
				{run.Filter{Status: run.StatusRunning}, "b c of 2"}, {run.Filter{Status: run.StatusPaused}, "of 0"},
				{run.Filter{Workflow: "wf_0"}, "a c e of 3"}, {run.Filter{Version: "wfv_1"}, "b e of 2"},
				{run.Filter{Trigger: "trg_0"}, "a e of 2"}, {run.Filter{Entity: &b}, "b of 1"},
				{run.Filter{SubTenant: &team}, "a b d e of 4"}, {run.Filter{SubTenant: &none}, "c of 1"},
				{run.Filter{From: &from}, "c d e of 3"}, {run.Filter{To: &to}, "a b c d of 4"},
				{run.Filter{From: &from, To: &to, Workflow: "wf_0", Status: run.StatusRunning, Version: "wfv_2", SubTenant: &none}, "c of 1"},
				{run.Filter{Workflow: "wf_0", Entity: &b}, "of 0"}, {run.Filter{Status: run.StatusRunning, Workflow: "wf_0"}, "c of 1"},
				{run.Filter{Status: run.StatusRunning, Trigger: "trg_1", From: &noon, To: &from}, "b of 1"},
				{run.Filter{Status: run.StatusRunning, From: &from}, "c of 1"},
			} {
				for _, order := range []string{"createdAt", "-updatedAt"} { // the same one, here
					if got := f.named(owner, c.filter, order, 9, 0); got != c.want {
						f.Errorf("%+v by %s: %s, not %s", c.filter, order, got, c.want)
					}
					_, total, _ := strings.Cut(c.want, "of ")
					if got := f.named(owner, c.filter, order, 9, 9); got != "of "+total {
						f.Errorf("%+v past the end by %s: %s, not of %s", c.filter, order, got, total)
					}
				}
			}
		},
		"another order is refused": func(f fixture) {
			err := f.work.View(f.Context(), func(ctx context.Context, st outbound.Stores) error {
				_, err := st.Runs.Runs.List(ctx, tenant.All("tenant_1"), run.Filter{}, f.query("status", 9, 0))
				return err
			})
			if err == nil {
				f.Error("it was not")
			}
		},
	})
}

// RunOverview is the contract of outbound.RunOverview.
func RunOverview(t *testing.T, open OpenStore) {
	sweptRuns(t, open)
	cases(t, open, map[string]func(f fixture){
		"a trigger is busy until all its runs have finished": func(f fixture) {
			idle, busy, done, foreign := f.trigger(), f.trigger(), f.trigger(), f.trigger()
			over := func(st *run.State) { st.Status, st.FinishedAt = run.StatusFailed, &noon }
			by := func(trg *trigger.Trigger) func(*run.State) {
				return func(st *run.State) { st.Trigger, st.Workflow = trg.ID(), f.workflowOf(trg) }
			}
			f.started(busy.Tenant(), by(busy), over)
			f.started(busy.Tenant(), by(busy), func(st *run.State) { st.Status = run.StatusPaused })
			f.started(done.Tenant(), by(done), over)
			f.started(busy.Tenant(), by(foreign))
			var got, none []bool
			f.read(func(ctx context.Context, st outbound.Stores) (err error) {
				if none, err = st.Runs.Overview.Unfinished(ctx, nil); err != nil {
					return err
				}
				got, err = st.Runs.Overview.Unfinished(ctx, []*trigger.Trigger{idle, busy, done, busy, foreign})
				return err
			})
			f.same([]bool{false, true, false, true, false}, got)
			f.same([]bool{}, none)
		},
		"the unfinished runs of a workflow are found, some at a time": func(f fixture) {
			owner, other := f.tenant().ID(), f.tenant().ID()
			in := func(id workflow.ID) func(*run.State) { return func(st *run.State) { st.Workflow = id } }
			a, b := f.started(owner, in("wf_a")), f.started(owner, in("wf_a"), func(st *run.State) { st.Status = run.StatusPaused })
			f.started(owner, in("wf_a"), func(st *run.State) { st.Status, st.FinishedAt = run.StatusCompleted, &noon })
			f.started(owner, in("wf_b"))
			f.started(other, in("wf_a"))
			for limit, want := range map[int][]run.ID{9: {a.ID(), b.ID()}, 1: {a.ID()}} {
				f.read(func(ctx context.Context, st outbound.Stores) error {
					got, err := st.Runs.Overview.OfWorkflow(ctx, tenant.All(owner), "wf_a", limit)
					f.same(want, got)
					return err
				})
			}
		},
		"workflows whose runs are kept for days of their own are found, some at a time": func(f fixture) {
			owner, days := f.tenant().ID(), 3
			var want []outbound.KeptShorter
			for _, d := range []*int{&days, nil, &days} {
				wf := workflow.Restore(workflow.State{ID: workflow.ID(newID("wf")), Tenant: owner, Name: newID("name"), RunDays: d, CreatedAt: noon, UpdatedAt: noon, Revision: 1})
				f.write(func(ctx context.Context, st outbound.Stores) error { return st.Workflows.Insert(ctx, wf) })
				if d != nil {
					want = append(want, outbound.KeptShorter{Tenant: owner, Workflow: wf.ID(), Days: days})
				}
			}
			slices.SortFunc(want, func(a, b outbound.KeptShorter) int { return cmp.Compare(a.Workflow, b.Workflow) })
			var got []outbound.KeptShorter
			for last := (outbound.KeptShorter{}); ; last = got[len(got)-1] {
				var page []outbound.KeptShorter
				f.read(func(ctx context.Context, st outbound.Stores) (err error) {
					page, err = st.Runs.Origins.KeptShorter(ctx, last, 1)
					return err
				})
				if len(page) == 0 {
					break
				}
				got = append(got, page...)
			}
			f.same(want, slices.DeleteFunc(got, func(k outbound.KeptShorter) bool { return k.Tenant != owner }))
		},
	})
}

func sweptRuns(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"sweeping removes the runs of a tenant that finished long ago, a batch at a time, and their histories": func(f fixture) {
			owner, other := f.tenant().ID(), f.tenant().ID()
			finished := func(minutes int) func(*run.State) {
				at := noon.Add(time.Duration(minutes) * time.Minute)
				return func(st *run.State) { st.Status, st.FinishedAt, st.Trigger = run.StatusCompleted, &at, "trg_1" }
			}
			oldest := f.started(owner, finished(-9), keyed("trg_1", "k", noon))
			oldest = f.step(oldest, outbound.RunLease{})
			kept := []*run.Run{f.started(owner, finished(0)), f.started(owner), f.started(other, finished(-9))}
			f.started(owner, finished(-2))
			f.started(owner, finished(-1))
			ago := func(minutes int) time.Time { return noon.Add(-time.Duration(minutes) * time.Minute) }
			for _, sweep := range []struct {
				from time.Time
				want []time.Time
			}{{ago(1), []time.Time{ago(1)}}, {time.Time{}, []time.Time{ago(9), ago(2)}}, {time.Time{}, []time.Time{}}} {
				f.write(func(ctx context.Context, st outbound.Stores) error {
					swept, err := st.Runs.Overview.Sweep(ctx, outbound.RunSweep{Tenant: owner, From: sweep.from, Before: noon, Limit: 2})
					slices.SortFunc(swept, time.Time.Compare)
					f.same(sweep.want, swept)
					return err
				})
			}
			for _, r := range kept {
				f.holds(r.State())
			}
			if got := f.runs(owner, run.Filter{}, "", 9, 0).Total; got != 2 {
				f.Errorf("%d are left", got)
			}
			if got := f.history(owner, oldest.ID(), 0); len(got) != 0 {
				f.Errorf("the history is %v", got)
			}
			f.started(owner, keyed("trg_1", "k", noon)) // the key is free
		},
		"the runs of one workflow are swept by when they were created, a batch at a time, and no others": func(f fixture) {
			owner := f.tenant().ID()
			ago := func(minutes int) time.Time { return noon.Add(-time.Duration(minutes) * time.Minute) }
			made := func(of workflow.ID, created int, finished *int) *run.Run {
				return f.started(owner, func(st *run.State) {
					st.Workflow, st.CreatedAt = of, ago(created)
					if finished != nil {
						at := ago(*finished)
						st.Status, st.FinishedAt = run.StatusCompleted, &at
					}
				})
			}
			one, none := 1, 0
			kept := []*run.Run{made("wf_a", 9, nil), made("wf_a", 9, &none), made("wf_b", 9, &one)}
			for _, created := range []int{8, 6, 5} {
				made("wf_a", created, &one)
			}
			from := time.Time{}
			for _, want := range [][]time.Time{{ago(8), ago(6)}, {ago(5)}, {}} {
				f.write(func(ctx context.Context, st outbound.Stores) error {
					swept, err := st.Runs.Overview.Sweep(ctx, outbound.RunSweep{Tenant: owner, Workflow: "wf_a", From: from, Before: noon, Limit: 2})
					slices.SortFunc(swept, time.Time.Compare)
					f.same(want, swept)
					for _, at := range swept {
						from = at
					}
					return err
				})
			}
			for _, r := range kept {
				f.holds(r.State())
			}
		},
	})
}
