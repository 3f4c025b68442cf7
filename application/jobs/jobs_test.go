package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/sluicehq/sluice/adapters/directory"
	"github.com/sluicehq/sluice/adapters/expression"
	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/application/jobs"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/job"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// env is a gateway with what the tests of this package do with it.
type env struct {
	*fixture.Env
	jobs *jobs.Service
	ver  *workflow.Version
}

// onEachStore runs a test on both databases.
func onEachStore(t *testing.T, test func(d *env)) {
	t.Helper()
	fixture.OnEachStore(t, func(t *testing.T, store *sqlstore.Store) {
		test(newEnv(fixture.New(t, store)))
	})
}

func newEnv(e *fixture.Env) *env {
	d := &env{Env: e}
	d.jobs, d.ver = d.service(d.Raw), d.NewVersion([]string{fixture.InputNode}, nil)
	return d
}

func (d *env) service(work outbound.UnitOfWork) *jobs.Service {
	return jobs.New(work, d.Clock, system.Random{})
}

func (d *env) worker(work outbound.UnitOfWork) *jobs.Worker {
	known := directory.New(d.Raw)
	known.SetReliable(true)
	return jobs.NewWorker(work, known, expression.Compiler{}, d.RecordedSignals, d.Clock, system.Random{}, d.Key, fixture.UnlimitedBudgets(), d.NewAllowance(), nil)
}

// runs stores runs that ask a person, and have a status.
func (d *env) runs(n int, status run.Status, change ...func(*run.State)) (ids []run.ID) {
	d.Helper()
	ids = d.Accept(d.ver, n, fixture.RunOptions{})
	for _, id := range ids {
		if status != run.StatusPending {
			d.Begin(id)
		}
		d.Do(func(ctx context.Context, st outbound.Stores) error {
			r, err := st.Runs.Runs.Get(ctx, tenant.All(d.Owner), id)
			if err != nil {
				return err
			}
			from, s := r.Seq(), r.State()
			if s.Status = status; status.Finished() {
				s.FinishedAt = &s.UpdatedAt
			}
			if status == run.StatusFailed {
				s.Failure = &run.Failure{Code: "timeout", Message: "It took too long."}
			}
			for _, c := range change {
				c(&s)
			}
			s.Seq++
			return st.Runs.Runs.Record(ctx, outbound.RunStep{Run: run.Restore(s), From: from})
		})
	}
	d.Clock.Set(d.Get(ids[n-1]).CreatedAt().Add(1e9)) // the job is asked for afterwards
	return ids
}

func (d *env) start(action job.Action, f run.Filter) *job.Job {
	d.Helper()
	j, err := d.jobs.Start(d.Context(), d.Caller, domain.IdempotencyKey{}, job.Draft{Action: action, Filter: &f})
	if err != nil {
		d.Fatal(err)
	}
	return j
}

func (d *env) job(id job.ID) *job.Job {
	d.Helper()
	j, err := d.jobs.Get(d.Context(), d.Caller, id)
	if err != nil {
		d.Fatal(err)
	}
	return j
}

// finish works until the job has ended.
func (d *env) finish(w *jobs.Worker, id job.ID) *job.Job {
	d.Helper()
	for range 100 {
		if j := d.job(id); j.Status() != job.Running {
			return j
		}
		if _, err := w.Step(d.Context(), func(error) {}); err != nil {
			d.Fatal(err)
		}
	}
	d.Fatal("the job does not end")
	return nil
}

// repeats counts the runs that repeat each of the runs.
func (d *env) repeats(ids []run.ID) map[run.ID]int {
	d.Helper()
	n := make(map[run.ID]int)
	for _, s := range d.RunsOf(d.Owner) {
		if s.RerunOf != "" {
			n[s.RerunOf]++
		}
	}
	for _, id := range ids {
		if n[id] != 1 {
			d.Errorf("%s is repeated %d times", id, n[id])
		}
	}
	return n
}

// dying are units in which processes die: before the commit, or after it.
func dying(work outbound.UnitOfWork) *portstest.DyingUnits {
	return &portstest.DyingUnits{UnitOfWork: work, Before: func(n int64) bool { return n%3 == 0 }, After: func(n int64) bool { return n%5 == 0 }}
}

func TestEachRunIsRepeatedOnceWhateverProcessDies(t *testing.T) {
	onEachStore(t, func(d *env) {
		ids := d.runs(7, run.StatusFailed)
		large := func(st *run.State) { // so that a batch is of one run
			st.Nodes[0].Output, st.Nodes[0].OutputSeq = fixture.Body(`"`+fmt.Sprintf("%02000000d", 1)+`"`), st.Seq+1
		}
		ids = append(ids, d.runs(5, run.StatusCompleted, large)...)
		j := d.start(job.Rerun, run.Filter{})
		if j.Matched() != len(ids) {
			d.Fatalf("%d are matched", j.Matched())
		}
		died := 0
		for work := dying(d.Raw); d.job(j.ID()).Status() == job.Running; {
			_, err := d.worker(work).Step(d.Context(), func(err error) { d.Error(err) }) // a process of its own
			if errors.Is(err, portstest.ErrDied) {
				died++
			} else if err != nil {
				d.Fatal(err)
			}
			err = d.Raw.Statements(d.Context(), func(u *core.Unit) error {
				_, err := u.Exec(d.Context(), "end leases", `UPDATE jobs SET leased_until = created_at`)
				return err
			})
			if err != nil {
				d.Fatal(err)
			}
		}
		if j = d.job(j.ID()); j.Done() != len(ids) || j.Failed() != 0 || died < 3 {
			d.Errorf("after %d deaths it is %+v", died, j.State())
		}
		if n := d.repeats(ids); len(n) != len(ids) {
			d.Errorf("%d runs are repeated", len(n))
		}
	})
}

func TestEachActionDoesWhatItDoesToARunAlone(t *testing.T) {
	onEachStore(t, func(d *env) {
		paused, failed := d.runs(3, run.StatusPaused), d.runs(3, run.StatusFailed)
		w := d.worker(d.Raw)
		j := d.start(job.Cancel, run.Filter{Status: run.StatusPaused})
		d.RecordedSignals.Since()
		if j = d.finish(w, j.ID()); j.Done() != 3 || j.Failed() != 0 {
			d.Errorf("cancelling: %+v", j.State())
		}
		d.Same(paused, d.RecordedSignals.Since())
		for _, id := range paused {
			d.Same(run.StatusCancelled, d.Get(id).Status())
			d.Same([]string{"run.cancelled"}, d.Events(id))
		}
		j = d.start(job.Retry, run.Filter{})
		gone := d.Get(failed[0])
		if _, err := d.Runs.Retry(d.Context(), d.Caller, domain.IdempotencyKey{}, gone.ID()); err != nil {
			d.Fatal(err)
		}
		j = d.finish(w, j.ID())
		if j.Done() != 2 || j.Failed() != 1 || j.Failures()[0].Run != gone.ID() || j.Failures()[0].Code != "run_not_failed" || j.Failures()[0].Message == "" {
			d.Errorf("retrying: %+v", j.State())
		}
		for _, id := range failed {
			if r := d.Get(id); r.Retries() != 1 {
				d.Errorf("%s was retried %d times", id, r.Retries())
			}
		}
	})
}

// failing has the reading of one run fail.
type failing struct {
	outbound.RunRepository
	id  run.ID
	why func() error
}

func (s failing) Get(ctx context.Context, scope tenant.Scope, id run.ID) (*run.Run, error) {
	if id == s.id {
		return nil, s.why()
	}
	return s.RunRepository.Get(ctx, scope, id)
}

func TestARunThatCannotBeDealtWithKeepsNoOtherFromIt(t *testing.T) {
	for claim, why := range map[string]func() error{
		"a defect": func() error { return errors.New("it cannot be read") },
		"a panic":  func() error { panic("it cannot be read") },
	} {
		t.Run(claim, func(t *testing.T) {
			onEachStore(t, func(d *env) {
				ids := d.runs(4, run.StatusFailed)
				j := d.start(job.Rerun, run.Filter{})
				d.Store.WrapWrite = func(st outbound.Stores) outbound.Stores {
					st.Runs.Runs = failing{st.Runs.Runs, ids[1], why}
					return st
				}
				var logged []error
				w := d.worker(d.Store)
				if _, err := w.Step(d.Context(), func(err error) { logged = append(logged, err) }); err != nil {
					d.Fatal(err)
				}
				j = d.job(j.ID())
				if j.Status() != job.Completed || j.Done() != 3 || j.Failed() != 1 || j.Failures()[0].Run != ids[1] || j.Failures()[0].Code != "internal_error" || len(logged) != 1 {
					d.Errorf("it is %+v, and the log has %v", j.State(), logged)
				}
				d.repeats([]run.ID{ids[0], ids[2], ids[3]})
				if panicked := w.Panics() > 0; panicked != (claim == "a panic") {
					d.Errorf("%d panics", w.Panics())
				}
			})
		})
	}
}

func TestAStoreThatIsGoneIsNoFailureOfARun(t *testing.T) {
	onEachStore(t, func(d *env) {
		ids := d.runs(2, run.StatusFailed)
		j := d.start(job.Rerun, run.Filter{})
		d.Store.WrapWrite = func(st outbound.Stores) outbound.Stores {
			st.Runs.Runs = failing{st.Runs.Runs, ids[1], func() error { return domain.Fail(domain.Unavailable, "database_busy", "Later.") }}
			return st
		}
		if _, err := d.worker(d.Store).Step(d.Context(), func(error) {}); !errors.Is(err, domain.Unavailable) {
			d.Errorf("the error is %v", err)
		}
		if got := d.job(j.ID()); got.Done()+got.Failed() != 0 || got.Status() != job.Running {
			d.Errorf("it is %+v", got.State())
		}
	})
}

func TestRepeatingAndRetryingHoldToTheBudgetOfLiveRuns(t *testing.T) {
	for _, action := range []job.Action{job.Rerun, job.Retry} {
		onEachStore(t, func(d *env) {
			d.runs(3, run.StatusFailed)
			d.SetBudgets(tenant.Budgets{LiveRuns: 2})
			j := d.finish(d.worker(d.Raw), d.start(action, run.Filter{}).ID())
			if j.Done() != 2 || j.Failed() != 1 || j.Failures()[0].Code != tenant.CodeBudgetExceeded {
				d.Errorf("%s: it is %+v", action, j.State())
			}
		})
	}
}

func TestRepeatingHoldsToTheStorage(t *testing.T) {
	onEachStore(t, func(d *env) {
		d.runs(3, run.StatusFailed)
		d.SetBudgets(tenant.Budgets{BytesKept: 1})
		j := d.finish(d.worker(d.Raw), d.start(job.Rerun, run.Filter{}).ID())
		if j.Done() != 0 || j.Failed() != 3 || j.Failures()[2].Code != "storage_exceeded" {
			d.Errorf("it is %+v", j.State())
		}
	})
}

func TestRetryingHoldsToTheLimitOfALane(t *testing.T) {
	onEachStore(t, func(d *env) {
		trg := d.NewTrigger(d.ver, `{"concurrency": {"key": "\"one\"", "limit": 1, "overflow": "queue"}}`)
		var ids []run.ID
		for range 3 {
			fired := d.Call(trg, run.Call{})
			ids = append(ids, fired.Run)
		}
		for _, id := range ids {
			d.Do(func(ctx context.Context, st outbound.Stores) error {
				r, err := st.Runs.Runs.Get(ctx, tenant.All(d.Owner), id)
				if err != nil {
					return err
				}
				from, made := r.Seq(), r.GiveUp(r.CreatedAt())
				return st.Runs.Runs.Record(ctx, outbound.RunStep{Run: r, From: from, History: made.History, Turned: made.Turned})
			})
		}
		d.Clock.Set(d.Clock.Now().Add(1e9))
		j := d.finish(d.worker(d.Raw), d.start(job.Retry, run.Filter{Trigger: trg.ID()}).ID())
		if j.Done() != 1 || j.Failed() != 2 || j.Failures()[0].Code != "concurrency_limit" {
			d.Errorf("it is %+v", j.State())
		}
	})
}

// advance makes a step of a run as a worker does.
func (d *env) advance(id run.ID, fact run.Fact) *run.Run {
	d.Helper()
	known := directory.New(d.Raw)
	known.SetReliable(true)
	r := d.Get(id)
	plan, err := execution.NewPlans(d.Raw, known, expression.Compiler{}, fixture.UnlimitedBudgets(), 0).Of(d.Context(), d.Owner, r.Source())
	if err != nil {
		d.Fatal(err)
	}
	from := r.Seq()
	made, err := r.Advance(plan, run.Event{At: d.Clock.Now(), Secret: d.Key.Secret(id), Fact: fact})
	if err != nil || made.Refused != nil {
		d.Fatal(err, made.Refused)
	}
	d.Do(func(ctx context.Context, st outbound.Stores) error {
		_, err := execution.Record(ctx, st, system.Random{}, execution.Step{Made: made, Written: outbound.RunStep{Run: r, From: from}})
		return err
	})
	return r
}

// A loop that goes on has its items begin again, of which the job has some, too. What is in a lane
// is recorded before the others.
func TestAnItemThatBeginsAgainWithItsLoopCountsOnce(t *testing.T) {
	onEachStore(t, func(d *env) {
		d.ver = d.NewVersion([]string{`each forEach {"items": "payload.list"}`, "each/call " + fixture.CallNode}, nil)
		trg := d.NewTrigger(d.ver, `{"concurrency": {"key": "\"one\"", "limit": 9, "overflow": "queue"}}`)
		var parents []run.ID
		for range 2 {
			parents = append(parents, d.Call(trg, run.Call{EventData: fixture.Body(`{"list": [1]}`)}).Run)
		}
		for _, id := range parents {
			d.advance(id, run.Started{})
			items, err := d.Runs.List(d.Context(), d.Caller, run.Filter{Parent: id}, domain.Query{})
			if err != nil || len(items.Items) != 1 {
				d.Fatal(items, err)
			}
			d.advance(items.Items[0].ID, run.Started{})
			item := d.advance(items.Items[0].ID, run.AttemptFailed{Node: "call", Attempt: 1, Code: "http_404", Message: "No."})
			d.Same(run.StatusFailed, item.Status())
			d.advance(id, run.ItemsEnded{Node: "each", Count: 1, Items: []run.Outcome{item.Outcome()}})
			d.Same(run.StatusFailed, d.Get(id).Status())
		}
		d.Clock.Set(d.Clock.Now().Add(1e9))
		d.finish(d.worker(d.Raw), d.start(job.Retry, run.Filter{Children: true}).ID())
		for _, id := range parents {
			d.Do(func(ctx context.Context, st outbound.Stores) error {
				loops, err := st.Runs.Loops.Of(ctx, d.Owner, id)
				if err != nil || len(loops) != 1 || loops[0].Live != 1 {
					d.Errorf("the loop is %+v, %v", loops, err)
				}
				return nil
			})
		}
	})
}

func TestACancelledJobLeavesTheOtherRunsAlone(t *testing.T) {
	onEachStore(t, func(d *env) {
		ids := d.runs(3, run.StatusPaused)
		j := d.start(job.Cancel, run.Filter{})
		once := fixture.Keyed("cancel")
		got, err := d.jobs.Cancel(d.Context(), d.Caller, once, j.ID())
		if err != nil || got.Status() != job.Cancelled {
			d.Fatal(got, err)
		}
		if _, err := d.jobs.Cancel(d.Context(), d.Caller, once, j.ID()); fixture.Replayed(err) == "" {
			d.Errorf("a repeat of the request gave %v", err)
		}
		_, err = d.jobs.Cancel(d.Context(), d.Caller, domain.IdempotencyKey{}, j.ID())
		d.WantCode(err, domain.Conflict, "job_finished")
		if worked, err := d.worker(d.Raw).Step(d.Context(), func(error) {}); worked || err != nil {
			d.Errorf("somebody works on it: %v", err)
		}
		for _, id := range ids {
			d.Same(run.StatusPaused, d.Get(id).Status())
		}
	})
}

func TestAJobOfASubTenantComesToItsRunsOnly(t *testing.T) {
	onEachStore(t, func(d *env) {
		others := d.runs(2, run.StatusPaused)
		narrow := d.Caller
		narrow.Scope = tenant.Only(d.Owner, "team")
		j, err := d.jobs.Start(d.Context(), narrow, domain.IdempotencyKey{}, job.Draft{Action: job.Cancel, Filter: &run.Filter{}})
		if err != nil || j.Matched() != 0 || j.Status() != job.Completed {
			d.Fatal(j, err)
		}
		for _, id := range others {
			d.Same(run.StatusPaused, d.Get(id).Status())
		}
		whole := d.start(job.Cancel, run.Filter{})
		_, err = d.jobs.Get(d.Context(), narrow, whole.ID())
		d.WantCode(err, domain.NotFound, "job_not_found")
	})
}

// writing counts units that write.
type writing struct {
	outbound.UnitOfWork
	units int
}

// Do counts.
func (w *writing) Do(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	w.units++
	return w.UnitOfWork.Do(ctx, fn)
}

func TestAWorkerWithoutAJobWritesNothing(t *testing.T) {
	onEachStore(t, func(d *env) {
		work := &writing{UnitOfWork: d.Raw}
		if worked, err := d.worker(work).Step(d.Context(), func(err error) { d.Error(err) }); worked || err != nil || work.units > 0 {
			d.Errorf("it worked: %t, in %d units: %v", worked, work.units, err)
		}
	})
}
