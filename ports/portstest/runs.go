package portstest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// RunStores runs the suites of the repositories of runs.
func RunStores(t *testing.T, open OpenStore) {
	t.Run("Starts", func(t *testing.T) { RunStarts(t, open) })
	t.Run("SharedPayloads", func(t *testing.T) { SharedPayloads(t, open) })
	t.Run("KeptBytes", func(t *testing.T) { KeptBytes(t, open) })
	t.Run("LargeOutputs", func(t *testing.T) { LargeOutputs(t, open) })
	t.Run("Steps", func(t *testing.T) { RunSteps(t, open) })
	t.Run("StepsTogether", func(t *testing.T) { RunStepsTogether(t, open) })
	t.Run("Awaiting", func(t *testing.T) { RunsAwaiting(t, open) })
	t.Run("Pauses", func(t *testing.T) { RunsPauses(t, open) })
	t.Run("Lists", func(t *testing.T) { RunLists(t, open) })
	t.Run("Queue", func(t *testing.T) { RunQueue(t, open) })
	t.Run("Lanes", func(t *testing.T) { RunLanes(t, open) })
	t.Run("Turns", func(t *testing.T) { RunTurns(t, open) })
	t.Run("Overview", func(t *testing.T) { RunOverview(t, open) })
	t.Run("Questions", func(t *testing.T) { RunQuestions(t, open) })
	t.Run("All", func(t *testing.T) { AllRuns(t, open) })
	t.Run("Families", func(t *testing.T) { RunFamilies(t, open) })
	t.Run("Loops", func(t *testing.T) { RunLoops(t, open) })
}

// runState is a run with every member filled in.
func runState(owner tenant.ID) run.State {
	at := func(seconds int) *time.Time {
		t := noon.Add(time.Duration(seconds) * time.Second)
		return &t
	}
	failure := &run.Failure{Code: "upstream_failed", Message: `it's "so" é <&> \`, Node: "b"}
	undecided := &run.Failure{Code: "edge_condition_failed", Message: `a -> "é" <&> \`, Node: "a", Edge: "edge_1"}
	return run.State{
		Origin: run.Origin{
			ID: run.ID(newID("run")), Tenant: owner, SubTenant: "team é", Workflow: "wf_1", Version: "wfv_1", Trigger: "trg_1", TriggerName: "Orders <new>",
			TriggerType: trigger.Webhook, Entity: "customer 7 \\ é", DedupeKey: newID("key"), Cause: run.CauseByEvent,
			Payload: json.RawMessage(`{"z":1.50,"a":"é <b> \u0000 \"","n":null}`),
			Retry:   workflow.RetryPolicy{MaxRetries: 7, Backoff: 1500 * time.Millisecond, MaxBackoff: 90 * time.Second}, Timeout: 77 * time.Minute, CreatedAt: noon, Lane: run.Lane{Name: "trg_1:é", Limit: 7},
		},
		Status: run.StatusFailed, Seq: 9, UpdatedAt: *at(5), StartedAt: at(1), FinishedAt: at(6), WakeAt: at(7), Failure: undecided,
		Progress: run.Progress{
			Nodes: []run.NodeState{
				{
					ID: "a", Status: run.NodeCompleted, Attempts: 3, AttemptsBeforeRetry: 1, Branch: "true", Dead: []int{0, 2}, Output: json.RawMessage(`[1,"é\u0000"]`),
					Undecided: []workflow.EdgeID{"edge_1", "edge_2"},
					StartedAt: at(1), FinishedAt: at(2),
					Pause: &run.Pause{Kind: run.PauseCustom, Event: "paid", Since: *at(1), Until: at(2), Seq: 3, TokenHash: "hash"},
				},
				{ID: "b", Status: run.NodeFailed, Failure: failure, Handled: true, RetryAt: at(4)},
				{ID: "c", Status: run.NodePending, OutputOf: "a", OutputIsInput: true},
			},
			Executed: []workflow.NodeID{"a"}, Retries: 2, Used: 3 * time.Second, ActiveSince: at(3),
		},
	}
}

// pending makes a run that has just been accepted, without storing it.
func pending(owner tenant.ID, change ...func(*run.State)) *run.Run {
	r := run.New(run.ID(newID("run")), run.Start{
		Tenant: owner, Workflow: "wf_1", Version: "wfv_1", Entity: "customer", DedupeKey: newID("key"), Cause: run.CauseManual,
	}, noon)
	if len(change) == 0 {
		return r
	}
	st := r.State()
	for _, c := range change {
		c(&st)
	}
	return run.Restore(st)
}

// start stores runs, all of which must be added.
func (f fixture) start(runs ...*run.Run) {
	f.Helper()
	for _, s := range f.starts(runs...) {
		if !s.Added {
			f.Fatalf("run %s stands for another one", s.ID)
		}
	}
}

func (f fixture) starts(runs ...*run.Run) (started []outbound.StartedRun) {
	f.Helper()
	f.write(func(ctx context.Context, st outbound.Stores) (err error) {
		started, err = st.Runs.Runs.Start(ctx, runs...)
		return err
	})
	return started
}

// started stores a new run.
func (f fixture) started(owner tenant.ID, change ...func(*run.State)) *run.Run {
	f.Helper()
	r := pending(owner, change...)
	f.start(r)
	return r
}

func (f fixture) getRun(owner tenant.ID, id run.ID) (r *run.Run, err error) {
	err = f.work.View(f.Context(), func(ctx context.Context, st outbound.Stores) error {
		r, err = st.Runs.Runs.Get(ctx, tenant.All(owner), id)
		return err
	})
	return r, err
}

// holds checks a run as it is stored.
func (f fixture) holds(want run.State) {
	f.Helper()
	got, err := f.getRun(want.Tenant, want.ID)
	if err != nil {
		f.Fatal(err)
	}
	f.same(want, got.State())
}

// same compares values; a list that is empty equals one that is not there.
func (f fixture) same(want, got any) {
	f.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), wholeDocuments); diff != "" {
		f.Error(diff)
	}
}

// wholeDocuments has documents compared as wholes: byte by byte takes minutes over large ones.
var wholeDocuments = cmp.FilterValues(func(x, y json.RawMessage) bool { return len(x)+len(y) > 0 },
	cmp.Transformer("asText", func(doc json.RawMessage) string { return string(doc) }))

func keyed(of trigger.ID, key string, created time.Time) func(*run.State) {
	return func(st *run.State) { st.Trigger, st.DedupeKey, st.CreatedAt = of, key, created }
}

// RunStarts is the contract of outbound.RunRepository for starting and reading runs.
func RunStarts(t *testing.T, open OpenStore) {
	cases(t, open, startedOnce())
	cases(t, open, notStarted())
}

// startedOnce are claims about what a start stores, and about its key.
func startedOnce() map[string]func(f fixture) {
	return map[string]func(f fixture){
		"every field comes back, and so do those that are absent": func(f fixture) {
			owner := f.tenant().ID()
			full, empty := run.Restore(runState(owner)), pending(owner)
			f.start(full, empty)
			f.holds(full.State())
			f.holds(empty.State())
		},
		"a dedupe key stands for the first run for a day": func(f fixture) {
			owner := f.tenant().ID()
			first := f.started(owner, keyed("trg_1", "k", noon))
			again := pending(owner, keyed("trg_1", "k", noon.Add(outbound.DedupeRetention-time.Millisecond)))
			f.same([]outbound.StartedRun{{ID: first.ID()}}, f.starts(again))
			f.wantError(errorOf(f.getRun(owner, again.ID())), domain.NotFound, "run_not_found")
			f.holds(first.State())

			next := f.started(owner, keyed("trg_1", "k", noon.Add(outbound.DedupeRetention)))
			last := pending(owner, keyed("trg_1", "k", next.CreatedAt().Add(time.Hour)))
			f.same([]outbound.StartedRun{{ID: next.ID()}}, f.starts(last))
			f.holds(first.State())
		},
		"a key that is given twice in one call stands for one of the two": func(f fixture) {
			owner := f.tenant().ID()
			a, b, c := pending(owner, keyed("trg_1", "k", noon)), pending(owner, keyed("trg_1", "k", noon)), pending(owner, keyed("trg_1", "l", noon))
			f.same([]outbound.StartedRun{{ID: a.ID(), Added: true}, {ID: a.ID()}, {ID: c.ID(), Added: true}}, f.starts(a, b, c))
		},
		"a key counts for its trigger and tenant only, and not without a trigger": func(f fixture) {
			owner, other := f.tenant().ID(), f.tenant().ID()
			f.started(owner, keyed("trg_1", "k", noon))
			f.started(owner, keyed("trg_2", "k", noon))
			f.started(owner, keyed("trg_1", "K", noon))
			f.started(other, keyed("trg_1", "k", noon))
			for range 2 {
				f.started(owner, keyed("", "k", noon))
				f.started(owner, keyed("trg_1", "", noon))
			}
		},
		"of many units that start a run with one key one adds it and all name it": func(f fixture) {
			owner := f.tenant().ID()
			for _, created := range []time.Time{noon, noon.Add(outbound.DedupeRetention)} { // the second time the key is there and has served its time
				var mu sync.Mutex
				added, named := 0, make(map[run.ID]bool)
				var done sync.WaitGroup
				for range 12 {
					done.Go(func() {
						for _, s := range f.starts(pending(owner, keyed("trg_1", "k", created)), pending(owner)) {
							mu.Lock()
							if s.Added {
								added++
							}
							named[s.ID] = true
							mu.Unlock()
						}
					})
				}
				done.Wait()
				if added != 13 || len(named) != 13 { // those without a trigger among them
					f.Errorf("%d were added, %d are named", added, len(named))
				}
			}
		},
	}
}

// notStarted are claims about starts without an effect, and about what happens to runs later.
func notStarted() map[string]func(f fixture) {
	return map[string]func(f fixture){
		"a unit that fails starts nothing, and its key is free": func(f fixture) {
			owner := f.tenant().ID()
			r := pending(owner, keyed("trg_1", "k", noon))
			err := f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
				_, err := st.Runs.Runs.Start(ctx, r)
				return errors.Join(err, errOnPurpose)
			})
			if !errors.Is(err, errOnPurpose) {
				f.Fatal(err)
			}
			f.wantError(errorOf(f.getRun(owner, r.ID())), domain.NotFound, "run_not_found")
			f.start(r)
		},
		"a run cannot be started where nothing may be written": func(f fixture) {
			r := pending(f.tenant().ID())
			for _, unit := range []func(context.Context, func(context.Context, outbound.Stores) error) error{f.work.View, f.work.Read} {
				err := unit(f.Context(), func(ctx context.Context, st outbound.Stores) error {
					_, err := st.Runs.Runs.Start(ctx, r)
					return err
				})
				if err == nil {
					f.Error("it could")
				}
			}
			f.wantError(errorOf(f.getRun(r.Tenant(), r.ID())), domain.NotFound, "run_not_found")
		},
		"nothing to start is fine": func(f fixture) { f.same([]outbound.StartedRun{}, f.starts()) },
		"a run of another tenant is as if it did not exist": func(f fixture) {
			r, other := f.started(f.tenant().ID()), f.tenant().ID()
			_, err := f.getRun(other, r.ID())
			f.wantError(err, domain.NotFound, "run_not_found")
			if absent := errorOf(f.getRun(other, "run_absent")); err.Error() != absent.Error() {
				f.Errorf("%q differs from %q", err, absent)
			}
			stolen := r.State()
			stolen.Tenant, stolen.Seq = other, 1
			f.wantError(f.tryStep(outbound.RunStep{Run: run.Restore(stolen)}), domain.NotFound, "run_not_found")
			f.holds(r.State())
			if got := f.history(other, r.ID(), 0); len(got) > 0 {
				f.Errorf("the other tenant sees %v", got)
			}
		},
		"runs stay when their workflow is deleted, and go with their tenant": func(f fixture) {
			trg := f.trigger()
			ver, err := f.getVersion(trg.Tenant(), trg.Version())
			if err != nil {
				f.Fatal(err)
			}
			r := f.started(trg.Tenant(), func(st *run.State) { st.Workflow, st.Version, st.Trigger = ver.Workflow(), ver.ID(), trg.ID() })
			r = f.step(r, outbound.RunLease{}, func(st *run.State) { st.Status = run.StatusRunning })
			f.write(func(ctx context.Context, st outbound.Stores) error {
				return st.Workflows.Delete(ctx, tenant.All(r.Tenant()), r.Workflow())
			})
			f.holds(r.State())
			if got := f.history(r.Tenant(), r.ID(), 0); len(got) != 1 {
				f.Errorf("the history is %v", got)
			}
			f.write(func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Delete(ctx, r.Tenant()) })
			f.wantError(errorOf(f.getRun(r.Tenant(), r.ID())), domain.NotFound, "run_not_found")
			if got := f.history(r.Tenant(), r.ID(), 0); len(got) != 0 {
				f.Errorf("the history is %v", got)
			}
		},
		"thousands of runs are started in a few calls": func(f fixture) {
			owner, n := f.tenant().ID(), thousands()
			f.burst(owner, n)
			if got := f.runs(owner, run.Filter{}, "", 1, n-1); got.Total != n || len(got.Items) != 1 {
				f.Errorf("%d of %d", len(got.Items), got.Total)
			}
		},
	}
}

// thousands is how many runs make a backlog; fewer where each takes long.
func thousands() int {
	if testing.Short() {
		return 2_000
	}
	return 10_000
}

// burst starts many runs of a tenant.
func (f fixture) burst(owner tenant.ID, n int) {
	f.Helper()
	const batch = 1000
	for done := 0; done < n; done += batch {
		var some []*run.Run
		for range min(batch, n-done) {
			some = append(some, pending(owner))
		}
		f.start(some...)
	}
}

// history reads the entries of a run after one, part by part.
func (f fixture) history(owner tenant.ID, id run.ID, after int64) (entries []run.Entry) {
	f.Helper()
	f.read(func(ctx context.Context, st outbound.Stores) error {
		for more := true; more; {
			var part []run.Entry
			var err error
			if part, more, err = st.Runs.Runs.History(ctx, tenant.All(owner), id, after); err != nil {
				return err
			}
			if entries = append(entries, part...); more && len(part) == 0 {
				f.Fatal("more follows nothing")
			} else if more {
				after = part[len(part)-1].Seq
			}
		}
		return nil
	})
	return entries
}

// stepped is a step of a run with one entry, without storing it.
func stepped(r *run.Run, lease outbound.RunLease, change ...func(*run.State)) outbound.RunStep {
	st := r.State()
	st.Seq++
	st.UpdatedAt = st.UpdatedAt.Add(time.Second)
	for _, c := range change {
		c(&st)
	}
	entry := run.Entry{Seq: st.Seq, At: st.UpdatedAt, Type: run.EntryNodeStarted, Node: workflow.NodeID(fmt.Sprint("n", st.Seq))}
	return outbound.RunStep{Run: run.Restore(st), From: r.Seq(), History: []run.Entry{entry}, Lease: lease}
}

func (f fixture) tryStep(s outbound.RunStep) error {
	return f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error { return st.Runs.Runs.Record(ctx, s) })
}

// step records a step, which must be accepted, and returns the run after it.
func (f fixture) step(r *run.Run, lease outbound.RunLease, change ...func(*run.State)) *run.Run {
	f.Helper()
	s := stepped(r, lease, change...)
	if err := f.tryStep(s); err != nil {
		f.Fatal(err)
	}
	return s.Run
}
