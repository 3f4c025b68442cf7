package upkeep

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// maxTenants is how many tenants one unit of work looks at.
const maxTenants = 100

// maxRuns is how many runs one unit of work removes. They take their histories along.
const maxRuns = 200

// sweepRest is how many times as long as a unit of work took the sweep then leaves the database
// to others.
const sweepRest = 4

// rest waits, and says whether ctx goes on.
func rest(ctx context.Context, period time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(period):
		return true
	}
}

// SweepRuns removes runs that have finished and were kept long enough. What is wrong with
// some tenants' runs does not keep those of others.
func (s *Service) SweepRuns(ctx context.Context) (removed int, err error) {
	for offset := 0; ; {
		owners, more, failure := s.tenants(ctx, offset)
		if failure != nil {
			return removed, errors.Join(err, failure)
		}
		n, failure := s.sweepRunsOf(ctx, owners)
		removed += n
		err = errors.Join(err, failure)
		if offset += len(owners); !more || ctx.Err() != nil {
			n, failure := s.sweepKeptShorter(ctx)
			return removed + n, errors.Join(err, failure)
		}
	}
}

// sweepKeptShorter removes the old runs of workflows that keep them for days of their own.
func (s *Service) sweepKeptShorter(ctx context.Context) (removed int, err error) {
	for last := (outbound.KeptShorter{}); ctx.Err() == nil; {
		var found []outbound.KeptShorter
		failure := s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
			found, err = st.Runs.Origins.KeptShorter(ctx, last, originBatch)
			return err
		})
		if failure != nil || len(found) == 0 {
			return removed, errors.Join(err, failure)
		}
		for _, one := range found {
			n, failure := s.sweepWorkflow(ctx, one)
			removed += n
			err = errors.Join(err, failure)
		}
		last = found[len(found)-1]
	}
	return removed, err
}

// sweepWorkflow removes the old runs of a workflow, some in each unit.
func (s *Service) sweepWorkflow(ctx context.Context, of outbound.KeptShorter) (removed int, err error) {
	q := outbound.RunSweep{Tenant: of.Tenant, Workflow: of.Workflow, Before: s.clock.Now().AddDate(0, 0, -of.Days), Limit: maxRuns}
	for {
		var swept []time.Time
		began := time.Now()
		err := s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
			swept, err = st.Runs.Overview.Sweep(ctx, q)
			return err
		})
		removed += len(swept)
		if err != nil || len(swept) == 0 {
			return removed, err
		}
		q.From = slices.MaxFunc(swept, time.Time.Compare)
		if !rest(ctx, sweepRest*time.Since(began)) || len(swept) < maxRuns {
			return removed, ctx.Err()
		}
	}
}

// tenants reads a page of all tenants. One that is added or deleted meanwhile moves the
// others: one that is left out so is looked at the next time.
func (s *Service) tenants(ctx context.Context, offset int) (found []*tenant.Tenant, more bool, err error) {
	page, err := domain.NewPageRequest(min(maxTenants, domain.MaxPageLimit), offset)
	if err != nil {
		return nil, false, err
	}
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		all, err := st.Tenants.List(ctx, tenant.Filter{}, domain.Query{PageRequest: page})
		found, more = all.Items, all.HasMore()
		return err
	})
	return found, more, err
}

// sweepRunsOf removes the old runs of tenants, some in each unit.
func (s *Service) sweepRunsOf(ctx context.Context, owners []*tenant.Tenant) (removed int, err error) {
	now := s.clock.Now()
	var from time.Time // of the first of owners
	for len(owners) > 0 {
		done, n, began := 0, 0, time.Now()
		var last time.Time
		err := s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
			done, n, last = 0, 0, from
			for _, ten := range owners {
				swept, err := st.Runs.Overview.Sweep(ctx, outbound.RunSweep{Tenant: ten.ID(), From: last, Before: now.Add(-ten.Settings().RunRetention()), Limit: maxRuns - n})
				if err != nil {
					return err
				}
				if n += len(swept); n == maxRuns { // this tenant may have more
					last = slices.MaxFunc(swept, time.Time.Compare)
					return nil
				}
				last = time.Time{}
				done++
			}
			return nil
		})
		if err != nil {
			return removed, err
		}
		removed += n
		owners, from = owners[done:], last
		if n > 0 && !rest(ctx, sweepRest*time.Since(began)) {
			return removed, ctx.Err()
		}
	}
	return removed, nil
}

// SweepHookDeliveries removes deliveries to hooks that were kept as long as runs are. What is wrong with some tenants' does not
// keep those of others.
func (s *Service) SweepHookDeliveries(ctx context.Context) (removed int, err error) {
	for offset := 0; ; {
		owners, more, failure := s.tenants(ctx, offset)
		if failure != nil {
			return removed, errors.Join(err, failure)
		}
		for _, ten := range owners {
			before := s.clock.Now().Add(-ten.Settings().RunRetention())
			for n := maxRuns; n == maxRuns && failure == nil; {
				began := time.Now()
				failure = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
					n, err = st.Hooks.Deliveries.Sweep(ctx, ten.ID(), before, maxRuns)
					return err
				})
				if removed += n; n > 0 && !rest(ctx, sweepRest*time.Since(began)) {
					return removed, ctx.Err()
				}
			}
		}
		err = errors.Join(err, failure)
		if offset += len(owners); !more || ctx.Err() != nil {
			return removed, err
		}
	}
}
