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

// APIKeyRepository keeps API keys without their texts, embed tokens among them. Those that are limited to a
// part of the tenant lie apart, so that versions of the gateway that do not know of them refuse them.
type APIKeyRepository interface {
	Insert(ctx context.Context, k *tenant.APIKey) error

	// Get returns NotFound with the code api_key_not_found for an unknown id.
	Get(ctx context.Context, owner tenant.ID, id tenant.KeyID) (*tenant.APIKey, error)

	// List returns a page of the tenant's keys without embed tokens, the newest first, and their exact
	// number.
	List(ctx context.Context, owner tenant.ID, page domain.PageRequest) (domain.Page[*tenant.APIKey], error)

	Update(ctx context.Context, k *tenant.APIKey) error

	// CountUsable counts the keys of a type that are usable at the time and not limited to a part of the tenant. In
	// a unit that writes, it also holds back other units that count the same
	// tenant's keys, so that two of them cannot each end the last but one.
	CountUsable(ctx context.Context, owner tenant.ID, t tenant.KeyType, at time.Time) (int, error)
}

// EmbedTokenRepository is for many embed tokens at once; one is inserted, read and updated as
// the API key that it is.
type EmbedTokenRepository interface {
	// List returns a page of the tokens that fit, the newest first, and their exact number.
	List(ctx context.Context, owner tenant.ID, f tenant.EmbedTokenFilter, page domain.PageRequest) (domain.Page[*tenant.APIKey], error)

	// RevokeAll revokes the tokens that fit and have not ended at the time, and says how many.
	RevokeAll(ctx context.Context, owner tenant.ID, f tenant.EmbedTokenFilter, at time.Time) (int, error)

	// Sweep removes at most limit tokens, of any tenant, that expired before the time, and returns
	// how many.
	Sweep(ctx context.Context, before time.Time, limit int) (int, error)
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
