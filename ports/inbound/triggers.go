package inbound

import (
	"context"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
)

// Triggers is what can be done with triggers.
type Triggers interface {
	// Create attaches a trigger to a version of a workflow; a draft will do. A
	// version that does not exist is an Invalid error about workflowVersionId, beside
	// all other violations. With a public key, where the tenant permits that at all,
	// only webhook triggers are created, and inactive; another type is Forbidden with
	// the code public_trigger_type, an active one with public_trigger_active.
	Create(ctx context.Context, who tenant.Caller, once domain.Once, d trigger.Draft) (*trigger.Trigger, error)
}
