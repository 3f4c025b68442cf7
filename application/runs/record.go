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
	written.History = step.History
	if err := st.Runs.Runs.Record(ctx, written); err != nil {
		return err
	}
	if len(step.Happened) == 0 {
		return nil
	}
	told := make([]*event.Event, len(step.Happened))
	for i, h := range step.Happened {
		told[i] = event.NewRunEvent(event.ID(random.ID(event.IDPrefix)), written.Run, h)
	}
	return st.Webhooks.Events.Append(ctx, told...)
}
