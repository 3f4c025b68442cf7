package runs_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
)

func TestAFailureThatNoStoreCouldKeepEndsTheRun(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorkshop(t, store)
		ver := w.version([]string{"a " + call}, nil)
		w.outside.answer = func(context.Context, outbound.NodeCall) (outbound.NodeOutcome, error) {
			return outbound.NodeFailed{Code: "bad\x00", Message: "a\x00b\xff"}, nil
		}
		w.start()
		r := w.until(w.accept(ver, 1, accepted{})[0], "the run ends", finished)
		want := &run.Failure{Code: "bad\ufffd", Message: "a\ufffdb\ufffd", Node: "a"}
		if diff := cmp.Diff(want, r.Failure()); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"a 1"}, w.outside.made()); diff != "" || w.errors() != nil {
			t.Error(diff)
		}
	})
}

func TestARunWhoseStepIsAlwaysRefusedIsGivenUp(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorkshop(t, store)
		ver := w.version([]string{"a " + call}, nil)
		w.store.wrap = func(st outbound.Stores) outbound.Stores {
			st.Runs.Runs = refusing{st.Runs.Runs, func(s outbound.RunStep) error {
				if s.Run.Status() == run.StatusCompleted {
					return errors.New("the text cannot be kept")
				}
				return nil
			}}
			return st
		}
		w.start()
		r := w.until(w.accept(ver, 1, accepted{})[0], "the run ends", finished)
		if r.Status() != run.StatusFailed || r.Failure().Code != run.CodeInternal {
			t.Errorf("it is %s: %+v", r.Status(), r.Failure())
		}
		if diff := cmp.Diff([]string{"a 1"}, w.outside.made()); diff != "" {
			t.Error(diff)
		}
	})
}
