package worker

import (
	"context"
	"fmt"

	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// maxLargeReads is how many large runs are read at the same time.
const maxLargeReads = 2

// read reads a run that is too large for the unit of work that claimed it, once there is
// memory for it. One that cannot be read is left until its lease ends.
func (j *job) read() jobOutcome {
	if j.run != nil {
		return jobContinue
	}
	if j.size > smallRun && !j.growUnlessStopping() {
		return j.stopped()
	}
	select {
	case j.session.largeReads <- struct{}{}:
		defer func() { <-j.session.largeReads }()
	case <-j.ctx.Done():
		return j.stopped()
	}
	ctx, cancel := context.WithTimeout(j.session.units, storeTimeout)
	defer cancel()
	err := j.session.worker.work.View(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
		j.run, err = st.Runs.Runs.Get(ctx, tenant.All(j.lease.Tenant), j.lease.Run)
		return err
	})
	switch {
	case isCode(err, "run_not_found"):
		return jobDone
	case err != nil:
		return j.fail(fmt.Errorf("read it: %w", err))
	}
	return jobContinue
}
