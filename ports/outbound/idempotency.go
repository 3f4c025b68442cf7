package outbound

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// IdempotencyRepository keeps what commands with an idempotency key answered, in the
// unit that had their effect.
type IdempotencyRepository interface {
	// Claim is called first in a unit. It returns nil when the command has not taken
	// effect yet, or not within domain.IdempotencyRetention before now; the *domain.Replay
	// when it has; Invalid with the code idempotency_key_reused when the key was used
	// for another request; and a Conflict with the code idempotency_in_progress where Begin says
	// so, and when another unit with the key is running and the store can tell without waiting.
	// Nothing is asked of the store when no key was given.
	Claim(ctx context.Context, owner tenant.ID, idempotency domain.IdempotencyKey, now time.Time) error

	// Record is called last in the unit and records the outcome that once renders. Of
	// two units that reach it with one key only one commits; the other runs again and
	// meets the outcome in Claim.
	Record(ctx context.Context, owner tenant.ID, idempotency domain.IdempotencyKey, outcome any, now time.Time) error

	// Begin does what Record does before an effect that is outside of the store: until Amend
	// records what came of it, or this time comes, Claim says that the command is in progress.
	Begin(ctx context.Context, owner tenant.ID, idempotency domain.IdempotencyKey, outcome any, now, until time.Time) error

	// Amend records the outcome anew that a unit before kept, where the answer came to hold
	// what was found out once that unit had committed. It does nothing when no key was
	// given, and when nothing is recorded for this very request.
	Amend(ctx context.Context, owner tenant.ID, idempotency domain.IdempotencyKey, outcome any) error

	// Sweep removes at most limit outcomes, of any tenant, that were recorded before
	// the time, and returns how many.
	Sweep(ctx context.Context, before time.Time, limit int) (int, error)
}

// OperatorIdempotencyRepository keeps what those commands of the operator answered that
// concern no tenant yet: making one. It is not scoped to a tenant, and what it keeps
// outlasts the tenant that was made, so that a late repeat does not make it again.
type OperatorIdempotencyRepository interface {
	// Claim does what [IdempotencyRepository.Claim] does.
	Claim(ctx context.Context, idempotency domain.IdempotencyKey, now time.Time) error

	// Record does what [IdempotencyRepository.Record] does.
	Record(ctx context.Context, idempotency domain.IdempotencyKey, outcome any, now time.Time) error

	// Sweep removes at most limit outcomes that were recorded before the time, and
	// returns how many.
	Sweep(ctx context.Context, before time.Time, limit int) (int, error)
}
