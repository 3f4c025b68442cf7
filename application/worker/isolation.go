package worker

import (
	"context"
	"fmt"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
)

// A run that is no larger, and makes no more calls at the same time, takes too little memory
// to end a process.
const (
	smallIsolationSize  = 64 << 10
	smallIsolationCalls = 8
)

// beginIsolated makes sure that a run whose process ended while it worked on it computes with
// half the memory, and not at the same time as others of that kind: it may be the reason. One
// whose process ended before it could record a step of that fails.
func (j *job) beginIsolated() jobOutcome {
	switch {
	case j.lastLeaseEnd == outbound.LeaseExpiredIsolated:
		return j.failExhausted()
	case j.lastLeaseEnd != outbound.LeaseExpired || j.needsNoIsolation():
		return jobContinue
	}
	j.isolated = true
	ctx, cancel := context.WithTimeout(j.session.units, storeTimeout)
	defer cancel()
	err := j.session.worker.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error { return st.Runs.Queue.MarkIsolated(ctx, j.lease) })
	if err != nil {
		return j.fail(fmt.Errorf("try it alone: %w", err))
	}
	return jobContinue
}

func (j *job) needsNoIsolation() bool {
	calls := 0
	for _, n := range j.run.Nodes() {
		if n.Status == run.NodeRunning {
			calls++
		}
	}
	return j.size <= smallIsolationSize && calls <= smallIsolationCalls
}

// budget is what one step of the run computes: half of it for a run that is tried alone.
func (j *job) budget() run.Budget {
	b := j.session.worker.computing.StepBudget(0)
	if !j.growth.reserved.Load() {
		b.OutputBytes, b.Steps = smallOutputs, lightSteps
	}
	if j.isolated {
		b.ValueBytes /= 2
	}
	return b
}

// failExhausted lets the run fail because it takes more memory than there is.
func (j *job) failExhausted() jobOutcome {
	from := j.run.Seq()
	step := j.run.ExhaustMemory(j.now())
	if !step.Changed() {
		return leaveToExpire // it has ended
	}
	if err := j.session.records.record(j.isBacklog(), step, outbound.RunStep{Run: j.run, From: from, Lease: j.lease}); err != nil {
		return j.fail(fmt.Errorf("end it, since it exhausts the memory: %w", err))
	}
	return jobDone
}
