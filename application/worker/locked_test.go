package worker_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Somebody may hold the row of a run for long: a process that was frozen in the middle
// of a unit. Only that run is affected, and goes on when it is let go.
func TestARunThatIsLockedForLongKeepsNoOtherFromBeingWorkedOn(t *testing.T) {
	t.Parallel()
	w := newEnv(t, fixture.OpenPostgres(t))
	began, let := make(chan string, 10), make(chan struct{})
	w.NodeRunner.Answer = func(ctx context.Context, c outbound.NodeCall) (outbound.NodeOutcome, error) {
		if c.NodeID == "slow" {
			began <- c.NodeID
			select {
			case <-let:
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
		return outbound.NodeCompleted{}, nil
	}
	slow, quick := w.NewVersion([]string{"slow " + fixture.CallNode, "then " + fixture.CallNode}, []string{"slow -> then"}), w.NewVersion([]string{"quick " + fixture.CallNode}, nil)
	setup := fixture.ShortLeaseOptions
	setup.Lease = 3 * time.Second // or a busy machine is too late to renew that of the other one
	w.Work(w.NewWorker(w.Store, w.Signals, setup))
	locked, beside := w.Accept(slow, 1, fixture.RunOptions{})[0], w.Accept(slow, 1, fixture.RunOptions{})[0]
	await(t, began, "the first slow attempt begins")
	await(t, began, "the second slow attempt begins")

	w.Do(func(ctx context.Context, st outbound.Stores) error {
		if _, err := st.Runs.Runs.Get(ctx, tenant.All(w.Owner), locked); err != nil {
			return err
		}
		for held, pause := time.Now(), time.Tick(setup.Lease/10); time.Since(held) < 2*setup.Lease; <-pause {
			id := w.Accept(quick, 1, fixture.RunOptions{})[0]
			w.Until(id, "another run ends meanwhile", fixture.Finished)
		}
		return nil
	})
	close(let)
	for _, id := range []run.ID{locked, beside} {
		if r := w.Until(id, "it ends", fixture.Finished); r.Status() != run.StatusCompleted {
			t.Errorf("%s: %+v", id, r.Failure())
		}
	}
	slows := make(map[string]int)
	for _, c := range w.NodeRunner.Calls {
		if c.NodeID != "quick" {
			slows[c.NodeID]++
		}
	}
	if diff := cmp.Diff(map[string]int{"slow": 2, "then": 2}, slows); diff != "" {
		t.Error(diff)
	}
	if err := w.Errors(); err != nil {
		t.Error(err)
	}
}

// damaging adds a run that cannot be read to what is claimed, once.
type damaging struct {
	outbound.RunQueue
	left *int
	err  error
}

func (d damaging) Claim(ctx context.Context, c outbound.RunClaim) ([]outbound.LeasedRun, error) {
	leased, err := d.RunQueue.Claim(ctx, c)
	if len(leased) > 0 && *d.left > 0 {
		*d.left--
		leased = append([]outbound.LeasedRun{{Lease: outbound.RunLease{Tenant: "t", Run: "run_damaged"}, At: leased[0].At, Unreadable: d.err}}, leased...)
	}
	return leased, err
}

func TestARunThatCannotBeReadIsReportedOnceAndTheOthersAreWorkedOn(t *testing.T) {
	t.Parallel()
	w := newEnv(t, fixture.OpenSQLite(t))
	left, damage := 1, errors.New("progress ends early")
	w.Store.WrapWrite = func(st outbound.Stores) outbound.Stores {
		st.Runs.Queue = damaging{st.Runs.Queue, &left, damage}
		return st
	}
	ver := w.NewVersion([]string{"a " + fixture.CallNode}, nil)
	stop := w.StartWorker()
	for range 2 {
		w.Until(w.Accept(ver, 1, fixture.RunOptions{})[0], "the run ends", fixture.Finished)
	}
	stop()
	err := w.Errors()
	if !errors.Is(err, damage) || strings.Count(err.Error(), "run_damaged") != 1 {
		t.Errorf("the worker says %v", err)
	}
}
