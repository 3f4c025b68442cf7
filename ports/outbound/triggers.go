package outbound

import (
	"context"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
)

// TriggerRepository keeps triggers.
type TriggerRepository interface {
	Insert(ctx context.Context, trg *trigger.Trigger) error

	// Get returns NotFound with the code trigger_not_found for an unknown id.
	Get(ctx context.Context, scope tenant.Scope, id trigger.ID) (*trigger.Trigger, error)

	List(ctx context.Context, scope tenant.Scope, f trigger.Filter, q domain.Query) (domain.Page[*trigger.Trigger], error)

	// OfVersion returns every trigger of a version, the oldest first.
	OfVersion(ctx context.Context, scope tenant.Scope, version workflow.VersionID) ([]*trigger.Trigger, error)

	Update(ctx context.Context, trg *trigger.Trigger) error

	// Delete removes the trigger. An unknown id is NotFound.
	Delete(ctx context.Context, scope tenant.Scope, id trigger.ID) error
}
