package outbound

import (
	"context"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
)

// PauseRepository finds the questions that wait for a person. They follow from what is recorded of
// runs, in the same unit.
type PauseRepository interface {
	// List returns a page of those that wait, sorted by when they were asked.
	List(ctx context.Context, scope tenant.Scope, f run.PauseFilter, q domain.Query) (domain.Page[run.OpenPause], error)
}
