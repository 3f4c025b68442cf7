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
	harmlessSize  = 64 << 10
	harmlessCalls = 8
)

// beginAlone makes sure that a run whose process ended while it worked on it computes with
// half the memory, and not at the same time as others of that kind: it may be the reason. One
// whose process ended before it could record a step of that fails.
func (j *job) beginAlone() fate {
	switch {
	case j.end == outbound.LeaseEndedAlone:
		return j.exhausted()
	case j.end != outbound.LeaseExpired || j.isHarmless():
		return goesOn
	}
	j.alone = true
	ctx, cancel := context.WithTimeout(j.session.units, patience)
	defer cancel()
	err := j.session.worker.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error { return st.Runs.Queue.TryAlone(ctx, j.lease) })
	if err != nil {
		return j.fail(fmt.Errorf("try it alone: %w", err))
	}
	return goesOn
}

func (j *job) isHarmless() bool {
	calls := 0
	for _, n := range j.run.Nodes() {
		if n.Status == run.NodeRunning {
			calls++
		}
	}
	return j.size <= harmlessSize && calls <= harmlessCalls
}

// budget is what one step of the run computes: half of it for a run that is tried alone.
func (j *job) budget() run.Budget {
	b := j.session.worker.computing.StepBudget(0)
	if !j.memory.has.Load() {
		b.Given, b.Steps = ungrown, lightSteps
	}
	if j.alone {
		b.Values /= 2
	}
	return b
}

// exhausted lets the run fail because it takes more memory than there is.
func (j *job) exhausted() fate {
	from := j.run.Seq()
	step := j.run.ExhaustMemory(j.now())
	if !step.Changed() {
		return left // it has ended
	}
	if err := j.session.records.record(j.crowds(), step, outbound.RunStep{Run: j.run, From: from, Lease: j.lease}); err != nil {
		return j.fail(fmt.Errorf("end it, since it exhausts the memory: %w", err))
	}
	return done
}
