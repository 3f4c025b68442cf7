package worker

import (
	"context"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain/run"
)

// What came of a call is looked at even though the attempts have just been interrupted.
func TestACallThatHasEndedIsNotThrownAwayWhenTheWorkerStops(t *testing.T) {
	for range 100 { // a choice at random would be wrong in half of them
		j := &job{
			session: &session{stopping: t.Context()}, run: run.New("run_1", run.Start{}, time.Time{}),
			attemptDone: make(chan *attempt, 1), advanced: make(chan struct{}, 1),
		}
		j.ctx, j.interrupt = context.WithCancelCause(t.Context())
		j.interrupt(errStopping)
		j.attemptDone <- &attempt{done: make(chan struct{})}
		if end := j.next(); end != jobContinue || len(j.attemptDone) != 0 {
			t.Fatalf("the outcome is %d, and %d are left", end, len(j.attemptDone))
		}
		if end := j.next(); end != jobReturn {
			t.Fatalf("the outcome is %d then", end)
		}
	}
}
