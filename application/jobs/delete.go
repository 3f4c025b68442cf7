package jobs

import (
	"context"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// deletedAtOnce is how many of the runs that a run started one unit of work removes.
const deletedAtOnce = 100

// DeleteRun removes a run, after those that it started.
func (s *Service) DeleteRun(ctx context.Context, who tenant.Caller, id run.ID) error {
	if err := who.May(tenant.DeleteRun); err != nil {
		return err
	}
	for {
		var last bool
		err := s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
			batch, err := lowest(ctx, st, who.Scope, id)
			if err != nil {
				return err
			}
			unfinished, err := st.Erasures.Unfinished(ctx, who.Tenant(), id)
			if err == nil && unfinished != "" {
				err = errNotFinished(unfinished)
			}
			if err != nil {
				return err
			}
			last = batch[0] == id
			removed, err := st.Erasures.RemoveRuns(ctx, who.Tenant(), "", batch...)
			if err == nil && removed.Runs < len(batch) { // one was retried at the same time
				err = errNotFinished(batch[0])
			}
			if err != nil {
				return err
			}
			return st.Erasures.Overwrite(ctx)
		})
		if err != nil || last {
			return err
		}
	}
}

// lowest finds runs below a run that have started no others, or the run itself. All on the way must have ended.
func lowest(ctx context.Context, st outbound.Stores, scope tenant.Scope, id run.ID) ([]run.ID, error) {
	for batch := []run.ID{id}; ; {
		statuses, err := st.Runs.Families.Statuses(ctx, scope, batch)
		if err != nil {
			return nil, err
		}
		for i, status := range statuses {
			switch {
			case status == "":
				return nil, domain.Fail(domain.NotFound, "run_not_found", "There is no such run.")
			case !status.Finished():
				return nil, errNotFinished(batch[i])
			}
		}
		var below []run.ID
		for _, one := range batch {
			if below, err = st.Erasures.Children(ctx, scope, one, deletedAtOnce); err != nil || len(below) > 0 {
				break
			}
		}
		if err != nil || len(below) == 0 {
			return batch, err
		}
		batch = below
	}
}

func errNotFinished(id run.ID) error {
	return domain.Fail(domain.Conflict, "run_not_finished", "Run %s has not ended. Cancel it, and delete it then.", id)
}
