package execution

import (
	"context"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Step is a step that is to be recorded. Its history comes from Made.
type Step struct {
	Made    run.Step
	Written outbound.RunStep
}

// Record writes steps of different runs in the caller's unit: the runs, their histories, the runs
// that they start, and the events that they cause. Where a dedupe key stands for another run
// already, it is a Conflict with the code [KeyTaken], and with [LoopGoesOn] where an item ended that
// is wanted again. It returns the runs that are to be looked at
// once the unit has committed: those that were started, or woken.
func Record(ctx context.Context, st outbound.Stores, random outbound.Random, all ...Step) (roused []run.ID, err error) {
	steps := make([]outbound.RunStep, len(all))
	var events []*event.Event
	var children []*run.Run
	for i, one := range all {
		steps[i] = one.Written
		steps[i].History, steps[i].Turned = one.Made.History, one.Made.Turned
		children = append(children, one.Made.Start...)
		roused = append(roused, one.roused()...)
		for _, h := range one.Made.Happened {
			events = append(events, event.NewRunEvent(event.ID(random.ID(event.IDPrefix)), one.Written.Run, h))
		}
	}
	if len(children) > 0 {
		if err := st.Runs.Families.Hold(ctx, steps...); err != nil {
			return nil, err
		}
	}
	if err := startChildren(ctx, st, children); err != nil { // first: a step that ends its run wakes them
		return nil, err
	}
	if err := st.Runs.Runs.Record(ctx, steps...); err != nil {
		return nil, err
	}
	moved, err := moveLoops(ctx, st, random, all)
	if roused = append(roused, moved...); err != nil || len(events) == 0 {
		return roused, err
	}
	return roused, st.Webhooks.Events.AppendIfWanted(ctx, events...)
}

// KeyTaken is the code of a call whose dedupe key another one took at the same time.
const KeyTaken = "call_key_taken"

func startChildren(ctx context.Context, st outbound.Stores, children []*run.Run) error {
	if len(children) == 0 {
		return nil
	}
	started, err := st.Runs.Runs.Start(ctx, children...)
	if err != nil {
		return err
	}
	for _, one := range started {
		if !one.Added {
			return domain.Fail(domain.Conflict, KeyTaken, "Run %s was started with the same dedupe key at the same time.", one.ID)
		}
	}
	return nil
}

// roused lists the runs that are to be looked at when the unit has committed: those that were
// started, and the parents of those that have turned and are of no item.
func (s Step) roused() (runs []run.ID) {
	for _, child := range s.Made.Start {
		runs = append(runs, child.ID())
	}
	if parent := s.Written.Run.Parent(); s.Made.Turned && parent != "" && !s.Written.Run.IsItem() {
		runs = append(runs, parent)
	}
	return runs
}

// A [StepBuffer] records at most that many steps together, with at most that many bytes.
const (
	maxSteps     = 64
	maxStepBytes = 4 << 20
)

// StepBuffer records many steps of one unit of work, some at a time.
type StepBuffer struct {
	st     outbound.Stores
	random outbound.Random
	steps  []Step
	bytes  int

	Roused []run.ID // the runs that are to be looked at once the unit has committed
}

// NewStepBuffer returns an empty buffer for a unit of work.
func NewStepBuffer(st outbound.Stores, random outbound.Random) *StepBuffer {
	return &StepBuffer{st: st, random: random}
}

// Add takes a step, and records what it has when that is enough.
func (b *StepBuffer) Add(ctx context.Context, s Step) error {
	b.steps = append(b.steps, s)
	if b.bytes += s.Written.Run.Size(); len(b.steps) >= maxSteps || b.bytes >= maxStepBytes {
		return b.Flush(ctx)
	}
	return nil
}

// Flush records the steps that are not recorded yet.
func (b *StepBuffer) Flush(ctx context.Context) error {
	steps := b.steps
	b.steps, b.bytes = nil, 0
	roused, err := Record(ctx, b.st, b.random, steps...)
	b.Roused = append(b.Roused, roused...)
	return err
}
