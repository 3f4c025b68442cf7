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
	Get(ctx context.Context, owner tenant.ID, id trigger.ID) (*trigger.Trigger, error)

	List(ctx context.Context, owner tenant.ID, f trigger.Filter, q domain.Query) (domain.Page[*trigger.Trigger], error)

	// OfVersion returns every trigger of a version, the oldest first.
	OfVersion(ctx context.Context, owner tenant.ID, version workflow.VersionID) ([]*trigger.Trigger, error)

	Update(ctx context.Context, trg *trigger.Trigger) error

	// Delete removes the trigger. An unknown id is NotFound.
	Delete(ctx context.Context, owner tenant.ID, id trigger.ID) error
}
