package worker_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/application/worker"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// hanging answers nothing until its context ends, and says when it began and why it
// ended.
type hanging struct {
	began chan outbound.NodeCall
	ended chan error
}

func newHanging() *hanging {
	return &hanging{began: make(chan outbound.NodeCall, 100), ended: make(chan error, 100)}
}

func (h *hanging) answer(ctx context.Context, call outbound.NodeCall) (outbound.NodeOutcome, error) {
	h.began <- call
	<-ctx.Done()
	h.ended <- context.Cause(ctx)
	return nil, fmt.Errorf("called: %w", context.Cause(ctx))
}

// await receives, and fails the test when nothing comes.
func await[T any](t testing.TB, from <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(20 * time.Second):
		t.Fatalf("it never came that %s", what)
	}
	return v
}

// A process that dies gives nothing back: its lease ends, and another one makes the same
// attempt again.
func TestTheRunOfAWorkerThatDiedIsTakenOver(t *testing.T) {
	t.Parallel()
	fixture.OnEachStore(t, func(t *testing.T, store *sqlstore.Store) {
		w := newEnv(t, store)
		ver := w.NewVersion([]string{"a " + fixture.CallNode}, nil)
		id := w.Accept(ver, 1, fixture.RunOptions{})[0]
		var leased []outbound.LeasedRun
		w.Do(func(ctx context.Context, st outbound.Stores) (err error) {
			leased, err = st.Runs.Queue.Claim(ctx, outbound.RunClaim{Worker: "dead", Period: 500 * time.Millisecond, Limit: 1, PerTenant: 1})
			return err
		})
		began := w.advance(ver, leased[0], run.Started{})
		if len(began.Execute) != 1 {
			t.Fatal(began)
		}
		w.StartWorker()
		r := w.Until(id, "another worker ends it", fixture.Finished)
		if diff := cmp.Diff([]string{"a 1"}, w.NodeRunner.Attempts()); diff != "" || r.Status() != run.StatusCompleted {
			t.Error(r.Status(), diff)
		}
		if key := w.NodeRunner.Calls[0].IdempotencyKey; key != began.Execute[0].IdempotencyKey {
			t.Errorf("the key is %s", key)
		}
		if since := r.FinishedAt().Sub(leased[0].At); since < 500*time.Millisecond || since > 10*time.Second {
			t.Errorf("it was taken over after %s", since)
		}
	})
}

// advance makes and records a step of a run that was leased, and keeps the lease.
func (d *env) advance(ver *workflow.Version, leased outbound.LeasedRun, fact run.Fact) (step run.Step) {
	d.Helper()
	d.Do(func(ctx context.Context, st outbound.Stores) (err error) {
		from := leased.Run.Seq()
		if step, err = leased.Run.Advance(d.Plan(ver), run.Event{At: leased.At, Fact: fact}); err != nil {
			return err
		}
		return st.Runs.Runs.Record(ctx, outbound.RunStep{Run: leased.Run, From: from, History: step.History, Lease: leased.Lease, Keep: true})
	})
	return step
}

func TestSeveralWorkersEndEachRunOnce(t *testing.T) {
	t.Parallel()
	fixture.OnEachStore(t, func(t *testing.T, store *sqlstore.Store) {
		w := newEnv(t, store)
		ver := w.NewVersion([]string{`hook trigger_webhook`, "a " + fixture.CallNode, "b " + fixture.CallNode, `c transform {"expression": "1"}`},
			[]string{"hook -> a", "hook -> b", "a -> c", "b -> c"})
		const n = 200
		ids := w.Accept(ver, n/2, fixture.RunOptions{})
		for range 3 {
			opts := fixture.WorkerOptions
			opts.Concurrency, opts.PerTenant = 16, 1000
			w.Work(w.NewWorker(w.Store, w.Signals, opts))
		}
		ids = append(ids, w.Accept(ver, n/2, fixture.RunOptions{})...)
		for _, id := range ids {
			if r := w.Until(id, "the run ends", fixture.Finished); r.Status() != run.StatusCompleted {
				t.Errorf("%s: %+v", id, r.Failure())
			}
			got := make(map[string]int)
			for _, entry := range w.History(id) {
				got[entry]++
			}
			want := map[string]int{
				"run.started": 1, "node.completed hook": 1, "node.started a": 1, "node.started b": 1, "node.completed a": 1, "node.completed b": 1,
				"node.completed c": 1, "run.completed": 1,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatal(diff)
			}
		}
		keys := make(map[string]int)
		for _, c := range w.NodeRunner.Calls {
			keys[c.IdempotencyKey]++
		}
		if len(keys) != 2*n || len(w.NodeRunner.Calls) != 2*n {
			t.Errorf("%d calls with %d keys", len(w.NodeRunner.Calls), len(keys))
		}
		if err := w.Errors(); err != nil {
			t.Error(err)
		}
	})
}

// severed signals are those of a process that hears nobody else.
func (d *env) severed() outbound.RunSignals { return sqlstore.NewRunSignals(d.Raw) }

func TestCancellingARunInterruptsWhatItDoesOutside(t *testing.T) {
	t.Parallel()
	fixture.OnEachStore(t, func(t *testing.T, store *sqlstore.Store) {
		for claim, told := range map[string]bool{"at once where there is word of it": true, "and with the next renewal where there is none": false} {
			t.Run(claim, func(t *testing.T) {
				w := newEnv(t, store)
				h := newHanging()
				w.NodeRunner.Answer = h.answer
				ver := w.NewVersion([]string{"a " + fixture.CallNode}, nil)
				opts, signals := fixture.WorkerOptions, w.severed()
				if told {
					opts.Lease, signals = time.Hour, w.Signals
				}
				defer w.Work(w.NewWorker(w.Store, signals, opts))()
				id := w.Accept(ver, 1, fixture.RunOptions{})[0]
				await(t, h.began, "the attempt begins")
				asked := time.Now()
				w.Advance(id, run.CancelRequested{})
				w.Signals.Notify(id)
				_ = await(t, h.ended, "the attempt is interrupted") // the cause
				if took := time.Since(asked); told && took > 5*time.Second {
					t.Errorf("it took %s", took)
				}
				if err := w.Errors(); err != nil {
					t.Error(err)
				}
			})
		}
	})
}

// What somebody else does to a run that is being worked on is found, and the worker goes
// on from there.
func TestAStepOfSomebodyElseInBetweenIsTakenUp(t *testing.T) {
	t.Parallel()
	fixture.OnEachStore(t, func(t *testing.T, store *sqlstore.Store) {
		w := newEnv(t, store)
		let := make(chan struct{})
		w.NodeRunner.Answer = func(ctx context.Context, c outbound.NodeCall) (outbound.NodeOutcome, error) {
			if c.NodeID == "slow" {
				select {
				case <-let:
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			return outbound.NodeCompleted{Output: c.NodeID}, nil
		}
		ver := w.NewVersion([]string{`hook trigger_webhook`, "slow " + fixture.CallNode, `paid waitForEvent {"event": "paid"}`, "after " + fixture.CallNode},
			[]string{"hook -> slow", "hook -> paid", "paid -> after"})
		w.Work(w.NewWorker(w.Store, w.severed(), fixture.WorkerOptions))
		id := w.Accept(ver, 1, fixture.RunOptions{})[0]
		w.Eventually("the slow attempt begins", func() bool { return len(w.NodeRunner.Attempts()) == 1 })
		w.Advance(id, run.EventArrived{Event: "paid"})
		close(let) // before or after the worker learns of the step: its own must not be lost
		r := w.Until(id, "the run ends", fixture.Finished)
		if r.Status() != run.StatusCompleted {
			t.Errorf("%+v", r.Failure())
		}
		if diff := cmp.Diff([]string{"slow 1", "after 1"}, w.NodeRunner.Attempts()); diff != "" {
			t.Error(diff)
		}
	})
}

// A worker that could not renew its leases for longer than they last begins nothing.
// When another one has taken over, what it was doing is interrupted and recorded
// nowhere.
func TestAWorkerThatWasFrozenRecordsNothingAndBeginsNothing(t *testing.T) {
	t.Parallel()
	fixture.OnEachStore(t, func(t *testing.T, store *sqlstore.Store) {
		w := newEnv(t, store)
		var frozen atomic.Bool
		thaw := make(chan struct{})
		first := fixture.NewStore(store)
		first.FailWith(func(ctx context.Context) error {
			if !frozen.Load() {
				return nil
			}
			select {
			case <-thaw:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		began, let := make(chan string, 10), make(chan struct{})
		var once sync.Once
		w.NodeRunner.Answer = func(_ context.Context, c outbound.NodeCall) (outbound.NodeOutcome, error) {
			mine := false
			once.Do(func() { mine = true })
			began <- c.NodeID
			if mine {
				<-let
				return outbound.NodeCompleted{Output: "of the frozen one"}, nil
			}
			return outbound.NodeCompleted{Output: "of the other"}, nil
		}
		ver := w.NewVersion([]string{"a " + fixture.CallNode, "b " + fixture.CallNode}, []string{"a -> b"})
		stop := w.Work(w.NewWorker(first, w.severed(), fixture.ShortLeaseOptions))
		id := w.Accept(ver, 1, fixture.RunOptions{})[0]
		await(t, began, "the attempt begins")
		frozen.Store(true)
		w.StartWorker()
		r := w.Until(id, "another worker ends it", fixture.Finished)
		close(let)
		close(thaw)
		stop()
		if output, _ := r.Output("a"); string(output) != `"of the other"` || r.Seq() != w.Get(id).Seq() {
			t.Errorf("%s, %d and %d entries", output, r.Seq(), w.Get(id).Seq())
		}
		if diff := cmp.Diff([]string{"a 1", "a 1", "b 1"}, w.NodeRunner.Attempts()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestNoAttemptBeginsWhileLeasesCannotBeRenewed(t *testing.T) {
	t.Parallel()
	w := newEnv(t, fixture.OpenSQLite(t))
	began, let := make(chan string, 10), make(chan struct{})
	w.NodeRunner.Answer = func(ctx context.Context, c outbound.NodeCall) (outbound.NodeOutcome, error) {
		began <- c.NodeID
		select {
		case <-let:
			return outbound.NodeCompleted{}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	ver := w.NewVersion([]string{"a " + fixture.CallNode, "b " + fixture.CallNode}, []string{"a -> b"})
	gone := domain.Fail(domain.Unavailable, "database_unavailable", "The database cannot be reached.")
	var failing atomic.Bool
	down := make(chan struct{}, 100)
	w.Store.FailWith(func(context.Context) error {
		if failing.Load() {
			down <- struct{}{}
			return gone
		}
		return nil
	})
	stop := w.Work(w.NewWorker(w.Store, w.Signals, fixture.ShortLeaseOptions))
	id := w.Accept(ver, 1, fixture.RunOptions{})[0]
	await(t, began, "the first attempt begins")
	failing.Store(true)
	for range 20 { // renewals, which are tried ten times within a lease
		await(t, down, "a renewal fails")
	}
	close(let)
	for range 5 {
		await(t, down, "recording fails")
	}
	if got := w.NodeRunner.Attempts(); len(got) != 1 {
		t.Errorf("%v was begun", got)
	}
	failing.Store(false)
	if r := w.Until(id, "the run ends", fixture.Finished); r.Status() != run.StatusCompleted {
		t.Errorf("%+v", r.Failure())
	}
	if diff := cmp.Diff([]string{"a 1", "b 1"}, w.NodeRunner.Attempts()); diff != "" {
		t.Error(diff)
	}
	stop()
	if err := w.Errors(); !errors.Is(err, gone) {
		t.Errorf("the worker says %v", err)
	}
}

// An attempt that did not come to an end is not made again by who may not have the run
// any more.
func TestNoAttemptIsRepeatedWhileLeasesCannotBeRenewed(t *testing.T) {
	t.Parallel()
	w := newEnv(t, fixture.OpenSQLite(t))
	began := make(chan struct{}, 100)
	w.NodeRunner.Answer = func(context.Context, outbound.NodeCall) (outbound.NodeOutcome, error) {
		began <- struct{}{}
		return nil, errors.New("no more sockets")
	}
	var failing atomic.Bool
	down := make(chan struct{}, 1000)
	w.Store.FailWith(func(context.Context) error {
		if failing.Load() {
			down <- struct{}{}
			return domain.Fail(domain.Unavailable, "database_unavailable", "The database cannot be reached.")
		}
		return nil
	})
	ver := w.NewVersion([]string{"a " + fixture.CallNode}, nil)
	w.Work(w.NewWorker(w.Store, w.Signals, fixture.ShortLeaseOptions))
	w.Accept(ver, 1, fixture.RunOptions{})
	await(t, began, "the attempt begins")
	failing.Store(true)
	for range 50 { // for five times as long as a lease lasts
		await(t, down, "a renewal fails")
	}
	if got := w.NodeRunner.Attempts(); len(got) > 3 { // the second is made after 250 ms, the third 500 ms later at the earliest
		t.Errorf("%v was begun", got)
	}
	failing.Store(false)
	w.Eventually("it goes on when leases are renewed", func() bool { return len(w.NodeRunner.Attempts()) >= 5 })
}

// The bound of a tenant holds over all processes, and does not keep others waiting.
func TestATenantHasNoMorePlacesThanItGets(t *testing.T) {
	t.Parallel()
	w := newEnv(t, fixture.OpenSQLite(t))
	h := newHanging()
	w.NodeRunner.Answer = h.answer
	ver := w.NewVersion([]string{"a " + fixture.CallNode}, nil)
	w.Accept(ver, 9, fixture.RunOptions{})
	for range 2 {
		opts := fixture.WorkerOptions
		opts.PerTenant, opts.Concurrency = 3, 8
		w.Work(w.NewWorker(w.Store, w.Signals, opts))
	}
	for range 3 {
		await(t, h.began, "an attempt begins")
	}
	w.Owner = w.NewTenant()
	id := w.Accept(w.NewVersion(twoTransforms, twoTransformEdges), 1, fixture.RunOptions{})[0]
	w.Until(id, "the run of another tenant ends", fixture.Finished)
	if len(h.began) > 0 {
		t.Errorf("%d more began", len(h.began))
	}
}

func TestAWorkerWithDefaultsEndsARun(t *testing.T) {
	t.Parallel()
	w := newEnv(t, fixture.OpenSQLite(t))
	w.Work(w.NewWorker(w.Store, w.Signals, worker.Options{}))
	w.Until(w.Accept(w.NewVersion(twoTransforms, twoTransformEdges), 1, fixture.RunOptions{})[0], "the run ends", fixture.Finished)
}
