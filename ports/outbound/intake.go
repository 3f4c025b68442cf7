package outbound

import (
	"context"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/trigger"
)

// TriggerIntake adds triggers, those of many requests at once where many ask: what
// one unit of work does in four steps for one trigger, it does in one step for all
// that wait. Each request has an outcome of its own.
type TriggerIntake interface {
	// Insert has the effect of a unit of work that claims the idempotency key with
	// Outcomes.Claim at the trigger's creation, finds the trigger's version with
	// Versions.Belongs, adds the trigger with Triggers.Insert and records the outcome with
	// Outcomes.Keep, and then says true. It says false, and has had no effect, where that
	// unit would do anything else, or where it cannot tell: a unit of work has to find out
	// what. An error says what the error of a commit says in UnitOfWork.Do: the effect
	// may have been had. A ctx that ends does not take back what has begun.
	Insert(ctx context.Context, trg *trigger.Trigger, once domain.Once) (done bool, err error)
}
