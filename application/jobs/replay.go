package jobs

import (
	"context"
	"fmt"
	"slices"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/hook"
	"github.com/sluicehq/sluice/domain/job"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// maxReplays is how many deliveries are replayed before a job notes it.
const maxReplays = 10

// replayAll replays deliveries, each in units of its own, and then notes it. Who is overtaken in between has started nothing
// twice: a delivery is replayed once for a job.
func (w *Worker) replayAll(ctx context.Context, j *job.Job, batch []outbound.JobRun, failed func(error)) error {
	batch = batch[:min(len(batch), maxReplays)]
	var failures []job.Failure
	for _, one := range batch {
		err := w.replay(ctx, j, hook.DeliveryID(one.ID))
		refused, known := refusal(err)
		switch {
		case err == nil:
			continue
		case !known && !isDefect(ctx, err):
			return err
		case !known:
			failed(fmt.Errorf("job %s: delivery %s: %w", j.ID(), one.ID, err))
			refused = domain.Fail(domain.Internal, "internal_error", "The gateway failed at this delivery. Its log says why.")
		}
		failures = append(failures, job.Failure{Run: one.ID, Code: refused.Code, Message: refused.Message})
	}
	return w.note(ctx, j, len(batch), batch[len(batch)-1].ID, failures)
}

// replay contains panics.
func (w *Worker) replay(ctx context.Context, j *job.Job, id hook.DeliveryID) (err error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			w.panics.Add(1)
			err = inbound.Panicked(thrown)
		}
	}()
	return w.replayer.ReplayOnce(ctx, j.Scope(), j.Filter().Trigger, id, j.ID())
}

// note notes how far a job is that works in units of its own.
func (w *Worker) note(ctx context.Context, j *job.Job, n int, last run.ID, failures []job.Failure) error {
	var current *job.Job
	err := w.work.Do(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
		if current, err = st.Runs.Jobs.Get(ctx, tenant.All(j.Tenant()), j.ID()); err != nil {
			return err
		}
		if current.Cursor() != j.Cursor() || current.Status() != job.Running {
			return errOvertaken
		}
		current.Record(n, last, slices.Clone(failures), w.clock.Now())
		return st.Runs.Jobs.Update(ctx, current)
	})
	if err == nil {
		*j = *current
	}
	return err
}
