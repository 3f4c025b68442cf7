package jobs

import (
	"context"
	"errors"
	"slices"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// deletedAtOnce is how many of the runs that a run started one unit of work removes.
const deletedAtOnce = 100

// errMoved says that runs were retried or removed by somebody else meanwhile.
var errMoved = errors.New("runs are not what they were")

// DeleteRun removes a run, after those that it started. What is about them is looked for in units that only read.
func (s *Service) DeleteRun(ctx context.Context, who tenant.Caller, id run.ID) error {
	if err := who.May(tenant.DeleteRun); err != nil {
		return err
	}
	for checked := false; ; {
		batch, traces, err := s.traces(ctx, who, id, checked)
		if err != nil {
			return err
		}
		err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
			if err := deletable(ctx, st, who, id, checked); err != nil {
				return err
			}
			lowest, err := lowest(ctx, st, who.Tenant(), id)
			if err == nil && !slices.Equal(lowest, batch) {
				err = errMoved
			}
			if err != nil {
				return err
			}
			removed, err := st.Erasures.DeleteRuns(ctx, who.Tenant(), traces, batch...)
			if err == nil && removed.Runs < len(batch) {
				err = errMoved
			}
			if err != nil {
				return err
			}
			return st.Erasures.Overwrite(ctx)
		})
		moved := errors.Is(err, errMoved)
		if err != nil && !moved || err == nil && batch[0] == id {
			return err
		}
		checked = !moved
	}
}

// traces finds the runs that go next, and what is about them.
func (s *Service) traces(ctx context.Context, who tenant.Caller, id run.ID, checked bool) (batch []run.ID, all outbound.RunTraces, err error) {
	var times []int64
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := deletable(ctx, st, who, id, checked); err != nil {
			return err
		}
		if batch, err = lowest(ctx, st, who.Tenant(), id); err != nil {
			return err
		}
		times, err = st.Erasures.Times(ctx, who.Tenant(), batch)
		return err
	})
	for place, more := (outbound.TracePlace{}), true; err == nil && more; more = place != (outbound.TracePlace{}) {
		err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
			found, next, err := st.Erasures.Traces(ctx, who.Tenant(), batch, times, place)
			if err == nil {
				all.Add(found)
				place = next
			}
			return err
		})
	}
	return batch, all, err
}

// deletable says whether there is the run and, unless that was checked, whether all around it have ended.
func deletable(ctx context.Context, st outbound.Stores, who tenant.Caller, id run.ID, checked bool) error {
	statuses, err := st.Runs.Families.Statuses(ctx, who.Scope, []run.ID{id})
	if err != nil {
		return err
	}
	if statuses[0] == "" {
		return domain.Fail(domain.NotFound, "run_not_found", "There is no such run.")
	}
	if checked {
		return nil
	}
	unfinished, err := st.Erasures.Unfinished(ctx, who.Tenant(), id)
	if err == nil && unfinished != "" {
		err = errNotFinished(unfinished)
	}
	return err
}

// lowest finds runs below a run that have started no others, or the run itself, whoever's they are.
func lowest(ctx context.Context, st outbound.Stores, owner tenant.ID, id run.ID) ([]run.ID, error) {
	for batch := []run.ID{id}; ; {
		var below []run.ID
		for _, one := range batch {
			var err error
			if below, err = st.Erasures.Children(ctx, tenant.All(owner), one, deletedAtOnce); err != nil {
				return nil, err
			}
			if len(below) > 0 {
				break
			}
		}
		if len(below) == 0 {
			return batch, nil
		}
		batch = below
	}
}

func errNotFinished(id run.ID) error {
	return domain.Fail(domain.Conflict, "run_not_finished", "Run %s has not ended. Cancel it, and delete it then.", id)
}
