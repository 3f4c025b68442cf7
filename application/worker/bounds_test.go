package worker_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/directory"
	"github.com/sluicehq/sluice/adapters/expression"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/application/worker"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Runs that panic whenever they are touched are not claimed for ever.
func TestARunThatPanicsTimeAndAgainFails(t *testing.T) {
	t.Parallel()
	for claim, source := range map[string]string{"when its plan is made": "input.compile", "when it is advanced": "input.evaluate"} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t, fixture.OpenSQLite(t))
			d := directory.New(w.Raw)
			d.SetReliable(true)
			opts := fixture.ShortLeaseOptions
			opts.Lease = 60 * time.Millisecond
			worker := w.Connect(worker.New(w.Store, w.NodeRunner, w.NodeRunner, brokenCompiler{expression.Compiler{}}, d, w.Signals, system.Random{}, w.Key, fixture.UnlimitedBudgets(), w.NewAllowance(), opts))
			w.Work(worker)
			id := w.Accept(w.NewVersion([]string{`a condition {"condition": "` + source + `"}`}, nil), 1, fixture.RunOptions{})[0]
			r := w.Until(id, "the run ends", fixture.Finished)
			if r.Status() != run.StatusFailed || r.Failure().Code != run.CodeInternal || worker.Panics() < 6 {
				t.Errorf("it is %s, %+v, after %d panics", r.Status(), r.Failure(), worker.Panics())
			}
			if err := w.Errors(); err == nil || !strings.Contains(err.Error(), "panic: broken") {
				t.Errorf("the worker says %v", err)
			}
		})
	}
}

// What is worked on at the same time is bounded by how large it is, one run is worked on
// however large, and a tenant's large runs hold up no other.
func TestLargeRunsWaitUntilThereIsRoom(t *testing.T) {
	t.Parallel()
	w := newEnv(t, fixture.OpenSQLite(t))
	began, let := make(chan outbound.NodeCall, 10), make(chan struct{})
	w.NodeRunner.Answer = func(ctx context.Context, c outbound.NodeCall) (outbound.NodeOutcome, error) {
		began <- c
		select {
		case <-let:
		case <-ctx.Done():
		}
		return outbound.NodeCompleted{}, ctx.Err()
	}
	ver := w.NewVersion([]string{"a " + fixture.CallNode}, nil)
	opts := fixture.WorkerOptions
	opts.Memory = 30_000
	w.Work(w.NewWorker(w.Store, w.Signals, opts))
	w.Accept(ver, 2, fixture.RunOptions{Payload: `"` + strings.Repeat("x", 20_000) + `"`})
	for range 2 { // the second one begins before there are 30,000 bytes
		await(t, began, "the large runs begin")
	}
	further, flood := w.Accept(ver, 1, fixture.RunOptions{})[0], w.Owner
	w.Owner = w.NewTenant()
	small := w.Accept(w.NewVersion(twoTransforms, twoTransformEdges), 1, fixture.RunOptions{})[0]
	w.Until(small, "another tenant's run ends meanwhile", fixture.Finished)
	w.Owner = flood
	if r := w.Get(further); len(began) != 0 || r.Status() != run.StatusPending {
		t.Errorf("beside the large runs %d began, and a further one of their tenant is %s", len(began), r.Status())
	}
	let <- struct{}{}
	await(t, began, "the next run begins when there is room")
	close(let)
	w.Until(further, "it ends", fixture.Finished)
}

// A store that hangs does not keep a worker from stopping.
func TestAClaimThatHangsDoesNotKeepTheWorkerFromStopping(t *testing.T) {
	t.Parallel()
	w := newEnv(t, fixture.OpenSQLite(t))
	hung := make(chan struct{}, 10)
	w.Store.FailWith(func(ctx context.Context) error {
		hung <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	})
	opts := fixture.WorkerOptions
	opts.Drain = 100 * time.Millisecond
	stop := w.Work(w.NewWorker(w.Store, w.Signals, opts))
	w.Accept(w.NewVersion(twoTransforms, twoTransformEdges), 1, fixture.RunOptions{})
	await(t, hung, "a claim hangs")
	asked := time.Now()
	stop()
	if took := time.Since(asked); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}
