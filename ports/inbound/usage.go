package inbound

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/usage"
)

// Usage says what tenants have used.
type Usage interface {
	// Get returns what the caller's tenant used within a period, up to now. What is recorded is in it at once; what processes
	// count follows within seconds.
	Get(ctx context.Context, who tenant.Caller, p usage.Period) (usage.Report, error)

	// Now is the time that a period ends with where nothing else is asked for.
	Now() time.Time
}

// OperatorUsage says it of all tenants.
type OperatorUsage interface {
	// List returns the reports of a page of the tenants that fit, sorted as tenants are.
	List(ctx context.Context, f tenant.Filter, q domain.Query, p usage.Period) (domain.Page[usage.Report], error)

	Now() time.Time
}

// UsageKeeper keeps what was counted.
type UsageKeeper interface {
	// Run does so until ctx ends, and writes down at the end what this process has counted.
	Run(ctx context.Context, failed func(error))

	// Panics is how often it panicked.
	Panics() int64
}

// UsageVerification compares what was counted with the records.
type UsageVerification interface {
	// Verify recounts one tenant, or all where none is named, and gives for each what differs, which is nothing where all is well. It
	// can be done while the gateway works. A tenant that does not exist is NotFound with the code tenant_not_found.
	Verify(ctx context.Context, only tenant.ID, found func(of tenant.ID, differences []usage.Difference) error) error
}
