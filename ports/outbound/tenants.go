package outbound

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// TenantRepository keeps tenants. It is for the operator's use cases, hence not
// scoped to one tenant.
type TenantRepository interface {
	Insert(ctx context.Context, t *tenant.Tenant) error

	// Get returns NotFound with the code tenant_not_found for an unknown id.
	Get(ctx context.Context, id tenant.ID) (*tenant.Tenant, error)

	// List returns a page of the tenants that fit, sorted by one of tenant.SortFields.
	List(ctx context.Context, f tenant.Filter, q domain.Query) (domain.Page[*tenant.Tenant], error)

	Update(ctx context.Context, t *tenant.Tenant) error

	// Delete removes the tenant with everything it owns. An unknown id is NotFound.
	Delete(ctx context.Context, id tenant.ID) error
}

// APIKeyRepository keeps API keys without their texts.
type APIKeyRepository interface {
	Insert(ctx context.Context, k *tenant.APIKey) error

	// Get returns NotFound with the code api_key_not_found for an unknown id.
	Get(ctx context.Context, owner tenant.ID, id tenant.KeyID) (*tenant.APIKey, error)

	// List returns a page of the tenant's keys, the newest first, and their exact
	// number.
	List(ctx context.Context, owner tenant.ID, page domain.PageRequest) (domain.Page[*tenant.APIKey], error)

	Update(ctx context.Context, k *tenant.APIKey) error

	// CountUsable counts the tenant's keys of a type that are usable at the time. In
	// a unit that writes, it also holds back other units that count the same
	// tenant's keys, so that two of them cannot each end the last but one.
	CountUsable(ctx context.Context, owner tenant.ID, t tenant.KeyType, at time.Time) (int, error)
}

// CredentialRepository answers the one question that comes before a tenant is
// known: whose key is this?
type CredentialRepository interface {
	// Find returns the key with this hash and its tenant, whatever their state, or
	// NotFound with the code api_key_not_found.
	Find(ctx context.Context, hash tenant.KeyHash) (Credential, error)

	// RecordUse records that the key was accepted at the time, unless the recorded use
	// is less than tenant.UsedResolution older. It does not touch the revision.
	RecordUse(ctx context.Context, owner tenant.ID, id tenant.KeyID, at time.Time) error
}

// Credential is a key with the tenant that owns it.
type Credential struct {
	Key    *tenant.APIKey
	Tenant *tenant.Tenant
}
