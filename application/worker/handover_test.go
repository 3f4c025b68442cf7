package worker_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Three processes hand runs over to one another, and one of them ends meanwhile: what runs call is called
// once, waits end, and retries are made.
func TestRunsThatAreHandedOverEndOnce(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(w *env) {
		w.HandOverTo(new(fixture.Relay))
		ver := w.NewVersion([]string{"call " + fixture.CallNode, `wait wait {"delayMs": 400}`, `text transform {"expression": "({ ok: true })"}`}, []string{"call -> wait", "wait -> text"})
		opts := fixture.WorkerOptions
		opts.Lease = 2 * time.Second
		for range 2 {
			w.Work(w.NewWorker(w.Store, w.Signals, opts))
		}
		stop := w.Work(w.NewWorker(w.Store, w.Signals, opts))
		ids := w.Accept(ver, 20, fixture.RunOptions{Retry: workflow.RetryPolicy{MaxRetries: 1, Backoff: time.Millisecond, MaxBackoff: time.Millisecond}})
		stop()
		for _, id := range ids {
			if r := w.Until(id, "the run ends", fixture.Finished); r.Status() != run.StatusCompleted {
				w.Errorf("%s: %s, %+v", id, r.Status(), r.Failure())
			}
			if got := w.History(id); count(got, "run.started") != 1 || count(got, "node.completed call") != 1 || count(got, "node.completed text") != 1 || count(got, "run.completed") != 1 {
				w.Errorf("%s: %q", id, got)
			}
		}
	})
}

func count(all []string, one string) (n int) {
	for _, other := range all {
		if other == one {
			n++
		}
	}
	return n
}

// While the engine is away runs wait, and those of the table go on.
func TestRunsWaitForAnEngineThatIsAway(t *testing.T) {
	t.Parallel()
	fixture.TableOnly(t, "it has runs begin on the table, too")
	onEachStore(t, func(w *env) {
		ver := w.NewVersion(twoTransforms, twoTransformEdges)
		before := w.Accept(ver, 3, fixture.RunOptions{})
		relay := new(fixture.Relay)
		relay.SetAway(true)
		w.HandOverTo(relay)
		ids := w.Accept(ver, 10, fixture.RunOptions{})
		w.Work(w.NewWorker(w.Store, w.Signals, fixture.ShortLeaseOptions))
		for _, id := range before {
			w.Until(id, "a run of the table ends", fixture.Finished)
		}
		for _, id := range ids {
			if r := w.Get(id); r.Status() != run.StatusPending {
				w.Errorf("%s is %s", id, r.Status())
			}
		}
		if w.Errors() == nil {
			w.Error("nobody is told")
		}
		relay.SetAway(false)
		for _, id := range ids {
			if r := w.Until(id, "the run ends", fixture.Finished); r.Status() != run.StatusCompleted {
				w.Errorf("%s: %s", id, r.Status())
			}
		}
	})
}

// However many are handed over, no more of a tenant are worked on than it may have.
func TestAnEngineIsGivenAsManyRunsOfATenantAsItMayHave(t *testing.T) {
	t.Parallel()
	w := newEnv(t, fixture.OpenSQLite(t))
	w.HandOverTo(new(fixture.Relay))
	begun, goOn := make(chan struct{}, 100), make(chan struct{})
	w.NodeRunner.Answer = func(context.Context, outbound.NodeCall) (outbound.NodeOutcome, error) {
		begun <- struct{}{}
		<-goOn
		return outbound.NodeCompleted{}, nil
	}
	ver := w.NewVersion([]string{"a " + fixture.CallNode}, nil)
	opts := fixture.WorkerOptions
	opts.PerTenant = 3
	for range 2 {
		w.Work(w.NewWorker(w.Store, w.Signals, opts))
	}
	ids := w.Accept(ver, 12, fixture.RunOptions{})
	for range 3 {
		await(t, begun, "an attempt begins")
	}
	select {
	case <-begun:
		t.Error("a fourth run of the tenant is worked on")
	case <-time.After(time.Second):
	}
	close(goOn)
	for _, id := range ids {
		w.Until(id, "the run ends", fixture.Finished)
	}
	if made := w.NodeRunner.Attempts(); len(made) != len(ids) || slices.ContainsFunc(made, func(one string) bool { return one != "a 1" }) {
		t.Errorf("made are %q", made)
	}
}
