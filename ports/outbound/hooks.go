package outbound

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/hook"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
)

// HookStores are the repositories of hooks in one unit of work. Hooks go with their triggers, and
// deliveries with their hooks.
type HookStores struct {
	Hooks      HookRepository
	Deliveries HookDeliveries
	Keys       HookKeys
}

// HookRepository keeps hooks, of which a trigger has at most one.
type HookRepository interface {
	// Insert adds the hook of a trigger. Where that has one it is a Conflict with the code hook_exists.
	Insert(ctx context.Context, h *hook.Hook) error

	// Get returns NotFound with the code hook_not_found for a trigger without a hook.
	Get(ctx context.Context, scope tenant.Scope, of trigger.ID) (*hook.Hook, error)

	Update(ctx context.Context, h *hook.Hook) error

	// Delete removes the hook. A trigger without one is NotFound.
	Delete(ctx context.Context, scope tenant.Scope, of trigger.ID) error

	// Find is for the gateway itself, and not scoped to one tenant. It returns the hook with an
	// address, the current one or the one before, whether or not it lives; an unknown one is NotFound.
	Find(ctx context.Context, hash hook.TokenHash) (*hook.Hook, error)
}

// HookDeliveries keeps deliveries that were received, each encrypted whole. Of a hook it keeps the
// newest [hook.MaxKept], as long as they are not larger than [hook.MaxKeptBytes] together; of those
// that were refused, which are counted by themselves and not as what the tenant stores, the newest
// [hook.MaxRefused].
type HookDeliveries interface {
	// Add adds deliveries of any tenant, and notes how large they are stored. A hook that is gone is NotFound with the
	// code hook_not_found.
	Add(ctx context.Context, all ...*hook.Received) error

	// AddRuns notes the verdict of a delivery, and what it has started besides what it had. Of one that is gone nothing is
	// noted.
	AddRuns(ctx context.Context, of *hook.Received, started ...run.ID) error

	// Get returns NotFound with the code hook_delivery_not_found for an unknown id.
	Get(ctx context.Context, scope tenant.Scope, of trigger.ID, id hook.DeliveryID) (*hook.Received, error)

	// List returns a page of the deliveries of a hook, sorted by receivedAt, without what was received.
	List(ctx context.Context, scope tenant.Scope, of trigger.ID, f hook.ReceivedFilter, q domain.Query) (domain.Page[*hook.Received], error)

	// Sweep removes at most limit deliveries of a tenant that were received before the time, the oldest first, and
	// returns how many.
	Sweep(ctx context.Context, owner tenant.ID, before time.Time, limit int) (int, error)
}

// HookKey is what tells a delivery from others, and the run that it starts.
type HookKey struct {
	Tenant tenant.ID
	Key    string // see hook.Item
	Run    run.ID // of what is split and has items without keys, the id of the delivery that has begun with them
}

// HookKeys keeps which run a key stands for, for [hook.KeyRetention]. They are names of their own, which no dedupe key
// of a call is.
type HookKeys interface {
	// Take has keys stand for their runs that stand for none, and returns in their order the runs that the others
	// stand for, empty for those that were taken. Of several units that take one at the same time, one does and the others
	// learn of its run when that unit has ended; of equal keys the first one does.
	Take(ctx context.Context, keys []HookKey, now time.Time) ([]run.ID, error)

	// Holder returns the run that a key stands for, empty for none.
	Holder(ctx context.Context, key HookKey, now time.Time) (run.ID, error)

	// Release has a key stand for nothing, where it stands for the run.
	Release(ctx context.Context, key HookKey) error

	// Sweep removes at most limit keys, of any tenant, that were taken before the time, and returns how
	// many.
	Sweep(ctx context.Context, before time.Time, limit int) (int, error)
}

// OpenHook is what the gateway knows of an address.
type OpenHook struct {
	Hook    *hook.Hook
	Tenant  *tenant.Tenant
	Secrets []hook.Secret // of its connections that are active, in their order
	Reader  *hook.Reader
}

// HookDirectory answers what is asked of every delivery before anything is done. It may answer from
// memory, as [Directory] does.
type HookDirectory interface {
	// Hook returns the hook with an address, the current one or the one before, whatever its state, or NotFound
	// with the code hook_not_found. A hash that is asked for again and again costs no store anything, be it known or not.
	// What it returns is shared between callers, who only read it.
	Hook(ctx context.Context, hash hook.TokenHash) (OpenHook, error)

	// Reader compiles the expressions of a hook.
	Reader(of *hook.Hook) *hook.Reader

	// Secrets returns what a hook verifies with as of now.
	Secrets(ctx context.Context, of *hook.Hook) ([]hook.Secret, error)
}
