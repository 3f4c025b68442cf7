package outbound

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
)

// ActivationRepository knows what changes when another version of a workflow becomes the
// active one. Who calls Move or Leave holds the workflow, and makes that other version the
// active one in the same unit, afterwards.
type ActivationRepository interface {
	// Previous returns the version that was active before the one that is, empty where there
	// is none. One that was deleted since is passed over.
	Previous(ctx context.Context, scope tenant.Scope, of workflow.ID) (workflow.VersionID, error)

	// Move attaches all triggers of a version to the one that becomes active, and returns
	// which, in the order of their ids. It is an update of each of them. A schedule of theirs
	// that is held goes on where it is.
	Move(ctx context.Context, scope tenant.Scope, from, to workflow.VersionID, now time.Time) ([]trigger.ID, error)

	// MarkLeftBehind notes that the active triggers of a version are left behind, as
	// trigger.Trigger.Leave does. That is no update of them.
	MarkLeftBehind(ctx context.Context, scope tenant.Scope, version workflow.VersionID, now time.Time) error

	// Sweep forgets of at most limit triggers, of any tenant, that they were left behind
	// before the time, and returns of how many.
	Sweep(ctx context.Context, before time.Time, limit int) (int, error)
}
