package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// slowed is a store that takes its time with the runs of one tenant.
type slowed struct {
	outbound.UnitOfWork
	outbound.RunRepository
	of    tenant.ID
	began chan struct{}
	let   chan struct{}
}

func (s slowed) Do(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	return fn(ctx, outbound.Stores{Runs: outbound.RunStores{Runs: s}})
}

func (s slowed) Record(_ context.Context, steps ...outbound.RunStep) error {
	if steps[0].Run.Tenant() == s.of {
		s.began <- struct{}{}
		<-s.let
	}
	return nil
}

func stepOf(owner tenant.ID, id string) outbound.RunStep {
	return outbound.RunStep{Run: run.New(run.ID(id), run.Start{Tenant: owner}, time.Time{})}
}

func TestNobodyWaitsForTheStepsOfLargeRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := slowed{of: "large", began: make(chan struct{}, batchesPerLane), let: make(chan struct{})}
		r := newRecorder(t.Context(), store, sqlstore.NewRunSignals(&sqlstore.Store{}), nil, func(time.Duration) time.Duration { return 0 })
		large := make(chan error, batchesPerLane)
		for i := range batchesPerLane {
			go func() {
				st := run.State{Origin: run.Origin{ID: run.ID(fmt.Sprint("run_", i)), Tenant: "large"}}
				st.Nodes = []run.NodeState{{ID: "a", Output: []byte(strings.Repeat(" ", outbound.LargeWriteBytes)), OutputSeq: 1}}
				large <- r.record(false, run.Step{}, outbound.RunStep{Run: run.Restore(st)})
			}()
			<-store.began
		}
		if err := r.record(false, run.Step{}, stepOf("fair", "run_f")); err != nil {
			t.Error(err)
		}
		if err := r.record(true, run.Step{}, stepOf("backlog", "run_b")); err != nil {
			t.Error(err)
		}
		close(store.let)
		for range batchesPerLane {
			if err := <-large; err != nil {
				t.Error(err)
			}
		}
	})
}

func TestNobodyWaitsForTheStepsOfABacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := slowed{of: "flood", began: make(chan struct{}, batchesPerLane), let: make(chan struct{})}
		r := newRecorder(t.Context(), store, sqlstore.NewRunSignals(&sqlstore.Store{}), nil, func(time.Duration) time.Duration { return 0 })
		flood := make(chan error, batchesPerLane)
		for i := range batchesPerLane {
			go func() { flood <- r.record(true, run.Step{}, stepOf("flood", fmt.Sprint("run_", i))) }()
			<-store.began // so that each has a unit of its own
		}
		if err := r.record(false, run.Step{}, stepOf("fair", "run_f")); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if len(flood) != 0 {
			t.Error("the steps of the backlog were recorded before")
		}
		close(store.let)
		for range batchesPerLane {
			if err := <-flood; err != nil {
				t.Error(err)
			}
		}
	})
}

// A slot rests after a unit of a backlog, and before the next one.
func TestABacklogRestsBetweenItsUnits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pause = 5 * time.Millisecond
		store := slowed{of: "nobody"}
		r := newRecorder(t.Context(), store, sqlstore.NewRunSignals(&sqlstore.Store{}), nil, func(time.Duration) time.Duration { return pause })
		began := time.Now()
		for i := range 2 * batchesPerLane {
			if err := r.record(true, run.Step{}, stepOf("flood", fmt.Sprint("run_", i))); err != nil {
				t.Error(err)
			}
			if want := pause * time.Duration(i/batchesPerLane); time.Since(began) != want {
				t.Errorf("step %d is recorded after %s, not %s", i, time.Since(began), want)
			}
		}
	})
}

// yields notes whether the last unit yielded.
type yields struct {
	outbound.UnitOfWork
	last bool
}

func (y *yields) Do(ctx context.Context, _ func(context.Context, outbound.Stores) error) error {
	y.last = outbound.IsYieldingWrite(ctx)
	return nil
}

func TestTheUnitsOfABacklogYieldWhereOthersHaveRuns(t *testing.T) {
	for claim, c := range map[string]struct {
		backlog, others, want bool
	}{
		"a backlog next to others":            {true, true, true},
		"a backlog alone":                     {true, false, false},
		"few runs of others next to backlogs": {false, true, false},
	} {
		t.Run(claim, func(t *testing.T) {
			between, store := newContention(time.Now()), &yields{}
			between.note("flood", true)
			if c.others {
				between.note("fair", false)
			}
			r := newRecorder(t.Context(), store, sqlstore.NewRunSignals(&sqlstore.Store{}), nil, between.yield)
			if err := r.record(c.backlog, run.Step{}, stepOf("flood", "run_a")); err != nil || store.last != c.want {
				t.Errorf("the unit yields: %v, %v", store.last, err)
			}
		})
	}
}

func TestABacklogYieldsWhileThereAreOthers(t *testing.T) {
	for claim, c := range map[string]struct {
		others bool          // were there
		since  time.Duration // then
		took   time.Duration
		want   time.Duration
	}{
		"not alone":                            {false, 0, 10 * time.Millisecond, 0},
		"for half of the time that it took":    {true, 0, 10 * time.Millisecond, 5 * time.Millisecond},
		"a moment after they were there":       {true, fairnessWindow - time.Millisecond, 10 * time.Millisecond, 5 * time.Millisecond},
		"not long after they were there":       {true, fairnessWindow, 10 * time.Millisecond, 0},
		"not for longer than a store may hang": {true, 0, time.Minute, maxYield},
	} {
		t.Run(claim, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				between := newContention(time.Now())
				time.Sleep(time.Second)
				if c.others {
					between.note("fair", false)
				}
				time.Sleep(c.since)
				between.note("flood", true)
				if got := between.yield(c.took); got != c.want {
					t.Errorf("it yields for %s, not %s", got, c.want)
				}
			})
		})
	}
}

func TestAClaimIsSmallWhereOthersWaitForItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &claimer{session: &session{units: t.Context(), contention: newContention(time.Now())}}
		time.Sleep(time.Second)
		got := []int{c.claimSize()}
		c.session.contention.note("flood", true)
		got = append(got, c.claimSize())
		c.session.contention.note("modest", false)
		got = append(got, c.claimSize())
		c.byWakeup = true
		got = append(got, c.claimSize())
		time.Sleep(fairnessWindow)
		got = append(got, c.claimSize())
		if diff := cmp.Diff([]int{claimLimit, claimLimit, contendedClaimLimit, wakeupClaimLimit, claimLimit}, got); diff != "" {
			t.Error(diff)
		}
	})
}

// crowded is a queue of which what is due cannot be claimed; another run becomes due some time later.
type crowded struct {
	outbound.UnitOfWork
	outbound.RunQueue
	due    time.Time
	claims []time.Time
}

func (q *crowded) Do(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	return fn(ctx, outbound.Stores{Runs: outbound.RunStores{Queue: q}})
}

func (q *crowded) Read(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	return q.Do(ctx, fn)
}

func (q *crowded) Now(context.Context) (time.Time, error) { return time.Now(), nil }

func (q *crowded) Claim(context.Context, outbound.RunClaim) ([]outbound.LeasedRun, error) {
	q.claims = append(q.claims, time.Now())
	return nil, nil
}

func (q *crowded) Next(_ context.Context, after time.Time) (time.Time, bool, error) {
	switch {
	case after.IsZero():
		return q.due.Add(-time.Hour), true, nil
	case q.due.After(after):
		return q.due, true, nil
	}
	return time.Time{}, false, nil
}

// The run that becomes due may be of another tenant than those that have as many places as they get.
func TestARunIsClaimedWhenItIsDueWhileOthersCannotBeClaimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &crowded{due: time.Now().Add(2*time.Second + 234*time.Millisecond)}
		ctx, stop := context.WithTimeout(t.Context(), 4*time.Second)
		defer stop()
		s, end := newSession(ctx, &Worker{work: q, opts: Options{Concurrency: 1, Memory: 1, PerTenant: 1, Lease: time.Minute}}, func(err error) { t.Error(err) })
		defer end()
		s.claimRuns()
		if !slices.ContainsFunc(q.claims, func(at time.Time) bool { return !at.Before(q.due) && at.Sub(q.due) <= minDuePause }) {
			t.Errorf("it is due at %s and claimed at %s", q.due, q.claims)
		}
		if most := 2*int(4*time.Second/maxBlockedPause) + 8; len(q.claims) > most {
			t.Errorf("within 4 seconds it claims %d times, not at most %d", len(q.claims), most)
		}
	})
}

func TestATenantWhoseRunsComeAndGoIsNotItsOwnNeighbour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newContention(time.Now())
		for _, crowd := range []bool{false, true, false, true, false} {
			b.note("flood", crowd)
			if b.isActive() {
				t.Error("it is")
			}
			time.Sleep(fairnessWindow / 4)
		}
		b.note("modest", false)
		b.note("flood", true)
		if !b.isActive() {
			t.Error("another one is not")
		}
		b.note("modest", true)
		if b.isActive() {
			t.Error("two crowds give way to nobody")
		}
		time.Sleep(fairnessWindow)
		b.note("modest", false)
		if b.isActive() || len(b.backlogTenants) != 0 || len(b.fairTenants) != 1 {
			t.Errorf("who was there long ago is remembered: %v, %v", b.fairTenants, b.backlogTenants)
		}
	})
}

func TestThereIsRoomUntilRunsAreAsLargeAsTheyMayBe(t *testing.T) {
	s := &session{
		worker: &Worker{opts: Options{Concurrency: 3, Memory: 100, PerTenant: 2}},
		jobs:   make(map[run.ID]*job), needsRecheck: make(map[run.ID]*job), jobsOf: make(map[tenant.ID]int),
	}
	var jobs []*job
	var got []capacity
	look := func() { got = append(got, s.freeCapacity()) }
	add := func(size int64) {
		j := &job{session: s, size: size, lease: outbound.RunLease{Tenant: "t", Run: run.ID(fmt.Sprint("run_", len(jobs)))}}
		j.run = run.New(j.lease.Run, run.Start{Tenant: "t", Payload: []byte("[1234567]")}, time.Time{})
		j.plan = run.NewPlan("", workflow.RestoreGraph(nil, nil), node.RegistryFor("t", tenant.English, nil, nil), nil)
		jobs = append(jobs, j)
		s.add(j)
		look()
	}
	look()
	add(60)
	add(40)
	s.remove(jobs[0])
	look()
	s.remove(jobs[0]) // once more
	look()
	add(1000)
	jobs[2].updateSize() // it has become smaller
	look()
	s.remove(jobs[1])
	s.remove(jobs[2])
	look()
	want := []capacity{{3, 100, 2}, {2, 40, 2}, {1, 1, 1}, {2, 60, 2}, {2, 60, 2}, {1, 1, 1}, {1, 51, 2}, {3, 100, 2}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(capacity{})); diff != "" || len(s.jobsOf) != 0 {
		t.Error(diff, s.jobsOf)
	}
	got = nil
	add(100) // there still is room for a run of another tenant
	if diff := cmp.Diff([]capacity{{2, 1, 1}}, got, cmp.AllowUnexported(capacity{})); diff != "" {
		t.Error(diff)
	}
}

func TestARunThatPanicsIsPutUpWithAFewTimes(t *testing.T) {
	d := panicCounts{times: make(map[run.ID]int)}
	for n := 1; n <= 2*maxRefusals; n++ {
		if got, want := d.exceeded("run_1"), n%maxRefusals == 0; got != want {
			t.Errorf("panic %d is one too many: %v", n, got)
		}
	}
	for i := range 2 * maxCountedRuns {
		d.exceeded(run.ID(fmt.Sprint(i)))
	}
	if len(d.times) > maxCountedRuns {
		t.Errorf("%d are remembered", len(d.times))
	}
}

func TestWhatPanicsBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []error
		s := &session{units: t.Context(), report: func(err error) { told = append(told, err) }}
		times := 0
		s.restartOnPanic("count", func() {
			if times++; times < 3 {
				panic("not yet")
			}
		})
		if times != 3 || len(told) != 2 || !inbound.IsPanic(told[0]) || told[1].Error() != "count: panic: not yet" {
			t.Errorf("%d times, and it tells %v", times, told)
		}
	})
}

// Runs that are tried alone compute one after the other, and one that is not wanted any more
// does not wait for its turn.
func TestRunsThatAreTriedAloneComputeOneAfterTheOther(t *testing.T) {
	s := &session{isolationTurn: make(chan struct{}, 1), contention: newContention(time.Now())}
	job := func(alone bool) *job {
		j := &job{session: s, isolated: alone}
		j.ctx, j.interrupt = context.WithCancelCause(t.Context())
		return j
	}
	leave, err := job(true).acquireTurn()
	if err != nil {
		t.Fatal(err)
	}
	other := job(true)
	other.interrupt(errLeaseLost)
	if _, err := other.acquireTurn(); !errors.Is(err, errLeaseLost) {
		t.Errorf("a second one computes next to it: %v", err)
	}
	if _, err := job(false).acquireTurn(); err != nil {
		t.Errorf("any other run waits: %v", err)
	}
	leave()
	if _, err := job(true).acquireTurn(); err != nil {
		t.Errorf("the turn is not given back: %v", err)
	}
}
