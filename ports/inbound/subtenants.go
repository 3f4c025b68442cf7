package inbound

import (
	"context"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// SubTenants is what can be done with the segments of a tenant. An unknown id is
// NotFound with the code sub_tenant_not_found; a revision that is not the expected
// one is a Conflict with the code precondition_failed.
type SubTenants interface {
	// Create registers a segment. Without an identifier of the client's it gets a new
	// one. One that is registered already is a Conflict with the code
	// sub_tenant_exists.
	Create(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, d tenant.SubTenantDraft) (*tenant.SubTenant, error)

	Get(ctx context.Context, who tenant.Caller, id tenant.RegistrationID) (*tenant.SubTenant, error)

	// Find returns the registration of a segment, or NotFound.
	Find(ctx context.Context, who tenant.Caller, sub tenant.SubTenantID) (*tenant.SubTenant, error)

	List(ctx context.Context, who tenant.Caller, f tenant.SubTenantFilter, q domain.Query) (domain.Page[*tenant.SubTenant], error)

	// Combined lists the segments that are registered or that a record belongs to, in
	// the order of their identifiers. With a filter it takes only those that are registered
	// with the metadata.
	Combined(ctx context.Context, who tenant.Caller, m domain.MetadataFilter, page domain.PageRequest) (domain.Page[tenant.SeenSubTenant], error)

	Update(ctx context.Context, who tenant.Caller, id tenant.RegistrationID, at domain.Expected, p tenant.SubTenantPatch) (*tenant.SubTenant, error)

	// Delete removes the registration only; records keep belonging to the segment.
	Delete(ctx context.Context, who tenant.Caller, id tenant.RegistrationID, at domain.Expected) error
}
