package worker_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// everyRun lists all runs of the tenant, those that others started as well.
func (w *env) everyRun() (all []run.Summary) {
	w.Helper()
	for offset, more := 0, true; more; offset += 100 {
		page, err := domain.NewPageRequest(100, offset)
		if err != nil {
			w.Fatal(err)
		}
		w.Do(func(ctx context.Context, st outbound.Stores) error {
			found, err := st.Runs.Runs.List(ctx, tenant.All(w.Owner), run.Filter{Children: true}, domain.Query{PageRequest: page})
			all, more = append(all, found.Items...), len(found.Items) == 100
			return err
		})
	}
	return all
}

// progress counts the runs that have begun and, once more, those that have ended.
func (w *env) progress() (n int) {
	w.Helper()
	for _, s := range w.everyRun() {
		n++
		if s.Status.Finished() {
			n++
		}
	}
	return n
}

func (w *env) loopsOf(id run.ID) (loops []run.Loop) {
	w.Helper()
	w.Do(func(ctx context.Context, st outbound.Stores) (err error) {
		loops, err = st.Runs.Loops.Of(ctx, w.Owner, id)
		return err
	})
	return loops
}

// Runs with items, and the items, are cancelled and retried at any instant, while items fail and
// processes die. In the end nothing is left behind, each item has had one run, and what is retried
// then completes.
func TestAFamilyComesToAnEndWhateverIsDoneToIt(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // to be repeated
			w := newEnv(t, fixture.OpenSQLite(t))
			var calls, works atomic.Int64
			w.NodeRunner.Answer = func(context.Context, outbound.NodeCall) (outbound.NodeOutcome, error) {
				if n := calls.Add(1); works.Load() == 0 && n%11 == 0 {
					return outbound.NodeFailed{Code: "http_404", Message: "No."}, nil
				}
				return outbound.NodeCompleted{Output: 1.0}, nil
			}
			config := []string{`, "concurrency": 3`, `, "concurrency": 3, "onItemError": "continue"`}[seed%2]
			ver := w.each(config, []string{
				"each/call " + fixture.CallNode, `each/rest wait {"delayMs": 5}`, `each/inner forEach {"items": "[1, 2, 3]", "concurrency": 2}`,
				"inner/low " + fixture.CallNode, `inner/soon wait {"delayMs": 210}`,
			}, "call -> rest", "rest -> inner", "low -> soon")
			parents := w.Accept(ver, 3, fixture.RunOptions{Payload: listOf(7)})
			stop := w.Work(w.NewWorker(w.Raw, w.Signals, fixture.ShortLeaseOptions))
			for range 60 {
				time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
				all := w.everyRun()
				id := all[random.IntN(len(all))].ID
				switch random.IntN(5) {
				case 0:
					_, _ = w.Runs.Cancel(w.Context(), w.Caller, domain.IdempotencyKey{}, id, "any") // most refuse
				case 1:
					stop()
					stop = w.Work(w.NewWorker(w.Raw, w.Signals, fixture.ShortLeaseOptions))
				default:
					_, _ = w.Runs.Retry(w.Context(), w.Caller, domain.IdempotencyKey{}, id)
				}
			}
			settled := func() bool {
				return !slices.ContainsFunc(w.everyRun(), func(s run.Summary) bool { return !s.Status.Finished() })
			}
			w.Eventually("all have ended", settled)
			works.Store(1)
			for _, id := range parents {
				for range 3 { // an inner item that was cancelled fails its parent once more
					if w.Get(id).Status() != run.StatusFailed {
						break
					}
					if _, err := w.Runs.Retry(w.Context(), w.Caller, domain.IdempotencyKey{}, id); err != nil {
						t.Fatal(err)
					}
					w.Until(id, "the run ends", fixture.Finished)
				}
				r := w.Get(id)
				if r.Status() == run.StatusFailed {
					t.Errorf("it failed with %+v", r.Failure())
				}
				if r.Status() == run.StatusCompleted {
					if got := w.result(r); got.Count != 7 || len(got.Results) != 7 || seed%2 == 0 && len(got.Failed) != 0 {
						t.Errorf("%+v", got)
					}
				}
			}
			w.Eventually("all have ended again", settled)
			began := map[string]bool{}
			for _, s := range w.everyRun() {
				if s.Index != nil {
					item := fmt.Sprint(s.Parent, s.ParentNode, *s.Index)
					if began[item] {
						t.Errorf("%s began twice", item)
					}
					began[item] = true
				}
				for _, l := range w.loopsOf(s.ID) {
					if l.Live != 0 || l.Paused != 0 || !l.Left {
						t.Errorf("%s is %s, and its loop %+v", s.ID, s.Status, l)
					}
				}
			}
			if err := w.Errors(); err != nil {
				t.Error(err)
			}
		})
	}
}
