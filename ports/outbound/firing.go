package outbound

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
)

// FiringRepository answers what has to be known to start runs, in one step for each
// question. In a unit that writes, the version of whatever can fire is not deleted until
// the unit ends, neither alone nor with its workflow: who deletes it waits, and finds the
// run; and who was first, leaves nothing that can fire. What a unit holds so can still be
// changed by others.
type FiringRepository interface {
	// Trigger returns a trigger with what decides whether it can fire. An unknown id is NotFound with the
	// code trigger_not_found.
	Trigger(ctx context.Context, scope tenant.Scope, id trigger.ID) (FiringTrigger, error)

	// OnEvent returns the triggers of type webhook that listen for an event and can fire,
	// or have started a run with a dedupe key: those created first first, ties by id.
	OnEvent(ctx context.Context, scope tenant.Scope, q EventQuery) ([]FiringTrigger, error)

	// Triggers returns triggers of any tenant as Trigger does, in the order of the keys.
	// Of one that is gone, or that another unit is about to delete, there is nothing; nobody
	// waits.
	Triggers(ctx context.Context, of []TriggerKey) ([]FiringTrigger, error)

	// Version returns a workflow with the version that runs of it execute: the active one,
	// or another one of it that is named. An unknown workflow is NotFound with the code
	// workflow_not_found.
	Version(ctx context.Context, scope tenant.Scope, of workflow.ID, version workflow.VersionID) (FiringVersion, error)
}

// EventQuery asks for the triggers that listen for an event.
type EventQuery struct {
	Event     string
	SubTenant *tenant.SubTenantID // only those of that segment; nil for all
	Limit     int

	// Key is a dedupe key, empty for none, that stands for the runs which were created
	// behind After.
	Key   string
	After time.Time
}

// TriggerKey names a trigger of any tenant.
type TriggerKey struct {
	Scope   tenant.Scope // of who names it; outside of it there is no such trigger
	Trigger trigger.ID
}

// KeyOf names a trigger that the gateway itself deals with.
func KeyOf(trg *trigger.Trigger) TriggerKey { return TriggerKey{tenant.All(trg.Tenant()), trg.ID()} }

// FiringTrigger is a trigger with what decides whether it can fire.
type FiringTrigger struct {
	Trigger     *trigger.Trigger
	Workflow    workflow.ID
	ParentState trigger.ParentState

	// Started is the run that the dedupe key of an [EventQuery] stands for, empty for none
	// and from everybody else. A trigger that has one need not be able to fire any more.
	Started run.ID

	// StoredBytes is how many bytes of runs are kept for the tenant: their payloads, those that are
	// shared once, what they have recorded and their histories. It is that of the moment:
	// units that go on at the same time do not wait for each other to know it.
	StoredBytes int64

	Budgets tenant.Budgets // of the tenant, with those of the gateway where it has none of its own
}

// FiringVersion is a workflow with a version of it.
type FiringVersion struct {
	Workflow       workflow.ID
	SubTenant      tenant.SubTenantID // empty for none
	WorkflowActive bool

	Version   workflow.VersionID // empty when the workflow has no active one, or not the one that is named
	Published bool               // now or before

	StoredBytes int64 // as in [FiringTrigger]
	Budgets     tenant.Budgets
}
