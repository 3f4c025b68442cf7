package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
)

// ledger keeps which runs were recorded together.
type ledger struct {
	outbound.UnitOfWork
	outbound.RunRepository
	fail func(of run.ID) error
	hold chan struct{} // closed when units may go on

	mu    sync.Mutex
	units []int // how many steps each had
}

func (l *ledger) Do(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	return fn(ctx, outbound.Stores{Runs: outbound.RunStores{Runs: l}})
}

func (l *ledger) Record(_ context.Context, steps ...outbound.RunStep) error {
	<-l.hold
	if steps[0].Run.ID() == "run_ahead" {
		return nil
	}
	l.mu.Lock()
	l.units = append(l.units, len(steps))
	l.mu.Unlock()
	for _, s := range steps {
		if err := l.fail(s.Run.ID()); err != nil {
			return err
		}
	}
	return nil
}

func TestStepsThatWaitAreRecordedTogether(t *testing.T) {
	refused := domain.Fail(domain.Conflict, "stale_run", "The run has moved on.")
	gone := domain.Fail(domain.Unavailable, "database_unavailable", "The database cannot be reached.")
	busy := domain.Fail(domain.Unavailable, "database_busy", "The database is busy.")
	is := func(id run.ID, err error) func(run.ID) error {
		return func(of run.ID) error {
			if of == id {
				return err
			}
			return nil
		}
	}
	one := func(err error) map[int]error { return map[int]error{1: err} }
	for claim, c := range map[string]struct {
		n     int
		fail  func(run.ID) error
		units []int
		want  map[int]error // of those that were not recorded
	}{
		"one by itself":    {1, is("", nil), []int{1}, nil},
		"up to sixty-four": {100, is("", nil), []int{64, 36}, nil},
		"each by itself when one of them is refused":     {4, is("run_001", refused), []int{4, 1, 1, 1, 1}, one(refused)},
		"each by itself when one of them has to wait":    {3, is("run_001", busy), []int{3, 1, 1, 1}, one(busy)},
		"none when the store is gone":                    {3, is("run_001", gone), []int{3}, map[int]error{0: gone, 1: gone, 2: gone}},
		"not again when the one that waited was refused": {1, is("run_000", refused), []int{1}, map[int]error{0: refused}},
	} {
		t.Run(claim, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &ledger{fail: c.fail, hold: make(chan struct{})}
				r := newRecorder(t.Context(), l, sqlstore.NewRunSignals(&sqlstore.Store{}), nil, func(time.Duration) time.Duration { return 0 })
				record := func(id string) error {
					return r.record(true, run.Step{}, outbound.RunStep{Run: run.New(run.ID(id), run.Start{}, time.Time{})})
				}
				for range batchesPerLane { // ahead of the others, which gather behind them
					go func() { _ = record("run_ahead") }()
					synctest.Wait()
				}
				got := make([]error, c.n)
				var all sync.WaitGroup
				for i := range c.n {
					all.Go(func() { got[i] = record(fmt.Sprintf("run_%03d", i)) })
					synctest.Wait()
				}
				close(l.hold)
				all.Wait()
				l.mu.Lock()
				defer l.mu.Unlock()
				slices.SortFunc(l.units, func(a, b int) int { return b - a })
				if diff := cmp.Diff(c.units, l.units); diff != "" {
					t.Error(diff)
				}
				for i, err := range got {
					if !errors.Is(err, c.want[i]) || (err == nil) != (c.want[i] == nil) {
						t.Errorf("step %d: %v", i, err)
					}
				}
			})
		})
	}
}
