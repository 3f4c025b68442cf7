package runs

import (
	"context"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Operator implements inbound.OperatorRuns.
type Operator struct{ work outbound.UnitOfWork }

var _ inbound.OperatorRuns = (*Operator)(nil)

// NewOperator returns the service.
func NewOperator(work outbound.UnitOfWork) *Operator { return &Operator{work} }

// List returns a page of runs of all tenants.
func (s *Operator) List(ctx context.Context, f run.OperatorFilter, q domain.Query) (found domain.Page[run.Summary], err error) {
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, err = st.Runs.All.List(ctx, f, q)
		return err
	})
	return found, err
}

// OldestWaiting returns the run that has waited longest.
func (s *Operator) OldestWaiting(ctx context.Context) (oldest run.Waiting, ok bool, err error) {
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		now, err := st.Runs.Queue.Now(ctx)
		if err != nil {
			return err
		}
		oldest, ok, err = st.Runs.All.OldestWaiting(ctx, now)
		return err
	})
	return oldest, ok, err
}

// Get returns a run of any tenant, as of one instant.
func (s *Operator) Get(ctx context.Context, id run.ID) (found run.Standing, err error) {
	err = s.work.View(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, err = st.Runs.All.Get(ctx, id)
		return err
	})
	return found, err
}
