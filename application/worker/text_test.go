package worker_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
)

func TestAFailureThatNoStoreCouldKeepEndsTheRun(t *testing.T) {
	t.Parallel()
	fixture.OnEachStore(t, func(t *testing.T, store *sqlstore.Store) {
		w := newEnv(t, store)
		ver := w.NewVersion([]string{"a " + fixture.CallNode}, nil)
		w.NodeRunner.Answer = func(context.Context, outbound.NodeCall) (outbound.NodeOutcome, error) {
			return outbound.NodeFailed{Code: "bad\x00", Message: "a\x00b\xff"}, nil
		}
		w.StartWorker()
		r := w.Until(w.Accept(ver, 1, fixture.RunOptions{})[0], "the run ends", fixture.Finished)
		want := &run.Failure{Code: "bad\ufffd", Message: "a\ufffdb\ufffd", Node: "a"}
		if diff := cmp.Diff(want, r.Failure()); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"a 1"}, w.NodeRunner.Attempts()); diff != "" || w.Errors() != nil {
			t.Error(diff)
		}
	})
}

func TestARunWhoseStepIsAlwaysRefusedIsGivenUp(t *testing.T) {
	t.Parallel()
	fixture.OnEachStore(t, func(t *testing.T, store *sqlstore.Store) {
		w := newEnv(t, store)
		ver := w.NewVersion([]string{"a " + fixture.CallNode}, nil)
		w.Store.WrapWrite = func(st outbound.Stores) outbound.Stores {
			st.Runs.Runs = refusing{st.Runs.Runs, func(s outbound.RunStep) error {
				if s.Run.Status() == run.StatusCompleted {
					return errors.New("the text cannot be kept")
				}
				return nil
			}}
			return st
		}
		w.StartWorker()
		r := w.Until(w.Accept(ver, 1, fixture.RunOptions{})[0], "the run ends", fixture.Finished)
		if r.Status() != run.StatusFailed || r.Failure().Code != run.CodeInternal {
			t.Errorf("it is %s: %+v", r.Status(), r.Failure())
		}
		if diff := cmp.Diff([]string{"a 1"}, w.NodeRunner.Attempts()); diff != "" {
			t.Error(diff)
		}
	})
}
