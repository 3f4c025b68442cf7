package outbound

import (
	"context"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/audit"
	"github.com/sluicehq/sluice/domain/trigger"
)

// TriggerInserter adds the triggers of many requests in one step: what one unit of work does
// in four steps for one trigger, it does in one step for all. Each has an outcome of its
// own.
type TriggerInserter interface {
	// Insert has for each trigger the effect of a unit of work that claims its idempotency
	// key with Idempotency.Claim at the trigger's creation, finds the trigger's version with
	// Versions.Parent, adds the trigger with Triggers.Insert, records the outcome with
	// Idempotency.Record and the entry, if there is one, with Audit.Log.Append, and then sets Added. It clears Added, and has had no effect, where that
	// unit would do anything else, or where it cannot tell: a unit of work has to find out
	// what. Of several with one key it adds at most the first. An error says of all of them
	// what the error of a commit says in UnitOfWork.Do: the effect may have been had.
	Insert(ctx context.Context, all []*NewTrigger) error

	// Parallel is how many calls of Insert at the same time are of use.
	Parallel() int
}

// NewTrigger is a trigger that is to be added, with the outcome to record under its
// idempotency key.
type NewTrigger struct {
	Trigger        *trigger.Trigger
	IdempotencyKey domain.IdempotencyKey
	Answer         []byte       // what the key renders of the trigger, where an outcome is wanted
	Act            *audit.Act   // by which it is added; nil for none
	Entry          *audit.Entry // of the act, for the audit log; nil for none

	Added bool // by the last Insert
}
