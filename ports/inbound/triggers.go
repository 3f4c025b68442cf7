package inbound

import (
	"context"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
)

// Triggers is what can be done with triggers. An unknown id is NotFound with the
// code trigger_not_found; a revision that is not the expected one is a Conflict with
// the code precondition_failed.
type Triggers interface {
	// Create attaches a trigger to a version of a workflow; a draft will do. A
	// version that does not exist is an Invalid error about workflowVersionId, next to
	// all other violations. With a public key, where the tenant permits that at all,
	// only webhook triggers are created, and inactive; another type is Forbidden with
	// the code public_trigger_type, an active one with public_trigger_active.
	Create(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, d trigger.Draft) (*trigger.Trigger, error)

	Get(ctx context.Context, who tenant.Caller, id trigger.ID) (*trigger.Trigger, error)

	List(ctx context.Context, who tenant.Caller, f trigger.Filter, q domain.Query) (domain.Page[*trigger.Trigger], error)

	// OfVersion lists the triggers of the version that the filter names. A version that
	// does not exist is NotFound with the code version_not_found.
	OfVersion(ctx context.Context, who tenant.Caller, f trigger.Filter, q domain.Query) (domain.Page[*trigger.Trigger], error)

	// Update changes what the patch names.
	Update(ctx context.Context, who tenant.Caller, id trigger.ID, at domain.Expected, p trigger.Patch) (*trigger.Trigger, error)

	Delete(ctx context.Context, who tenant.Caller, id trigger.ID, at domain.Expected) error
}
