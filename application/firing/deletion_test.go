package firing_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/application/workflows"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
)

// However many calls are under way when a workflow is deleted: those that were answered
// before have their runs cancelled, and afterwards nothing starts any more.
func TestNoRunOutlivesItsWorkflow(t *testing.T) {
	onEachStore(t, func(d *env) {
		trg := d.NewSimpleTrigger(`{"webhookConfig":{"event":"paid"}}`)
		ver := d.VersionOf(trg)
		var accepted, stop atomic.Int64
		var done sync.WaitGroup
		for i := range 12 {
			done.Go(func() {
				for stop.Load() == 0 {
					var err error
					switch i % 3 {
					case 0:
						_, err = d.Firing.Call(d.Context(), d.Caller, domain.IdempotencyKey{}, trg.ID(), run.Call{})
					case 1:
						_, err = d.Firing.Start(d.Context(), d.Caller, domain.IdempotencyKey{}, ver.Workflow(), run.ManualCall{})
					default:
						var fired []run.Fired
						if fired, err = d.Firing.ByEvent(d.Context(), d.Caller, domain.IdempotencyKey{}, run.EventCall{Event: "paid"}); err == nil && len(fired) == 0 {
							return
						}
					}
					switch {
					case err == nil:
						accepted.Add(1)
					case errors.Is(err, domain.NotFound) || errors.Is(err, domain.Conflict):
						return
					default:
						t.Error(err)
						return
					}
				}
			})
		}
		d.Eventually("calls are answered", func() bool { return accepted.Load() > 100 })
		service := workflows.New(d.Raw, d.RecordedSignals, system.Clock{}, system.Random{})
		if err := service.Delete(d.Context(), d.Caller, ver.Workflow(), domain.Expected{}); err != nil {
			t.Error(err)
			stop.Store(1)
		}
		done.Wait()
		for status, want := range map[run.Status]int64{run.StatusPending: 0, run.StatusCancelled: accepted.Load()} {
			found, err := d.Runs.List(d.Context(), d.Caller, run.Filter{Status: status}, domain.Query{})
			if err != nil || int64(found.Total) != want {
				t.Errorf("%d runs are %s, not %d: %v", found.Total, status, want, err)
			}
		}
	})
}
