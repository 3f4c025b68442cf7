package portstest

import (
	"context"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

func ofVersion(ver *workflow.Version) func(*run.State) {
	return func(st *run.State) { st.Workflow, st.Version = ver.Workflow(), ver.ID() }
}

// RunQuestions is the contract of outbound.RunOverview for what is asked before something
// is done.
func RunQuestions(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"a version is executed until all its runs have finished": func(f fixture) {
			owner, other := f.tenant().ID(), f.tenant().ID()
			executes := func(id workflow.VersionID, want bool) {
				f.Helper()
				f.read(func(ctx context.Context, st outbound.Stores) error {
					got, err := st.Runs.Overview.Executes(ctx, tenant.All(owner), "wf_1", id)
					if got != want {
						f.Errorf("%s is executed: %v", id, got)
					}
					return err
				})
			}
			in := func(id workflow.VersionID) func(*run.State) { return func(st *run.State) { st.Version = id } }
			r := f.started(owner, in("wfv_a"), func(st *run.State) { st.Status = run.StatusPaused })
			f.started(owner, in("wfv_b"), func(st *run.State) { st.Status, st.FinishedAt = run.StatusCompleted, &noon })
			f.started(other, in("wfv_b"))
			executes("wfv_a", true)
			executes("wfv_b", false)
			f.step(r, outbound.RunLease{}, func(st *run.State) { st.Status, st.FinishedAt = run.StatusCancelled, &noon })
			executes("wfv_a", false)
		},
		"a dedupe key stands for a run of each trigger, for a while": func(f fixture) {
			owner, other := f.tenant().ID(), f.tenant().ID()
			a := f.started(owner, keyed("trg_a", "k", noon))
			f.started(owner, keyed("trg_b", "k", noon.Add(-time.Second)))
			f.started(owner, keyed("trg_c", "K", noon))
			f.started(other, keyed("trg_d", "k", noon))
			d := f.started(owner, keyed("trg_e", "k", noon.Add(time.Hour)))
			f.read(func(ctx context.Context, st outbound.Stores) error {
				got, err := st.Runs.Overview.StartedWith(ctx, tenant.All(owner), []trigger.ID{"trg_e", "trg_d", "trg_c", "trg_b", "trg_a", "trg_a"}, "k", noon.Add(-time.Second))
				f.same([]run.ID{d.ID(), "", "", "", a.ID(), a.ID()}, got)
				return err
			})
		},
		"how far runs are is told of each": func(f fixture) {
			a, b := f.started(f.tenant().ID()), f.started(f.tenant().ID())
			f.step(a, outbound.RunLease{})
			f.read(func(ctx context.Context, st outbound.Stores) error {
				got, err := st.Runs.Overview.Seqs(ctx, []outbound.RunKey{
					{Scope: tenant.All(b.Tenant()), Run: b.ID()}, {Scope: tenant.All(a.Tenant()), Run: a.ID()}, {Scope: tenant.All(b.Tenant()), Run: a.ID()}, {Scope: tenant.All(a.Tenant()), Run: a.ID()},
				})
				f.same([]int64{0, 1, -1, 1}, got)
				return err
			})
		},
		"the origins of unfinished runs are found once each, with whether their workflow is there, some at a time": func(f fixture) {
			a, b := f.tenant().ID(), f.tenant().ID()
			here := f.version(f.workflow(a, ""))
			from := func(id trigger.ID) func(*run.State) { return func(st *run.State) { st.Trigger = id } }
			in := func(id workflow.ID) func(*run.State) { return func(st *run.State) { st.Workflow = id } }
			for range 3 {
				f.started(a, ofVersion(here), from("trg_1"))
				f.started(a, in("wf_gone"), from("trg_2"))
			}
			f.started(a, in("wf_gone"), from(""), func(st *run.State) { st.Status = run.StatusPaused })
			f.started(a, in("wf_gone"), from("trg_3"), func(st *run.State) { st.Status, st.FinishedAt = run.StatusCancelled, &noon })
			f.started(b, in(here.Workflow()), from("trg_1")) // a workflow of another tenant
			all := []outbound.RunOrigin{
				{Tenant: a, Workflow: here.Workflow()},
				{Tenant: b, Workflow: here.Workflow(), Orphaned: true},
				{Tenant: a, Workflow: "wf_gone", Orphaned: true},
			}
			for _, limit := range []int{1, 2, 3, 9} {
				var got []outbound.RunOrigin
				for last, more := (outbound.RunOrigin{}), true; more; {
					f.read(func(ctx context.Context, st outbound.Stores) error {
						some, err := st.Runs.Origins.Live(ctx, last, limit)
						if more = len(some) == limit; len(some) > 0 {
							last = some[len(some)-1]
						}
						got = append(got, some...)
						return err
					})
				}
				f.same(all, got)
			}
		},
	})
}
