package execution

import (
	"context"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/outbound"
)

// maxSuperseded is how many runs one start cancels: others wait for its unit.
const maxSuperseded = 50

const supersededReason = "A later run of the same concurrency key was started."

// InLane is what became of a run that was to be started in a lane.
type InLane struct {
	outbound.StartedRun
	Skipped bool     // it was not started: the run of that id is live
	Changed []run.ID // that were cancelled for it, and those that wait for them
}

// StartInLane starts a run in its lane, or not, as its trigger says what is done where there is no
// room. Once the unit has committed, the changed runs are for outbound.RunSignals.
func StartInLane(ctx context.Context, st outbound.Stores, random outbound.Random, r *run.Run, overflow trigger.Overflow,
	start func(context.Context, ...*run.Run) ([]outbound.StartedRun, error),
) (made InLane, err error) {
	if overflow != trigger.OverflowQueue {
		if made, err = makeRoom(ctx, st, random, r, overflow); err != nil || made.ID != "" {
			return made, err
		}
	}
	started, err := start(ctx, r)
	if err == nil {
		made.StartedRun = started[0]
	}
	return made, err
}

// makeRoom finds whether there is room for a run, or cancels others for it: the oldest, up to
// maxSuperseded and maxCancelledBytes of them. Where that is not enough the run waits, as it would in a queue, and the
// next one that is started cancels on. An id says that it is not to be started.
func makeRoom(ctx context.Context, st outbound.Stores, random outbound.Random, r *run.Run, overflow trigger.Overflow) (made InLane, err error) {
	in, err := st.Runs.Lanes.Enter(ctx, r.Tenant(), r.Lane().Name)
	if err != nil || len(in[0].Runs) < r.Lane().Limit {
		return made, err
	}
	scope := tenant.All(r.Tenant())
	first, err := st.Runs.Overview.StartedWith(ctx, scope, []trigger.ID{r.Trigger()}, r.DedupeKey(), r.CreatedAt().Add(-outbound.DedupeRetention))
	switch {
	case err != nil:
		return made, err
	case first[0] != "":
		made.ID = first[0]
		return made, nil
	case overflow == trigger.OverflowSkip:
		made.ID, made.Skipped = in[0].Runs[0], true
		return made, nil
	}
	at, err := st.Runs.Queue.Now(ctx)
	if err != nil {
		return made, err
	}
	c := &canceller{st: st, scope: scope, at: at, reason: supersededReason, steps: NewStepBuffer(st, random)}
	err = c.cancel(ctx, in[0].Runs[:min(len(in[0].Runs)-r.Lane().Limit+1, maxSuperseded)])
	made.Changed = c.changed()
	return made, err
}

// CheckLane refuses a run that begins anew although as many others are live as may be.
func CheckLane(ctx context.Context, st outbound.Stores, r *run.Run) error {
	if !r.Lane().Bounds() {
		return nil
	}
	in, err := st.Runs.Lanes.Enter(ctx, r.Tenant(), r.Lane().Name)
	if err == nil && in[0].Live >= r.Lane().Limit {
		return r.Lane().Full()
	}
	return err
}
