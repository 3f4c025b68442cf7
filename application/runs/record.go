package runs

import (
	"context"

	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
)

// record writes a step that a run has made since it had from entries: the run, its
// history, and the events that tell of it, all in the caller's unit.
func record(ctx context.Context, st outbound.Stores, random outbound.Random, step run.Step, written outbound.RunStep) error {
	return recordAll(ctx, st, random, recording{step: step, written: written})
}

// recording is a step that is to be recorded.
type recording struct {
	step    run.Step
	written outbound.RunStep
}

// recordAll is [record] for the steps of several runs.
func recordAll(ctx context.Context, st outbound.Stores, random outbound.Random, all ...recording) error {
	steps := make([]outbound.RunStep, len(all))
	var told []*event.Event
	for i, one := range all {
		steps[i] = one.written
		steps[i].History = one.step.History
		for _, h := range one.step.Happened {
			told = append(told, event.NewRunEvent(event.ID(random.ID(event.IDPrefix)), one.written.Run, h))
		}
	}
	if err := st.Runs.Runs.Record(ctx, steps...); err != nil {
		return err
	}
	if len(told) == 0 {
		return nil
	}
	return st.Webhooks.Events.Tell(ctx, told...)
}
