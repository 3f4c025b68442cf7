package execution_test

import (
	"testing"
	"testing/synctest"

	"github.com/sluicehq/sluice/adapters/budget"
	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// The bubble ends with an error when somebody waits for ever.
func TestWhatTakesAMomentWaitsForNothingThatTakesLong(t *testing.T) {
	for limit, bytes := range map[string]int64{"256 MiB": 256 << 20, "512 MiB": 512 << 20, "8 GiB": 8 << 30} {
		t.Run(limit, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				computing := execution.NewComputing(budget.Divide(bytes, 2).OfRuns())
				for _, memory := range []int64{1, run.MaxComputed, outbound.BriefMemory} {
					done := false
					err := computing.DoLong(t.Context(), "flood", computing.Most(), func() {
						for _, waiting := range []tenant.ID{"flood", "flood", "other"} {
							go func() { _ = computing.DoLong(t.Context(), waiting, computing.Most(), func() {}) }()
						}
						synctest.Wait()
						if err := computing.Do(t.Context(), "modest", memory, func() { done = true }); err != nil {
							t.Error(err)
						}
					})
					if err != nil || !done {
						t.Errorf("with %d bytes it is done: %v, %v", memory, done, err)
					}
				}
			})
		})
	}
}
