package worker

import (
	"cmp"
	"context"
	"sync/atomic"

	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/domain/run"
)

const (
	// smallRun is how large a run may be, in bytes as it is stored, for it to go on without
	// memory of its own.
	smallRun = 1 << 20

	// smallOutputs is how much memory the values take that a run without memory of its own gives
	// in one step, in bytes.
	smallOutputs = 256 << 10

	// maxLargeOfRun is how many large requests and answers a run has at the same time.
	maxLargeOfRun = 4
)

// growth is what a run has for its results once they may become large: because it
// computes for long, gets a large answer, or is large already. Whoever has it waits for
// nothing else that others of its kind hold, so that it comes to an end.
type growth struct {
	turn     chan struct{} // holds one while somebody asks for it, and for good at the end
	reserved atomic.Bool
	grown    atomic.Pointer[growthSignal]
	large    chan struct{} // holds one for each large request or answer
	size     int64         // how much it is; less once the plan is known, unless it was reserved before
}

func newGrowth() *growth {
	m := &growth{turn: make(chan struct{}, 1), large: make(chan struct{}, maxLargeOfRun), size: execution.Copies * run.MaxOutputs}
	m.grown.Store(newGrowthSignal())
	return m
}

// growthSignal wakes those that wait for a call's memory that the run has memory of its own.
type growthSignal struct {
	done context.Context //nolint:containedctx // ends when the run gets the memory, or its job ends
	send context.CancelFunc
}

func newGrowthSignal() *growthSignal {
	s := new(growthSignal)
	s.done, s.send = context.WithCancel(context.Background())
	return s
}

// grow waits for the memory; the error is why it was not waited for any longer.
func (j *job) grow(ctx context.Context) error {
	if j.growth.reserved.Load() {
		return nil
	}
	select {
	case j.growth.turn <- struct{}{}:
		defer func() { <-j.growth.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if j.growth.reserved.Load() {
		return nil
	}
	if err := j.session.worker.growing.Reserve(ctx, j.lease.Tenant, j.growth.size); err != nil {
		return err
	}
	j.growth.reserved.Store(true)
	j.growth.grown.Load().send()
	return nil
}

// growUnlessStopping is grow until the worker is to stop.
func (j *job) growUnlessStopping() bool {
	ctx, cancel := context.WithCancel(j.ctx)
	defer cancel()
	defer context.AfterFunc(j.session.stopping, cancel)()
	return j.grow(ctx) == nil
}

// shrink gives the memory back when the run turns out to be small, and waits.
func (j *job) shrink() {
	if !j.growth.reserved.Load() || j.run.More() || j.size > smallRun || len(j.growth.large) > 0 {
		return
	}
	select {
	case j.growth.turn <- struct{}{}:
		if j.growth.reserved.CompareAndSwap(true, false) {
			j.growth.grown.Store(newGrowthSignal())
			j.session.worker.growing.Release(j.lease.Tenant, j.growth.size)
		}
		<-j.growth.turn
	default: // somebody asks for it just now
	}
}

// setSize notes how large the results of the run may become.
func (m *growth) setSize(nodes int) {
	if !m.reserved.Load() {
		m.size = execution.Copies * min(run.MaxOutputs, int64(nodes)*run.MaxOutput)
	}
}

// endGrowth gives the memory back. Nobody gets any after it.
func (j *job) endGrowth() {
	j.growth.grown.Load().send()
	j.growth.turn <- struct{}{}
	if j.growth.reserved.Load() {
		j.session.worker.growing.Release(j.lease.Tenant, j.growth.size)
	}
}

// mayStartAttempt says whether another attempt may be made: a run that is large needs memory of
// its own first.
func (j *job) mayStartAttempt() bool {
	return len(j.attempts) < maxCallsOfRun && j.session.stopping.Err() == nil && (j.size <= smallRun || j.growth.reserved.Load())
}

// A run goes on computing for so many slices, or until its outputs have grown by so many
// bytes, before they are recorded: on SQLite everybody waits for a unit that writes.
const (
	maxSlices    = 16
	maxStepBytes = 1 << 20
)

// advance gives the run a fact, and lets it compute until it waits for something, has
// computed much, or ought to stop. It looks at that between two slices, each of which is
// short.
func (j *job) advance(past run.PastFact) (whole run.Step, err error) {
	before, fact, at := j.size, past.Fact, past.At
	for slices := 1; ; slices++ {
		var step run.Step
		waited := j.compute(fact, func() {
			step, err = j.run.Advance(j.plan, run.Event{At: at, Secret: j.secret, Fact: fact, Budget: j.budget()})
		})
		if err = cmp.Or(waited, err); err != nil {
			return step, err
		}
		if slices == 1 {
			whole = step
		} else {
			whole = whole.Then(step)
		}
		if !j.run.More() || slices == maxSlices || j.interrupted() {
			return whole, nil
		}
		j.updateSize()
		if j.size-before > maxStepBytes {
			return whole, nil
		}
		if !j.growth.reserved.Load() && (j.exceedsMemory() || j.grow(j.ctx) != nil) {
			return whole, nil // what it has is recorded, and it goes on later
		}
		fact, at = run.TimeReached{}, j.now()
	}
}

// interrupted says whether the run ought not to go on computing: its lease is gone, the
// worker stops, or somebody has changed it.
func (j *job) interrupted() bool {
	return j.ctx.Err() != nil || j.session.stopping.Err() != nil || len(j.advanced) > 0
}
