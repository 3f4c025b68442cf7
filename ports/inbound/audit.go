package inbound

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/audit"
	"github.com/sluicehq/sluice/domain/tenant"
)

// AuditLog is who changed what of a tenant.
type AuditLog interface {
	// List returns a page of the entries that fit, by their time.
	List(ctx context.Context, who tenant.Caller, f audit.Filter, q domain.Query) (domain.Page[audit.Entry], error)

	// Export gives take all entries that fit, some at a time and the oldest first, until it returns an error, which comes
	// back.
	Export(ctx context.Context, who tenant.Caller, f audit.Filter, take func([]audit.Entry) error) error
}

// AuditChains is what the operator does with the logs of all tenants.
type AuditChains interface {
	// Export gives take all entries of a tenant's log that fit, as [AuditLog.Export] does; without a tenant, those of the
	// operator's.
	Export(ctx context.Context, owner tenant.ID, f audit.Filter, take func([]audit.Entry) error) error

	// Heads gives take the heads of all chains, the operator's first, until it returns an error, which comes back.
	Heads(ctx context.Context, take func(audit.Head) error) error

	// Verify goes through a chain and says what is wrong with it. known is a head that was exported earlier; nil for none.
	// progress learns how many entries were checked.
	Verify(ctx context.Context, owner tenant.ID, known *audit.Known, progress func(checked int64)) (*audit.Verifier, error)
}

// AuditSealer chains entries.
type AuditSealer interface {
	// Run seals what is new, within a second of Wake, until ctx ends. failed learns of every error, after which it goes on.
	Run(ctx context.Context, failed func(error))

	// Wake says that there are new entries. What nobody tells, such as what a process has left that was killed, Run finds
	// a few seconds later.
	Wake()

	// Panics is how often it panicked and went on.
	Panics() int64

	// OldestUnsealed is how long the oldest entry has waited that was not sealed when it last looked; 0 for none.
	OldestUnsealed() time.Duration

	// Prune removes entries that were kept long enough, in batches, and returns how many.
	Prune(ctx context.Context) (removed int, err error)
}
