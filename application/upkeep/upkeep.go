// Package upkeep implements inbound.Upkeep, what the gateway does for itself from
// time to time.
package upkeep

import (
	"context"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// batch is how many records one unit of work removes: few enough that nobody waits
// for it.
const batch = 500

// Service implements inbound.Upkeep.
type Service struct {
	work  outbound.UnitOfWork
	clock outbound.Clock
}

var _ inbound.Upkeep = (*Service)(nil)

// New returns the service.
func New(work outbound.UnitOfWork, clock outbound.Clock) *Service {
	return &Service{work: work, clock: clock}
}

// SweepOutcomes removes the outcomes of idempotent commands that no repeat can ask
// for any more.
func (s *Service) SweepOutcomes(ctx context.Context) (removed int, err error) {
	before := s.clock.Now().Add(-domain.OnceRetention)
	for {
		n := 0
		err := s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
			n, err = st.Outcomes.Sweep(ctx, before, batch)
			return err
		})
		removed += n
		if err != nil || n < batch {
			return removed, err
		}
	}
}
