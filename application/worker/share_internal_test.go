package worker

import (
	"context"
	"errors"
	"fmt"
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

func TestNobodyWaitsForTheStepsOfACrowd(t *testing.T) {
	store := slowed{of: "flood", began: make(chan struct{}, recorders), let: make(chan struct{})}
	r := newRecorder(store, sqlstore.NewRunSignals(nil), nil, t.Context(), 8)
	for range recorders {
		go r.run(r.few, func(time.Duration) {})
		go r.run(r.crowd, func(time.Duration) {})
	}
	flood := make(chan error, recorders)
	for i := range recorders {
		go func() { flood <- r.record(true, run.Step{}, stepOf("flood", fmt.Sprint("run_", i))) }()
		<-store.began // so that each has a unit of its own
	}
	modest := make(chan error, 1)
	go func() { modest <- r.record(false, run.Step{}, stepOf("modest", "run_m")) }()
	select {
	case err := <-modest:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it waits")
	}
	if len(flood) != 0 {
		t.Error("the crowd's steps were recorded before")
	}
	close(store.let)
	for range recorders {
		if err := <-flood; err != nil {
			t.Error(err)
		}
	}
	r.close()
}

func TestACrowdGivesWayWhileThereAreOthers(t *testing.T) {
	for claim, c := range map[string]struct {
		others bool          // were there
		since  time.Duration // then
		took   time.Duration
		want   time.Duration
	}{
		"not alone":                            {false, 0, 10 * time.Millisecond, 0},
		"for half of the time that it took":    {true, 0, 10 * time.Millisecond, 5 * time.Millisecond},
		"a moment after they were there":       {true, lately - time.Millisecond, 10 * time.Millisecond, 5 * time.Millisecond},
		"not long after they were there":       {true, lately, 10 * time.Millisecond, 0},
		"not for longer than a store may hang": {true, 0, time.Minute, longestWay},
	} {
		t.Run(claim, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &shift{units: t.Context(), beside: newBeside(time.Now())}
				time.Sleep(time.Second)
				if c.others {
					s.beside.note("modest", false)
				}
				time.Sleep(c.since)
				began := time.Now()
				s.beside.note("flood", true)
				s.giveWay(c.took)
				if got := time.Since(began); got != c.want {
					t.Errorf("it rests for %s, not %s", got, c.want)
				}
			})
		})
	}
}

func TestAClaimIsSmallWhereOthersWaitForItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &claimer{session: &shift{units: t.Context(), beside: newBeside(time.Now())}}
		time.Sleep(time.Second)
		got := []int{c.most()}
		c.session.beside.note("flood", true)
		got = append(got, c.most())
		c.session.beside.note("modest", false)
		got = append(got, c.most())
		c.told = true
		got = append(got, c.most())
		time.Sleep(lately)
		got = append(got, c.most())
		if diff := cmp.Diff([]int{atOnce, atOnce, atOnceBeside, atOnceTold, atOnce}, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestATenantWhoseRunsComeAndGoIsNotItsOwnNeighbour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBeside(time.Now())
		for _, crowd := range []bool{false, true, false, true, false} {
			b.note("flood", crowd)
			if b.both() {
				t.Error("it is")
			}
			time.Sleep(lately / 4)
		}
		b.note("modest", false)
		b.note("flood", true)
		if !b.both() {
			t.Error("another one is not")
		}
		b.note("modest", true)
		if b.both() {
			t.Error("two crowds give way to nobody")
		}
		time.Sleep(lately)
		b.note("modest", false)
		if b.both() || len(b.crowds) != 0 || len(b.modest) != 1 {
			t.Errorf("who was there long ago is remembered: %v, %v", b.modest, b.crowds)
		}
	})
}

func TestThereIsRoomUntilRunsAreAsLargeAsTheyMayBe(t *testing.T) {
	s := &shift{
		worker: &Worker{opts: Options{Concurrency: 3, Memory: 100, PerTenant: 2}},
		held:   make(map[run.ID]*job), doubted: make(map[run.ID]*job), shares: make(map[tenant.ID]int),
	}
	var jobs []*job
	var got []room
	look := func() { got = append(got, s.room()) }
	add := func(size int64) {
		j := &job{session: s, size: size, lease: outbound.RunLease{Tenant: "t", Run: run.ID(fmt.Sprint("run_", len(jobs)))}}
		j.run = run.New(j.lease.Run, run.Start{Tenant: "t", Payload: []byte("[1234567]")}, time.Time{})
		j.plan = run.NewPlan("", workflow.RestoreGraph(nil, nil), node.RegistryFor("t", tenant.English, nil, nil), nil)
		jobs = append(jobs, j)
		s.hold(j)
		look()
	}
	look()
	add(60)
	add(40)
	s.let(jobs[0])
	look()
	s.let(jobs[0]) // once more
	look()
	add(1000)
	jobs[2].weigh() // it has become smaller
	look()
	s.let(jobs[1])
	s.let(jobs[2])
	look()
	want := []room{{3, 100, 2}, {2, 40, 2}, {1, 100, 1}, {2, 60, 2}, {2, 60, 2}, {1, 100, 1}, {1, 51, 2}, {3, 100, 2}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(room{})); diff != "" || len(s.shares) != 0 {
		t.Error(diff, s.shares)
	}
	got = nil
	add(100) // of a tenant of whom nothing else is worked on
	if diff := cmp.Diff([]room{{}}, got, cmp.AllowUnexported(room{})); diff != "" {
		t.Error(diff)
	}
}

func TestARunThatPanicsIsPutUpWithAFewTimes(t *testing.T) {
	d := defects{times: make(map[run.ID]int)}
	for n := 1; n <= 2*mostRefused; n++ {
		if got, want := d.tooMany("run_1"), n%mostRefused == 0; got != want {
			t.Errorf("panic %d is one too many: %v", n, got)
		}
	}
	for i := range 2 * mostDefects {
		d.tooMany(run.ID(fmt.Sprint(i)))
	}
	if len(d.times) > mostDefects {
		t.Errorf("%d are remembered", len(d.times))
	}
}

func TestWhatPanicsBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []error
		s := &shift{units: t.Context(), report: func(err error) { told = append(told, err) }}
		times := 0
		s.lasting("count", func() {
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
	s := &shift{aloneTurn: make(chan struct{}, 1), beside: newBeside(time.Now())}
	job := func(alone bool) *job {
		j := &job{session: s, alone: alone}
		j.ctx, j.interrupt = context.WithCancelCause(t.Context())
		return j
	}
	leave, err := job(true).takeTurn()
	if err != nil {
		t.Fatal(err)
	}
	other := job(true)
	other.interrupt(errLeaseLost)
	if _, err := other.takeTurn(); !errors.Is(err, errLeaseLost) {
		t.Errorf("a second one computes beside it: %v", err)
	}
	if _, err := job(false).takeTurn(); err != nil {
		t.Errorf("any other run waits: %v", err)
	}
	leave()
	if _, err := job(true).takeTurn(); err != nil {
		t.Errorf("the turn is not given back: %v", err)
	}
}
