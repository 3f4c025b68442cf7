package outbound

import (
	"context"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// SubTenantRepository keeps the registrations of sub-tenants. That of a sub-tenant belongs to
// it, so that a scope of one sub-tenant covers its own registration and no other.
type SubTenantRepository interface {
	// Insert reports a sub-tenant that is registered already as a Conflict with the
	// code sub_tenant_exists.
	Insert(ctx context.Context, sub *tenant.SubTenant) error

	// Get returns NotFound with the code sub_tenant_not_found for an unknown id.
	Get(ctx context.Context, scope tenant.Scope, id tenant.RegistrationID) (*tenant.SubTenant, error)

	// Find returns the registration of a sub-tenant, or NotFound as Get does.
	Find(ctx context.Context, scope tenant.Scope, sub tenant.SubTenantID) (*tenant.SubTenant, error)

	List(ctx context.Context, scope tenant.Scope, f tenant.SubTenantFilter, q domain.Query) (domain.Page[*tenant.SubTenant], error)

	Update(ctx context.Context, sub *tenant.SubTenant) error

	// Delete removes the registration only. An unknown id is NotFound.
	Delete(ctx context.Context, scope tenant.Scope, id tenant.RegistrationID) error
}

// SubTenantDirectory knows every sub-tenant of a tenant, registered or not.
type SubTenantDirectory interface {
	// List returns a page of the sub-tenants that are registered or that a record
	// belongs to, each once, in the order of their identifiers, with their exact number. With a
	// filter it takes only those that are registered with the metadata.
	List(ctx context.Context, scope tenant.Scope, m domain.MetadataFilter, page domain.PageRequest) (domain.Page[tenant.SeenSubTenant], error)
}
