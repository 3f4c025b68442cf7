package runs_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/application/runs"
	"github.com/sluicehq/sluice/application/workflows"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
)

// However many calls are under way when a workflow is deleted: those that were answered
// before have their runs cancelled, and afterwards nothing starts any more.
func TestNoRunOutlivesItsWorkflow(t *testing.T) {
	atDesk(t, func(d *desk) {
		trg := d.simple(`{"webhookConfig":{"event":"paid"}}`)
		ver := d.versionOf(trg)
		var accepted, stop atomic.Int64
		var done sync.WaitGroup
		for i := range 12 {
			done.Go(func() {
				for stop.Load() == 0 {
					var err error
					switch i % 3 {
					case 0:
						_, err = d.firing.Call(d.Context(), d.who, domain.Once{}, trg.ID(), run.Call{})
					case 1:
						_, err = d.firing.Start(d.Context(), d.who, domain.Once{}, ver.Workflow(), run.ManualCall{})
					default:
						var fired []run.Fired
						if fired, err = d.firing.ByEvent(d.Context(), d.who, domain.Once{}, run.EventCall{Event: "paid"}); err == nil && len(fired) == 0 {
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
		d.eventually("calls are answered", func() bool { return accepted.Load() > 100 })
		service := workflows.New(d.raw, runs.NewStarter(system.Clock{}, system.Random{}, 0), d.told, system.Clock{}, system.Random{})
		if err := service.Delete(d.Context(), d.who, ver.Workflow(), domain.Expected{}); err != nil {
			t.Error(err)
			stop.Store(1)
		}
		done.Wait()
		for status, want := range map[run.Status]int64{run.StatusPending: 0, run.StatusCancelled: accepted.Load()} {
			found, err := d.runs.List(d.Context(), d.who, run.Filter{Status: status}, domain.Query{})
			if err != nil || int64(found.Total) != want {
				t.Errorf("%d runs are %s, not %d: %v", found.Total, status, want, err)
			}
		}
	})
}
