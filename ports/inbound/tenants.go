package inbound

import (
	"context"
	"net/netip"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// Tenants is what the operator of the gateway does with tenants. No tenant's own
// key reaches it.
type Tenants interface {
	// Create makes an active tenant with one public and one secret key, whose texts
	// are in the answer and nowhere else. Every violation is reported at once, with the
	// code tenant_invalid.
	Create(ctx context.Context, idempotency domain.IdempotencyKey, d tenant.Draft) (NewTenant, error)

	// Get returns a tenant, or NotFound with the code tenant_not_found, as every method
	// does that is given the id of none.
	Get(ctx context.Context, id tenant.ID) (*tenant.Tenant, error)

	// List returns a page of all tenants that fit, sorted by one of tenant.SortFields.
	List(ctx context.Context, f tenant.Filter, q domain.Query) (domain.Page[*tenant.Tenant], error)

	// Update changes what the patch names and nothing else. Every violation is reported
	// at once, with the code tenant_invalid.
	Update(ctx context.Context, id tenant.ID, at domain.Expected, p tenant.Patch) (*tenant.Tenant, error)

	// Suspend makes the tenant's keys be refused until Resume. Both may be repeated.
	Suspend(ctx context.Context, idempotency domain.IdempotencyKey, id tenant.ID) (*tenant.Tenant, error)

	// Resume lets the tenant's keys be accepted again.
	Resume(ctx context.Context, idempotency domain.IdempotencyKey, id tenant.ID) (*tenant.Tenant, error)

	// Delete removes the tenant and everything it owns, for good.
	Delete(ctx context.Context, id tenant.ID, at domain.Expected) error
}

// NewTenant is a tenant with the texts of its first keys.
type NewTenant struct {
	Tenant *tenant.Tenant
	Public IssuedKey
	Secret IssuedKey
}

// IssuedKey is a key together with its text, which cannot be had a second time.
type IssuedKey struct {
	Key  *tenant.APIKey
	Text tenant.KeyText
}

// APIKeys is what can be done with the keys of the caller's tenant.
type APIKeys interface {
	// Issue makes a key. The text is in the answer and nowhere else.
	Issue(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, d tenant.KeyDraft) (IssuedKey, error)

	// Get returns NotFound with the code api_key_not_found for an unknown id.
	Get(ctx context.Context, who tenant.Caller, id tenant.KeyID) (*tenant.APIKey, error)

	// List returns a page of the tenant's keys, revoked ones included, the newest
	// first.
	List(ctx context.Context, who tenant.Caller, page domain.PageRequest) (domain.Page[*tenant.APIKey], error)

	// Rotate makes a key of the same type, name, end and limits and ends the old one after the
	// grace, 0 to 24 hours: with none, the old key is dead when this returns. A key
	// that is not usable any more is a Conflict with the code api_key_not_active.
	Rotate(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id tenant.KeyID, grace time.Duration) (IssuedKey, error)

	// Revoke ends a key at once. The last secret key that goes on for more than
	// tenant.MaxGrace is a Conflict with the code last_secret_key: it can only be
	// rotated. Revoking twice is fine.
	Revoke(ctx context.Context, who tenant.Caller, id tenant.KeyID) (*tenant.APIKey, error)
}

// EmbedTokens is what can be done with the tokens by which a tenant shows a part of the gateway to
// its own customers. Everybody but a secret key of the whole tenant is Forbidden.
type EmbedTokens interface {
	// Issue makes a token, whose text is in the answer and nowhere else. Every violation is
	// reported at once, with the code embed_token_invalid.
	Issue(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, d tenant.EmbedTokenDraft) (IssuedKey, error)

	// List returns a page of the tokens that fit, the newest first; those that ended stay for
	// tenant.TokenRetention.
	List(ctx context.Context, who tenant.Caller, f tenant.EmbedTokenFilter, page domain.PageRequest) (domain.Page[*tenant.APIKey], error)

	// Revoke ends a token at once. An unknown id is NotFound with the code embed_token_not_found.
	// Revoking twice is fine.
	Revoke(ctx context.Context, who tenant.Caller, id tenant.KeyID) error

	// RevokeAll ends all tokens that fit, of which there may be none. The filter must not be
	// empty, else the error is Invalid with the code embed_token_invalid.
	RevokeAll(ctx context.Context, who tenant.Caller, f tenant.EmbedTokenFilter) error
}

// EmbedPages are the pages that show the editor within those of other products.
type EmbedPages interface {
	// Origins returns which pages may frame the one of a tenant, for a request from an address: none for a tenant that
	// takes no requests. An unknown tenant is NotFound tenant_not_found; who comes too often is RateLimited rate_limited.
	Origins(ctx context.Context, from netip.Addr, id tenant.ID) ([]string, error)
}

// Settings is what can be done with the settings of the caller's tenant.
type Settings interface {
	Get(ctx context.Context, who tenant.Caller) (tenant.Settings, error)

	// Update changes what the patch names. Every violation is reported at once, with
	// the code settings_invalid.
	Update(ctx context.Context, who tenant.Caller, p tenant.SettingsPatch) (tenant.Settings, error)
}
