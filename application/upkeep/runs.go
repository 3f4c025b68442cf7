package upkeep

import (
	"context"
	"errors"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// maxTenants is how many tenants one unit of work looks at.
const maxTenants = 100

// maxRuns is how many runs one unit of work removes. They take their histories along.
const maxRuns = 200

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
			return removed, err
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
	for len(owners) > 0 {
		done, n := 0, 0
		err := s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
			done, n = 0, 0
			for _, ten := range owners {
				left := maxRuns - n
				swept, err := st.Runs.Live.Sweep(ctx, ten.ID(), now.Add(-ten.Settings().RunRetention()), left)
				if err != nil {
					return err
				}
				if n += swept; swept == left {
					return nil // this tenant may have more
				}
				done++
			}
			return nil
		})
		if err != nil {
			return removed, err
		}
		removed += n
		owners = owners[done:]
	}
	return removed, nil
}
