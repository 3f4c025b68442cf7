package worker_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/directory"
	"github.com/sluicehq/sluice/adapters/expression"
	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/application/worker"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

func TestAnAttemptThatFailsIsRetriedAfterItsBackoff(t *testing.T) {
	t.Parallel()
	fixture.OnEachStore(t, func(t *testing.T, store *sqlstore.Store) {
		for claim, backoff := range map[string]time.Duration{"that is waited for in memory": 60 * time.Millisecond, "for which the run is given back": 700 * time.Millisecond} {
			t.Run(claim, func(t *testing.T) {
				w := newEnv(t, store)
				var made atomic.Int64
				w.NodeRunner.Answer = func(context.Context, outbound.NodeCall) (outbound.NodeOutcome, error) {
					if made.Add(1) < 3 {
						return outbound.NodeFailed{Code: "http_503", Message: "The server is busy.", Retryable: true}, nil
					}
					return outbound.NodeCompleted{}, nil
				}
				ver := w.NewVersion([]string{"a " + fixture.CallNode}, nil)
				defer w.StartWorker()()
				id := w.Accept(ver, 1, fixture.RunOptions{Retry: workflow.RetryPolicy{MaxRetries: 3, Backoff: backoff, MaxBackoff: backoff}})[0]
				r := w.Until(id, "the run ends", fixture.Finished)
				if diff := cmp.Diff([]string{"a 1", "a 2", "a 3"}, w.NodeRunner.Attempts()); diff != "" || r.Status() != run.StatusCompleted {
					t.Error(r.Failure(), diff)
				}
				if took := r.FinishedAt().Sub(*r.StartedAt()); took < backoff { // two halves at least
					t.Errorf("it took %s", took)
				}
				if err := w.Errors(); err != nil {
					t.Error(err)
				}
			})
		}
	})
}

func TestARunThatTakesTooLongIsInterruptedAndFails(t *testing.T) {
	t.Parallel()
	w := newEnv(t, fixture.OpenSQLite(t))
	h := newHanging()
	w.NodeRunner.Answer = h.answer
	ver := w.NewVersion([]string{"a " + fixture.CallNode}, nil)
	w.StartWorker()
	id := w.Accept(ver, 1, fixture.RunOptions{Timeout: 300 * time.Millisecond})[0]
	_ = await(t, h.ended, "the attempt is interrupted") // the cause
	r := w.Until(id, "the run ends", fixture.Finished)
	if r.Status() != run.StatusFailed || r.Failure().Code != run.CodeTimeout || len(w.NodeRunner.Attempts()) != 1 {
		t.Errorf("%s: %+v", r.Status(), r.Failure())
	}
	if err := w.Errors(); err != nil {
		t.Error(err)
	}
}

// What does not come to an end within the gateway is made again, a few times, and then
// the run decides.
func TestAnAttemptThatCouldNotBeMadeIsMadeAgain(t *testing.T) {
	t.Parallel()
	for claim, c := range map[string]struct {
		fail func() (outbound.NodeOutcome, error)
		want string
	}{
		"after an error":                       {func() (outbound.NodeOutcome, error) { return nil, errors.New("no more sockets") }, "no more sockets"},
		"after a panic":                        {func() (outbound.NodeOutcome, error) { panic("index out of range") }, "index out of range"},
		"after an outcome that does not exist": {func() (outbound.NodeOutcome, error) { return nil, nil }, "outcome"},
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t, fixture.OpenSQLite(t))
			var made atomic.Int64
			w.NodeRunner.Answer = func(context.Context, outbound.NodeCall) (outbound.NodeOutcome, error) {
				if made.Add(1) < 3 {
					return c.fail()
				}
				return outbound.NodeCompleted{}, nil
			}
			ver := w.NewVersion([]string{"a " + fixture.CallNode}, nil)
			w.StartWorker()
			r := w.Until(w.Accept(ver, 1, fixture.RunOptions{})[0], "the run ends", fixture.Finished)
			if diff := cmp.Diff([]string{"a 1", "a 1", "a 1"}, w.NodeRunner.Attempts()); diff != "" || r.Status() != run.StatusCompleted {
				t.Error(r.Failure(), diff)
			}
			if err := w.Errors(); err == nil || strings.Count(err.Error(), c.want) < 2 || !strings.Contains(err.Error(), string(r.ID())) {
				t.Errorf("the worker says %v", err)
			}
		})
	}
}

func TestAnAttemptThatCanNeverBeMadeFailsInTheEnd(t *testing.T) {
	t.Parallel()
	w := newEnv(t, fixture.OpenSQLite(t))
	w.NodeRunner.Answer = func(context.Context, outbound.NodeCall) (outbound.NodeOutcome, error) {
		return nil, errors.New("no more sockets")
	}
	ver := w.NewVersion([]string{"a " + fixture.CallNode}, nil)
	w.StartWorker()
	r := w.Until(w.Accept(ver, 1, fixture.RunOptions{Retry: workflow.RetryPolicy{MaxRetries: 0, Backoff: 1, MaxBackoff: 1}})[0], "the run ends", fixture.Finished)
	if r.Status() != run.StatusFailed || r.Failure().Code != "attempt_aborted" || len(w.NodeRunner.Attempts()) != 5 {
		t.Errorf("%+v after %v", r.Failure(), w.NodeRunner.Attempts())
	}
}

func TestARunWhoseVersionIsGoneIsCancelled(t *testing.T) {
	t.Parallel()
	fixture.OnEachStore(t, func(t *testing.T, store *sqlstore.Store) {
		w := newEnv(t, store)
		ver := w.NewVersion([]string{`a wait {"delayMs": 900}`, "b " + fixture.CallNode}, []string{"a -> b"})
		gone := func() {
			w.Do(func(ctx context.Context, st outbound.Stores) error {
				return st.Versions.Delete(ctx, tenant.All(w.Owner), ver.ID())
			})
		}
		waiting := w.Accept(ver, 1, fixture.RunOptions{})[0]
		stop := w.StartWorker()
		w.Until(waiting, "the run waits", fixture.Is(run.StatusPaused))
		stop()
		gone()
		w.StartWorker() // another process, which has no plan in memory
		pending := w.Accept(ver, 1, fixture.RunOptions{})[0]
		for id, want := range map[run.ID][]string{
			pending: {"run.cancelled"},
			waiting: {"run.started", "node.waiting a", "run.paused", "run.resumed", "node.completed a", "run.cancelled"},
		} {
			if r := w.Until(id, "the run ends", fixture.Finished); r.Status() != run.StatusCancelled {
				t.Errorf("it is %s", r.Status())
			}
			if diff := cmp.Diff(want, w.History(id)); diff != "" {
				t.Error(diff)
			}
			if told := w.Events(id); told[len(told)-1] != "run.cancelled" {
				t.Errorf("%v was told", told)
			}
		}
		if err := w.Errors(); err != nil || len(w.NodeRunner.Attempts()) != 0 {
			t.Error(err, w.NodeRunner.Attempts())
		}
	})
}

// An attempt that was begun before the tenant deleted its node type cannot be repeated
// by who takes the run over.
func TestAnAttemptWhoseNodeTypeIsGoneFails(t *testing.T) {
	t.Parallel()
	w := newEnv(t, fixture.OpenSQLite(t))
	ver := w.NewVersion([]string{"a charge"}, nil)
	id := w.Accept(ver, 1, fixture.RunOptions{})[0]
	var leased []outbound.LeasedRun
	w.Do(func(ctx context.Context, st outbound.Stores) (err error) {
		leased, err = st.Runs.Queue.Claim(ctx, outbound.RunClaim{Worker: "dead", Period: time.Millisecond, Limit: 1, PerTenant: 1})
		return err
	})
	from := leased[0].Run.Seq()
	step, err := leased[0].Run.Advance(w.Plan(ver, "charge"), run.Event{At: leased[0].At, Fact: run.Started{}})
	if err != nil || len(step.Execute) != 1 {
		t.Fatal(step, err)
	}
	w.Do(func(ctx context.Context, st outbound.Stores) error {
		return st.Runs.Runs.Record(ctx, outbound.RunStep{Run: leased[0].Run, From: from, History: step.History, Lease: leased[0].Lease, Keep: true})
	})
	w.StartWorker()
	r := w.Until(id, "the run ends", fixture.Finished)
	if r.Status() != run.StatusFailed || r.Failure().Code != run.CodeTypeUnavailable || len(w.NodeRunner.Attempts()) != 0 {
		t.Errorf("%s: %+v", r.Status(), r.Failure())
	}
}

// refusing lets the recording of some runs fail.
type refusing struct {
	outbound.RunRepository
	err func(step outbound.RunStep) error
}

func (r refusing) Record(ctx context.Context, steps ...outbound.RunStep) error {
	for _, s := range steps {
		if err := r.err(s); err != nil {
			return err
		}
	}
	return r.RunRepository.Record(ctx, steps...)
}

func TestAStepThatCannotBeRecordedDoesNotKeepOthersBack(t *testing.T) {
	t.Parallel()
	complain := func() error { return errors.New("the text cannot be kept") }
	for claim, c := range map[string]struct {
		fail   func() error
		places int
	}{
		"because of an error": {complain, 64},
		"because of a panic":  {func() error { panic("the text cannot be kept") }, 64},
		"nor their places":    {complain, 1},
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t, fixture.OpenSQLite(t))
			ver := w.NewVersion(twoTransforms, twoTransformEdges)
			ids := w.Accept(ver, 20, fixture.RunOptions{})
			var asked, healed atomic.Int64
			w.Store.WrapWrite = func(st outbound.Stores) outbound.Stores {
				st.Runs.Runs = refusing{st.Runs.Runs, func(s outbound.RunStep) error {
					if s.Run.ID() != ids[7] || healed.Load() > 0 {
						return nil
					}
					asked.Add(1)
					return c.fail()
				}}
				return st
			}
			opts := fixture.ShortLeaseOptions
			opts.Concurrency = c.places
			w.Work(w.NewWorker(w.Store, w.Signals, opts))
			for i, id := range ids {
				if i != 7 {
					w.Until(id, "the others end", fixture.Is(run.StatusCompleted))
				}
			}
			w.Eventually("the worker leaves it alone", func() bool { return asked.Load() >= 6 })
			for complaint := range strings.SplitSeq(w.Errors().Error(), "run run_") {
				if strings.Contains(complaint, "cannot be kept") && !strings.HasPrefix("run_"+complaint, string(ids[7])) {
					t.Errorf("the worker says %s", complaint)
				}
			}
			healed.Store(1)
			w.Until(ids[7], "it ends, too, when it can be recorded", fixture.Finished) // as completed, or given up
		})
	}
}

// A commit of which nobody knows whether it took effect is neither lost nor repeated.
func TestAStepWhoseCommitWasInDoubtIsMadeOnce(t *testing.T) {
	t.Parallel()
	fixture.TableOnly(t, "each commit in doubt is that of a take-over, after which the lease has to end")
	w := newEnv(t, fixture.OpenSQLite(t))
	ver := w.NewVersion([]string{"a " + fixture.CallNode, "b " + fixture.CallNode}, []string{"a -> b"})
	doubtful := &inDoubt{UnitOfWork: w.Store}
	w.Work(w.NewWorker(doubtful, w.Signals, fixture.ShortLeaseOptions))
	var ids []run.ID
	for range 5 {
		ids = append(ids, w.Accept(ver, 1, fixture.RunOptions{})...)
	}
	for _, id := range ids {
		r := w.Until(id, "the run ends", fixture.Finished)
		want := []string{
			"run.started", "node.started a", "node.completed a", "node.started b", "node.completed b", "run.completed",
		}
		if diff := cmp.Diff(want, w.History(id)); diff != "" || r.Status() != run.StatusCompleted {
			t.Error(diff)
		}
	}
	if doubtful.n.Load() < 10 {
		t.Errorf("only %d commits were in doubt", doubtful.n.Load())
	}
}

// inDoubt reports every second unit that has committed as one that has not.
type inDoubt struct {
	outbound.UnitOfWork
	n atomic.Int64
}

func (d *inDoubt) Do(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	err := d.UnitOfWork.Do(ctx, fn)
	if err == nil && d.n.Add(1)%2 == 0 {
		return domain.Fail(domain.Unavailable, "database_unavailable", "The connection broke.")
	}
	return err
}

// brokenCompiler panics at one source.
type brokenCompiler struct{ run.Compiler }

func (c brokenCompiler) Compile(source string, roots ...string) (run.Expression, error) {
	e, err := c.Compiler.Compile(source, roots...)
	switch source {
	case "input.compile":
		panic("broken compiler")
	case "input.evaluate":
		return brokenExpression{}, nil
	}
	return e, err
}

type brokenExpression struct{}

func (brokenExpression) NodesRead() ([]string, bool) { return nil, true }

func (brokenExpression) Evaluate(run.Env) (any, error) { panic("broken evaluator") }

func TestADefectInOneRunDoesNotEndTheWorker(t *testing.T) {
	t.Parallel()
	for claim, source := range map[string]string{"when its plan is made": "input.compile", "when it is advanced": "input.evaluate"} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t, fixture.OpenSQLite(t))
			broken := w.Accept(w.NewVersion([]string{`a condition {"condition": "` + source + `"}`}, nil), 3, fixture.RunOptions{})
			d := directory.New(w.Raw)
			d.SetReliable(true)
			w.Work(w.Connect(worker.New(w.Store, w.NodeRunner, w.NodeRunner, brokenCompiler{expression.Compiler{}}, d, w.Signals, system.Random{}, w.Key, fixture.UnlimitedBudgets(), w.NewAllowance(), fixture.ShortLeaseOptions)))
			id := w.Accept(w.NewVersion(twoTransforms, twoTransformEdges), 1, fixture.RunOptions{})[0]
			w.Until(id, "another run ends", fixture.Is(run.StatusCompleted))
			complaints := 0
			w.Eventually("the broken ones are tried again later", func() bool {
				if err := w.Errors(); err != nil {
					complaints += strings.Count(err.Error(), "panic: broken")
				}
				return complaints >= 2*len(broken)
			})
			for _, id := range broken {
				if r := w.Get(id); r.Status() != run.StatusPending {
					t.Errorf("it is %s", r.Status())
				}
			}
		})
	}
}

func TestAWorkerThatStopsLetsAttemptsEndAndGivesTheRestBack(t *testing.T) {
	t.Parallel()
	fixture.OnEachStore(t, func(t *testing.T, store *sqlstore.Store) {
		w := newEnv(t, store)
		began, let := make(chan string, 10), make(chan struct{})
		interrupted := make(chan string, 10)
		w.NodeRunner.Answer = func(ctx context.Context, c outbound.NodeCall) (outbound.NodeOutcome, error) {
			began <- c.NodeID
			if c.NodeID == "quick" {
				<-let
				return outbound.NodeCompleted{}, nil
			}
			<-ctx.Done()
			interrupted <- c.NodeID
			return nil, ctx.Err()
		}
		quick := w.NewVersion([]string{"quick " + fixture.CallNode, "next " + fixture.CallNode}, []string{"quick -> next"})
		slow := w.NewVersion([]string{"slow " + fixture.CallNode}, nil)
		opts := fixture.WorkerOptions
		opts.Lease, opts.Drain = time.Hour, 500*time.Millisecond
		stop := w.Work(w.NewWorker(w.Store, w.Signals, opts))
		ids := append(w.Accept(quick, 1, fixture.RunOptions{}), w.Accept(slow, 1, fixture.RunOptions{})...)
		for range 2 {
			await(t, began, "an attempt begins")
		}
		asked := time.Now()
		stopped := make(chan struct{})
		go func() {
			stop()
			close(stopped)
		}()
		time.AfterFunc(opts.Drain/5, func() { close(let) }) // when it has been told to stop
		r := w.Until(ids[0], "what ends in time is recorded", func(r *run.Run) bool { return len(r.Executed()) == 1 })
		await(t, stopped, "the worker ends")
		if took := time.Since(asked); took < 500*time.Millisecond || took > 5*time.Second {
			t.Errorf("it took %s", took)
		}
		await(t, interrupted, "what does not is interrupted")
		if diff := cmp.Diff(2, len(w.NodeRunner.Attempts())); diff != "" {
			t.Errorf("%v was begun", w.NodeRunner.Attempts())
		}
		if r.Status() != run.StatusRunning {
			t.Errorf("it is %s", r.Status())
		}
		w.Do(func(ctx context.Context, st outbound.Stores) error { // although the leases would last for an hour
			leased, err := st.Runs.Queue.Claim(ctx, outbound.RunClaim{Worker: "next", Period: time.Hour, Limit: 9, PerTenant: 9})
			if len(leased) != 2 {
				t.Errorf("%d runs can be claimed", len(leased))
			}
			return err
		})
		if err := w.Errors(); err != nil {
			t.Error(err)
		}
	})
}

// Word may be lost: runs are found all the same. A worker that has nothing to do asks
// the store once a second.
func TestAnIdleWorkerAsksOnceASecond(t *testing.T) {
	t.Parallel()
	fixture.TableOnly(t, "a server does not share the clock of the test")
	synctest.Test(t, func(t *testing.T) {
		store := fixture.OpenSQLite(t)
		w := newEnv(t, store)
		stop := w.Work(w.NewWorker(w.Store, w.Signals, worker.Options{}))
		time.Sleep(100 * time.Second) // of the bubble
		stop()
		if w.Store.Commits > 1 || w.Store.ReadCount < 95 || w.Store.ReadCount > 105 {
			t.Errorf("%d units, %d reads", w.Store.Commits, w.Store.ReadCount)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}

// The queue is looked at once a second in any case, and when a run is due before that.
func TestAWaitShorterThanASecondEndsInTime(t *testing.T) {
	t.Parallel()
	w := newEnv(t, fixture.OpenSQLite(t))
	w.StartWorker()
	ver := w.NewVersion([]string{`a wait {"delayMs": 450}`}, nil)
	least := time.Hour
	for range 5 { // of which one is not held up by whatever else the machine does
		r := w.Until(w.Accept(ver, 1, fixture.RunOptions{})[0], "the run ends", fixture.Finished)
		n := r.Nodes()[0]
		least = min(least, n.FinishedAt.Sub(*n.Pause.Until))
	}
	if least > 250*time.Millisecond {
		t.Errorf("a wait ended at least %s late", least)
	}
}

func TestARunWithoutWordOfItIsFound(t *testing.T) {
	t.Parallel()
	w := newEnv(t, fixture.OpenSQLite(t))
	w.Work(w.NewWorker(w.Store, w.severed(), fixture.WorkerOptions))
	ver := w.NewVersion(twoTransforms, twoTransformEdges)
	for range 2 {
		w.Until(w.Accept(ver, 1, fixture.RunOptions{})[0], "the run ends", fixture.Finished)
	}
}

// unfollowable are signals that cannot be followed.
type unfollowable struct{ *sqlstore.RunSignals }

func (unfollowable) Subscribe(context.Context, func([]run.ID)) error {
	return errors.New("nobody can be heard")
}

func TestAWorkerThatHearsNothingWorksAllTheSame(t *testing.T) {
	t.Parallel()
	w := newEnv(t, fixture.OpenSQLite(t))
	w.Work(w.NewWorker(w.Store, unfollowable{w.Signals}, fixture.WorkerOptions))
	w.Until(w.Accept(w.NewVersion(twoTransforms, twoTransformEdges), 1, fixture.RunOptions{})[0], "the run ends", fixture.Finished)
	if err := w.Errors(); err == nil || !strings.Contains(err.Error(), "nobody can be heard") {
		t.Errorf("the worker says %v", err)
	}
}

func TestAStoreThatDoesNotAnswerIsAskedAgainLater(t *testing.T) {
	t.Parallel()
	w := newEnv(t, fixture.OpenSQLite(t))
	gone := domain.Fail(domain.Unavailable, "database_unavailable", "The database cannot be reached.")
	var asked atomic.Int64
	up := make(chan struct{})
	w.Store.FailWith(func(context.Context) error {
		select {
		case <-up:
			return nil
		default:
			asked.Add(1)
			return gone
		}
	})
	ver := w.NewVersion(twoTransforms, twoTransformEdges)
	w.StartWorker()
	began := time.Now()
	ids := w.Accept(ver, 10, fixture.RunOptions{})
	w.Eventually("the worker has asked a few times", func() bool {
		w.Signals.Notify(ids...) // which does not make it ask more often
		return asked.Load() >= 4
	})
	if since := time.Since(began); since < 500*time.Millisecond {
		t.Errorf("it has asked %d times within %s", asked.Load(), since)
	}
	close(up)
	for _, id := range ids {
		w.Until(id, "the run ends", fixture.Is(run.StatusCompleted))
	}
}
