package hook

import (
	"net/netip"
	"time"

	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
)

// Trigger is what the hook fires.
func (h *Hook) Trigger() trigger.ID { return h.state.Trigger }

// Tenant owns the hook.
func (h *Hook) Tenant() tenant.ID { return h.state.Tenant }

// SubTenant is that of the trigger, empty for none.
func (h *Hook) SubTenant() tenant.SubTenantID { return h.state.SubTenant }

// Scope is what is within reach of a delivery: its sub-tenant's, where it has one.
func (h *Hook) Scope() tenant.Scope {
	if h.state.SubTenant == "" {
		return tenant.All(h.state.Tenant)
	}
	return tenant.Only(h.state.Tenant, h.state.SubTenant)
}

// Config is what the client configured.
func (h *Hook) Config() Config { return h.state.clone().Config }

// Scheme is how deliveries are verified.
func (h *Hook) Scheme() Scheme { return h.state.Scheme }

// Allows says whether a client of an address may send.
func (h *Hook) Allows(client netip.Addr) bool { return h.state.AllowFrom.Allows(client) }

// Ingests says whether deliveries are ingested as their events.
func (h *Hook) Ingests() bool { return h.state.Ingest }

// PayloadOptions say what runs get besides.
func (h *Hook) PayloadOptions() PayloadOptions { return PayloadOptions{RawBody: h.state.RawBody} }

// Secrets are the connections that hold what deliveries are verified with.
func (h *Hook) Secrets() []connection.ID { return h.state.clone().Secrets }

// Respond is what deliveries are answered with.
func (h *Hook) Respond() Respond { return h.state.Respond }

// Limits are those of the hook, or the defaults.
func (h *Hook) Limits() Limits { return h.state.Limits.Or() }

// Active says whether deliveries start anything.
func (h *Hook) Active() bool { return h.state.Active }

// Hint is the token of the address, shortened.
func (h *Hook) Hint() string { return h.state.Hint }

// RetiredUntil is when the address before ends to live; ok is false where there is none.
func (h *Hook) RetiredUntil(now time.Time) (until time.Time, ok bool) {
	return h.state.RetiredUntil, h.state.Retired != nil && now.Before(h.state.RetiredUntil)
}

// Opens says whether the hash is that of an address that lives.
func (h *Hook) Opens(hash TokenHash, now time.Time) bool {
	if h.state.Token == hash {
		return true
	}
	_, lives := h.RetiredUntil(now)
	return lives && *h.state.Retired == hash
}

// CreatedAt is when the hook was made.
func (h *Hook) CreatedAt() time.Time { return h.state.CreatedAt }

// UpdatedAt is when the hook last changed.
func (h *Hook) UpdatedAt() time.Time { return h.state.UpdatedAt }

// Revision counts the hook's changes.
func (h *Hook) Revision() int64 { return h.state.Revision }

// Saved notes that a store kept the changes, which raises the revision by one.
func (h *Hook) Saved() { h.state.Revision++ }
