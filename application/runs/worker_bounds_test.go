package runs_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/directory"
	"github.com/sluicehq/sluice/adapters/expression"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/application/runs"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Runs that panic whenever they are touched are not claimed for ever.
func TestARunThatPanicsTimeAndAgainFails(t *testing.T) {
	t.Parallel()
	for claim, source := range map[string]string{"when its plan is made": "input.compile", "when it is advanced": "input.evaluate"} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			w := newWorkshop(t, openSQLite(t))
			d := directory.New(w.raw)
			d.Trust(true)
			opts := hastySetup
			opts.Lease = 60 * time.Millisecond
			worker := runs.NewWorker(w.store, w.outside, w.outside, brokenCompiler{expression.Compiler{}}, d, w.signals, system.Random{}, w.key, plenty(), opts)
			w.works(worker)
			id := w.accept(w.version([]string{`a condition {"condition": "` + source + `"}`}, nil), 1, accepted{})[0]
			r := w.until(id, "the run ends", finished)
			if r.Status() != run.StatusFailed || r.Failure().Code != run.CodeInternal || worker.Panics() < 6 {
				t.Errorf("it is %s, %+v, after %d panics", r.Status(), r.Failure(), worker.Panics())
			}
			if err := w.errors(); err == nil || !strings.Contains(err.Error(), "panic: broken") {
				t.Errorf("the worker says %v", err)
			}
		})
	}
}

// What is worked on at the same time is bounded by how large it is, one run is worked on
// however large, and a tenant's large runs hold up no other.
func TestLargeRunsWaitUntilThereIsRoom(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, openSQLite(t))
	began, let := make(chan outbound.NodeCall, 10), make(chan struct{})
	w.outside.answer = func(ctx context.Context, c outbound.NodeCall) (outbound.NodeOutcome, error) {
		began <- c
		select {
		case <-let:
		case <-ctx.Done():
		}
		return outbound.NodeCompleted{}, ctx.Err()
	}
	ver := w.version([]string{"a " + call}, nil)
	opts := workerSetup
	opts.Memory = 30_000
	w.works(w.newWorker(w.store, w.signals, opts))
	w.accept(ver, 2, accepted{payload: `"` + strings.Repeat("x", 20_000) + `"`})
	for range 2 { // the second one begins before there are 30,000 bytes
		await(t, began, "the large runs begin")
	}
	further, flood := w.accept(ver, 1, accepted{})[0], w.owner
	w.owner = w.tenant()
	small := w.accept(w.version(twoTransforms, twoTransformEdges), 1, accepted{})[0]
	w.until(small, "another tenant's run ends meanwhile", finished)
	w.owner = flood
	if r := w.get(further); len(began) != 0 || r.Status() != run.StatusPending {
		t.Errorf("beside the large runs %d began, and a further one of their tenant is %s", len(began), r.Status())
	}
	let <- struct{}{}
	await(t, began, "the next run begins when there is room")
	close(let)
	w.until(further, "it ends", finished)
}

// A store that hangs does not keep a worker from stopping.
func TestAClaimThatHangsDoesNotKeepTheWorkerFromStopping(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, openSQLite(t))
	hung := make(chan struct{}, 10)
	w.store.fails(func(ctx context.Context) error {
		hung <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	})
	opts := workerSetup
	opts.Drain = 100 * time.Millisecond
	stop := w.works(w.newWorker(w.store, w.signals, opts))
	w.accept(w.version(twoTransforms, twoTransformEdges), 1, accepted{})
	await(t, hung, "a claim hangs")
	asked := time.Now()
	stop()
	if took := time.Since(asked); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}
