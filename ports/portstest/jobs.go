package portstest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/job"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// jobTime is when the jobs of the suite are asked for.
var jobTime = noon.Add(time.Second)

func (f fixture) newJob(scope tenant.Scope, action job.Action, filter run.Filter) *job.Job {
	f.Helper()
	j, err := job.New(job.ID(newID("job")), scope, job.Draft{Action: action, Filter: &filter}, jobTime)
	if err != nil {
		f.Fatal(err)
	}
	return j
}

// tryJob stores a job with at most so many runs.
func (f fixture) tryJob(j *job.Job, limit int) error {
	return f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
		if err := st.Runs.Jobs.Insert(ctx, j); err != nil {
			return err
		}
		n, err := st.Runs.Jobs.Collect(ctx, j, limit)
		if err != nil {
			return err
		}
		if err := j.Begin(n, jobTime); err != nil {
			return err
		}
		return st.Runs.Jobs.Update(ctx, j)
	})
}

// job stores a job and returns its runs.
func (f fixture) job(j *job.Job) (all []run.ID) {
	f.Helper()
	if err := f.tryJob(j, job.MaxRuns); err != nil {
		f.Fatal(err)
	}
	for _, one := range f.jobRuns(j, job.MaxRuns) {
		all = append(all, one.ID)
	}
	if j.Matched() != len(all) {
		f.Errorf("%d runs are matched, and %d kept", j.Matched(), len(all))
	}
	return all
}

func (f fixture) jobRuns(j *job.Job, limit int) (found []outbound.JobRun) {
	f.Helper()
	f.read(func(ctx context.Context, st outbound.Stores) (err error) {
		found, err = st.Runs.JobQueue.Runs(ctx, j, limit)
		return err
	})
	return found
}

func (f fixture) getJob(scope tenant.Scope, id job.ID) (j *job.Job, err error) {
	err = f.work.View(f.Context(), func(ctx context.Context, st outbound.Stores) error {
		j, err = st.Runs.Jobs.Get(ctx, scope, id)
		return err
	})
	return j, err
}

// claimJob leases a job; it is empty where there is none.
func (f fixture) claimJob(period time.Duration) (id job.ID) {
	f.Helper()
	f.write(func(ctx context.Context, st outbound.Stores) error {
		claimed, err := st.Runs.JobQueue.Claim(ctx, period)
		if id = ""; claimed.Job != nil {
			id = claimed.Job.ID()
		}
		return err
	})
	return id
}

func (f fixture) updateJob(j *job.Job) {
	f.Helper()
	f.write(func(ctx context.Context, st outbound.Stores) error { return st.Runs.Jobs.Update(ctx, j) })
}

func status(s run.Status) func(*run.State) {
	return func(st *run.State) {
		if st.Status = s; s.Finished() {
			st.FinishedAt = &noon
		}
	}
}

// UnreadableJobs is the contract of outbound.JobQueue for a job that cannot be read: it keeps none
// of the others waiting.
func UnreadableJobs(t *testing.T, open func(t *testing.T) DamageableStore) {
	store := open(t)
	f := fixture{t, store}
	var all []*job.Job
	for range 2 {
		owner := f.tenant().ID()
		f.started(owner)
		j := f.newJob(tenant.All(owner), job.Cancel, run.Filter{})
		f.job(j)
		all = append(all, j)
	}
	if err := store.Exec(fmt.Sprintf(`UPDATE jobs SET failures = '{' WHERE id = '%s'`, all[0].ID())); err != nil {
		t.Fatal(err)
	}
	var claimed outbound.ClaimedJob
	claim := func() outbound.ClaimedJob {
		f.write(func(ctx context.Context, st outbound.Stores) (err error) {
			claimed, err = st.Runs.JobQueue.Claim(ctx, time.Minute)
			return err
		})
		return claimed
	}
	if got := claim(); got.Job != nil || got.Unreadable == nil || !strings.Contains(got.Unreadable.Error(), string(all[0].ID())) {
		t.Errorf("the first is %+v", got)
	}
	if got := claim(); got.Job == nil || got.Job.ID() != all[1].ID() || got.Unreadable != nil {
		t.Errorf("the second is %+v", got)
	}
	if got := claim(); got.Job != nil || got.Unreadable != nil {
		t.Errorf("another is %+v", got)
	}
}

// JobRepository is the contract of outbound.JobRepository and outbound.JobQueue.
func JobRepository(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"a job is kept with all that is known of it":                              jobRoundTrip,
		"a job has the runs that its filter takes, of those that its action fits": jobCollects,
		"a job has no more runs than the limit": func(f fixture) {
			owner := f.tenant().ID()
			f.inOrder(owner, 5, status(run.StatusFailed))
			j := f.newJob(tenant.All(owner), job.Retry, run.Filter{})
			if err := f.tryJob(j, 3); err != nil || j.Matched() != 3 {
				f.Errorf("%d are matched: %v", j.Matched(), err)
			}
		},
		"one job of a tenant runs at a time": jobsOneAtATime,
		"a look says whether a job waits": func(f fixture) {
			waits := func(want bool) {
				f.Helper()
				f.newest(func(ctx context.Context, st outbound.Stores) error {
					got, err := st.Runs.JobQueue.Waits(ctx)
					if got != want {
						f.Errorf("it says %t", got)
					}
					return err
				})
			}
			waits(false)
			owner := f.tenant().ID()
			f.started(owner)
			f.job(f.newJob(tenant.All(owner), job.Cancel, run.Filter{}))
			waits(true)
			f.claimJob(time.Minute)
			waits(false)
		},
		"of jobs that are begun at the same time one begins": func(f fixture) {
			owner := f.tenant().ID()
			f.started(owner)
			var all sync.WaitGroup
			errs := make([]error, 8)
			for i := range errs {
				j := f.newJob(tenant.All(owner), job.Cancel, run.Filter{})
				all.Go(func() { errs[i] = f.tryJob(j, 9) })
			}
			all.Wait()
			begun := 0
			for _, err := range errs {
				if err == nil {
					begun++
					continue
				}
				f.wantError(err, domain.Conflict, "job_running")
			}
			if begun != 1 {
				f.Errorf("%d jobs have begun", begun)
			}
		},
		"what a job has come to is forgotten, and so is all of one that has ended": jobForgets,
		"a stale update is refused": func(f fixture) {
			owner := f.tenant().ID()
			f.started(owner)
			j := f.newJob(tenant.All(owner), job.Cancel, run.Filter{})
			f.job(j)
			stale := job.Restore(j.State())
			f.updateJob(j)
			err := f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error { return st.Runs.Jobs.Update(ctx, stale) })
			f.wantError(err, domain.Conflict, "stale_revision")
		},
		"a job is leased once, until its time has passed or it is updated": jobLeases,
		"the jobs of a tenant that is not active wait":                     jobsOfSuspended,
		"a scope has the jobs that were asked for within it":               jobsWithinScopes,
		"jobs that ended long ago are removed":                             jobsSwept,
		"what cancelled erasures noted is removed some at a time":          cancelledErasuresSwept,
	})
}

func jobRoundTrip(f fixture) {
	owner := f.tenant().ID()
	first := f.started(owner, func(st *run.State) {
		st.SubTenant, st.Status, st.FinishedAt = "team", run.StatusFailed, &noon
		st.Entity = "e"
	})
	from, to := noon.Add(-time.Hour), noon.Add(time.Hour)
	j := f.newJob(tenant.Only(owner, "team"), job.Retry, run.Filter{
		Status: run.StatusFailed, Workflow: "wf_1", Version: "wfv_1", Entity: new("e"), Children: true, SubTenant: new(tenant.SubTenantID("team")), From: &from, To: &to,
	})
	if got := f.job(j); !slices.Equal(got, idsInOrder(first)) {
		f.Errorf("it has %v", got)
	}
	if got := f.jobRuns(j, 9)[0]; got.Source.Version != "wfv_1" || got.Size == 0 {
		f.Errorf("of its run this is known: %+v", got)
	}
	j.Record(1, first.ID(), []job.Failure{{Run: first.ID(), Code: "run_not_failed", Message: "No."}}, jobTime.Add(time.Second))
	f.updateJob(j)
	got, err := f.getJob(tenant.All(owner), j.ID())
	if err != nil {
		f.Fatal(err)
	}
	if !reflect.DeepEqual(got.State(), j.State()) {
		f.Errorf("it is %+v, not %+v", got.State(), j.State())
	}
	_, err = f.getJob(tenant.All(owner), "job_absent")
	f.wantError(err, domain.NotFound, "job_not_found")
}

func jobCollects(f fixture) {
	owner, other := f.tenant().ID(), f.tenant().ID()
	by := map[run.Status]*run.Run{}
	for _, s := range run.Statuses() {
		by[s] = f.started(owner, status(s))
		f.started(other, status(s))
	}
	later := f.started(owner, status(run.StatusFailed), func(st *run.State) { st.CreatedAt = jobTime })
	child := f.started(owner, status(run.StatusFailed), func(st *run.State) { st.Parent, st.ParentNode = later.ID(), "a" })
	named := f.started(owner, status(run.StatusFailed), func(st *run.State) {
		st.Workflow, st.Version, st.Trigger, st.TriggerType, st.Entity, st.SubTenant = "wf_2", "wfv_2", "trg_2", trigger.Webhook, "e-2", "team"
		st.CreatedAt = noon.Add(-time.Minute)
	})
	of := func(all ...*run.Run) []run.ID { return slices.Sorted(slices.Values(idsInOrder(all...))) }
	failed, before := by[run.StatusFailed], noon
	for claim, c := range map[string]struct {
		action job.Action
		filter run.Filter
		scope  tenant.Scope
		want   []run.ID
	}{
		"retry":           {job.Retry, run.Filter{}, tenant.All(owner), of(failed, named)},
		"rerun":           {job.Rerun, run.Filter{}, tenant.All(owner), of(by[run.StatusCompleted], failed, by[run.StatusCancelled], named)},
		"cancel":          {job.Cancel, run.Filter{}, tenant.All(owner), of(by[run.StatusPending], by[run.StatusRunning], by[run.StatusPaused])},
		"a status":        {job.Rerun, run.Filter{Status: run.StatusCancelled}, tenant.All(owner), of(by[run.StatusCancelled])},
		"pending":         {job.Cancel, run.Filter{Status: run.StatusPending, Workflow: "wf_1"}, tenant.All(owner), of(by[run.StatusPending])},
		"a workflow":      {job.Retry, run.Filter{Workflow: "wf_2"}, tenant.All(owner), of(named)},
		"a version":       {job.Retry, run.Filter{Version: workflow.VersionID("wfv_2")}, tenant.All(owner), of(named)},
		"a trigger":       {job.Retry, run.Filter{Trigger: "trg_2"}, tenant.All(owner), of(named)},
		"an entity":       {job.Retry, run.Filter{Entity: new("e-2")}, tenant.All(owner), of(named)},
		"a sub-tenant":    {job.Retry, run.Filter{SubTenant: new(tenant.SubTenantID("team"))}, tenant.All(owner), of(named)},
		"from":            {job.Retry, run.Filter{From: &before}, tenant.All(owner), of(failed)},
		"to":              {job.Retry, run.Filter{To: &before}, tenant.All(owner), of(named)},
		"a parent":        {job.Retry, run.Filter{Parent: later.ID()}, tenant.All(owner), of(child)},
		"children":        {job.Retry, run.Filter{Children: true, Workflow: "wf_1"}, tenant.All(owner), of(failed, child)},
		"a narrow scope":  {job.Retry, run.Filter{}, tenant.Only(owner, "team"), of(named)},
		"another scope":   {job.Retry, run.Filter{SubTenant: new(tenant.SubTenantID("team"))}, tenant.Only(owner, "b"), nil},
		"of no scope":     {job.Retry, run.Filter{}, tenant.Only(owner, ""), of(failed)},
		"nothing of that": {job.Retry, run.Filter{Workflow: "wf_3"}, tenant.All(owner), nil},
	} {
		j := f.newJob(c.scope, c.action, c.filter)
		if got := f.job(j); !slices.Equal(got, c.want) {
			f.Errorf("%s: %v, not %v", claim, got, c.want)
		}
		if j.Status() == job.Running {
			if err := j.Cancel(jobTime); err != nil {
				f.Fatal(err)
			}
			f.updateJob(j)
		}
	}
}

func jobsOneAtATime(f fixture) {
	owner, other := f.tenant().ID(), f.tenant().ID()
	f.started(owner)
	f.started(other)
	j := f.newJob(tenant.All(owner), job.Cancel, run.Filter{})
	f.job(j)
	f.job(f.newJob(tenant.All(other), job.Cancel, run.Filter{}))
	for scope, named := range map[tenant.Scope]bool{tenant.All(owner): true, tenant.Only(owner, "team"): false} {
		err := f.tryJob(f.newJob(scope, job.Retry, run.Filter{}), 9)
		f.wantError(err, domain.Conflict, "job_running")
		refused, _ := errors.AsType[*domain.Error](err)
		if strings.Contains(err.Error(), string(j.ID())) != named || refused != nil && (refused.Job == string(j.ID())) != named {
			f.Errorf("who may know the job is not told of it, or who may not is: %v", err)
		}
	}
	if err := j.Cancel(jobTime); err != nil {
		f.Fatal(err)
	}
	f.updateJob(j)
	f.job(f.newJob(tenant.All(owner), job.Retry, run.Filter{}))
}

func jobForgets(f fixture) {
	owner := f.tenant().ID()
	all := f.inOrder(owner, 5, status(run.StatusFailed))
	j := f.newJob(tenant.All(owner), job.Retry, run.Filter{})
	f.job(j)
	j.Record(2, all[1].ID(), nil, jobTime)
	f.updateJob(j)
	f.sweep(owner, 99) // the runs that are left are gone, too
	left := f.jobRuns(j, 2)
	f.same([]outbound.JobRun{{ID: all[2].ID()}, {ID: all[3].ID()}}, left)
	st := j.State()
	st.Cursor = ""
	if got := f.jobRuns(job.Restore(st), 9); len(got) != 3 {
		f.Errorf("%d runs are remembered", len(got))
	}
	if err := j.Cancel(jobTime); err != nil {
		f.Fatal(err)
	}
	f.updateJob(j)
	if got := f.jobRuns(job.Restore(st), 9); len(got) != 0 {
		f.Errorf("%d runs of a job that has ended are remembered", len(got))
	}
}

func jobLeases(f fixture) {
	a, b := f.tenant().ID(), f.tenant().ID()
	f.started(a)
	f.started(b)
	first, second := f.newJob(tenant.All(a), job.Cancel, run.Filter{}), f.newJob(tenant.All(b), job.Cancel, run.Filter{})
	f.job(first)
	f.job(second)
	f.same([]job.ID{first.ID(), second.ID(), ""}, []job.ID{f.claimJob(time.Hour), f.claimJob(time.Hour), f.claimJob(time.Hour)})
	f.updateJob(second)
	f.same([]job.ID{second.ID(), second.ID(), second.ID()}, []job.ID{f.claimJob(0), f.claimJob(0), f.claimJob(0)})
	var all sync.WaitGroup
	got := make([]job.ID, 6)
	for i := range got {
		all.Go(func() { got[i] = f.claimJob(time.Hour) })
	}
	all.Wait()
	if slices.Sort(got); got[4] != "" || got[5] != second.ID() {
		f.Errorf("units at the same time got %q", got)
	}
}

func jobsOfSuspended(f fixture) {
	ten := f.tenant()
	f.started(ten.ID())
	j := f.newJob(tenant.All(ten.ID()), job.Cancel, run.Filter{})
	f.job(j)
	ten.Suspend(noon)
	f.write(func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Update(ctx, ten) })
	if got := f.claimJob(time.Hour); got != "" {
		f.Errorf("got %s", got)
	}
	ten.Resume(noon)
	f.write(func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Update(ctx, ten) })
	if got := f.claimJob(time.Hour); got != j.ID() {
		f.Errorf("got %q", got)
	}
}

func jobsWithinScopes(f fixture) {
	owner, other := f.tenant().ID(), f.tenant().ID()
	scopes := []tenant.Scope{tenant.All(owner), tenant.Only(owner, "a"), tenant.Only(owner, ""), tenant.All(other)}
	var ids []job.ID
	for _, scope := range scopes {
		j := f.newJob(scope, job.Retry, run.Filter{})
		f.job(j) // which has ended: there are no runs
		ids = append(ids, j.ID())
	}
	for i, scope := range scopes {
		want := []job.ID{ids[i]}
		if i == 0 {
			want = []job.ID{ids[2], ids[1], ids[0]}
		}
		var page domain.Page[*job.Job]
		f.read(func(ctx context.Context, st outbound.Stores) (err error) {
			page, err = st.Runs.Jobs.List(ctx, scope, job.Filter{Status: job.Completed}, domain.Query{})
			return err
		})
		var got []job.ID
		for _, j := range page.Items {
			got = append(got, j.ID())
		}
		if !slices.Equal(got, want) || page.Total != len(want) {
			f.Errorf("scope %d lists %v of %d, not %v", i, got, page.Total, want)
		}
		for _, id := range ids {
			if _, err := f.getJob(scope, id); slices.Contains(want, id) != (err == nil) {
				f.Errorf("scope %d and %s: %v", i, id, err)
			}
		}
	}
	f.read(func(ctx context.Context, st outbound.Stores) error {
		none, err := st.Runs.Jobs.List(ctx, tenant.All(owner), job.Filter{Status: job.Running}, domain.Query{})
		if none.Total != 0 {
			f.Errorf("%d are running", none.Total)
		}
		return err
	})
}

func jobsSwept(f fixture) {
	owner := f.tenant().ID()
	f.started(owner)
	ended, running := f.newJob(tenant.All(owner), job.Retry, run.Filter{}), f.newJob(tenant.All(owner), job.Cancel, run.Filter{})
	f.job(ended)
	f.job(running)
	for _, c := range []struct {
		before time.Time
		want   int
	}{{jobTime, 0}, {jobTime.Add(time.Millisecond), 1}, {jobTime.Add(time.Hour), 0}} {
		f.write(func(ctx context.Context, st outbound.Stores) error {
			n, err := st.Runs.Jobs.Sweep(ctx, c.before, 10)
			if n != c.want {
				f.Errorf("%d are removed", n)
			}
			return err
		})
	}
	if got := f.jobRuns(running, 9); len(got) != 1 {
		f.Errorf("%d runs are left", len(got))
	}
}

func cancelledErasuresSwept(f fixture) {
	owner := f.tenant().ID()
	j := f.erasure(owner, job.Runs, job.ErasureDraft{})
	f.removeOf(j, f.ofAnna(owner), f.ofAnna(owner), f.ofAnna(owner))
	sweeps := func(want ...int) {
		for _, n := range want {
			f.write(func(ctx context.Context, st outbound.Stores) error {
				got, err := st.Runs.Jobs.Sweep(ctx, jobTime.Add(-time.Hour), 2)
				if got != n {
					f.Errorf("%d are removed, not %d", got, n)
				}
				return err
			})
		}
	}
	sweeps(0)
	f.endJob(j)
	sweeps(2, 1, 0)
}
