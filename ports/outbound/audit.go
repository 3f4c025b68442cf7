package outbound

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/audit"
	"github.com/sluicehq/sluice/domain/tenant"
)

// AuditStores keep what changed. Of a tenant that is deleted nothing is left. The operator's log is that of the tenant
// without an identifier.
type AuditStores struct {
	Log     AuditLog
	Sealing AuditSealing
	Chain   AuditChain
}

// AuditLog keeps entries.
type AuditLog interface {
	// Append adds entries that are not sealed, of any tenants.
	Append(ctx context.Context, entries ...audit.Entry) error

	// Erase writes the values of an entry without those that were erased.
	Erase(ctx context.Context, e audit.Entry) error

	// List returns a page of a tenant's entries, by their time.
	List(ctx context.Context, owner tenant.ID, f audit.Filter, q domain.Query) (domain.Page[audit.Entry], error)

	// After returns at most limit entries that fit, the oldest first, which stand behind a place in that order; the zero
	// place begins.
	After(ctx context.Context, owner tenant.ID, f audit.Filter, place AuditPlace, limit int) ([]audit.Entry, error)
}

// AuditPlace is where an entry stands by its time.
type AuditPlace struct {
	At time.Time
	ID audit.ID
}

// AuditSealing puts entries at the end of their chain.
type AuditSealing interface {
	// Unsealed returns at most limit tenants that have entries to seal, with the time of the oldest, the one that has
	// waited longest first.
	Unsealed(ctx context.Context, limit int) ([]AuditBacklog, error)

	// Hold reads the head of a chain, which belongs to the unit until that ends. ok is false where another unit has it and
	// the store can tell without waiting, and where there is nothing to seal and never was. A chain that has not begun has a
	// head without entries.
	Hold(ctx context.Context, owner tenant.ID) (head audit.Head, ok bool, err error)

	// Next returns at most limit entries that are not sealed, the oldest first, without those that another unit is
	// changing. They belong to the unit until it ends.
	Next(ctx context.Context, owner tenant.ID, limit int) ([]audit.Link, error)

	// Seal keeps the place and the hash of entries, which Next returned in this unit, and the head, which the unit holds.
	Seal(ctx context.Context, head audit.Head, links []audit.Link) error
}

// AuditBacklog says since when entries of a tenant wait to be sealed.
type AuditBacklog struct {
	Tenant tenant.ID
	Since  time.Time
}

// AuditChain reads chains, and cuts them off where they are old.
type AuditChain interface {
	// Head reads the head of a chain. A chain that has not begun has a head without entries.
	Head(ctx context.Context, owner tenant.ID) (audit.Head, error)

	// Heads returns at most limit heads of chains that have begun, by the identifier of their tenant, behind one; the
	// operator's is first, and behind nil. A chain whose head is gone has one without entries.
	Heads(ctx context.Context, behind *tenant.ID, limit int) ([]audit.Head, error)

	// Sealed returns at most limit entries of a chain in their order, behind a place in it.
	Sealed(ctx context.Context, owner tenant.ID, behind int64, limit int) ([]audit.Entry, error)

	// Aged returns at most limit tenants whose chains begin with an entry from before the time, in their order, behind one;
	// the operator is first, and behind nil.
	Aged(ctx context.Context, before time.Time, behind *tenant.ID, limit int) ([]tenant.ID, error)

	// Prune removes the entries behind the place where the anchor was, up to the anchor of the head, which the unit holds, and
	// keeps the head.
	Prune(ctx context.Context, behind int64, head audit.Head) error

	// Sweep removes what is left in logs of tenants that are gone, such as what was written while one was deleted, and
	// returns how much that was.
	Sweep(ctx context.Context) (removed int, err error)
}
