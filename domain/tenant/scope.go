package tenant

import "github.com/sluicehq/sluice/domain"

// Scope is which records of a tenant somebody reaches: all of them, or only those of one
// sub-tenant. Scopes can be compared. The zero value reaches none.
type Scope struct {
	tenant   ID
	narrowed bool
	sub      SubTenantID
}

// All reaches every record of a tenant.
func All(owner ID) Scope { return Scope{tenant: owner} }

// Only reaches the records of one sub-tenant; with an empty one, those of no sub-tenant.
func Only(owner ID, sub SubTenantID) Scope { return Scope{tenant: owner, narrowed: true, sub: sub} }

// Tenant is whose records these are.
func (s Scope) Tenant() ID { return s.tenant }

// SubTenant is the only sub-tenant whose records are reached, empty for those of no
// sub-tenant; nil for all records.
func (s Scope) SubTenant() *SubTenantID {
	if !s.narrowed {
		return nil
	}
	return &s.sub
}

// Covers says whether records of a sub-tenant, empty for those of none, are reached.
func (s Scope) Covers(sub SubTenantID) bool { return s.tenant != "" && (!s.narrowed || s.sub == sub) }

// Check returns nil when a record of a sub-tenant, empty for none, may be created or moved
// there, else a Forbidden error with the code outside_scope.
func (s Scope) Check(sub SubTenantID) error {
	if s.Covers(sub) {
		return nil
	}
	return domain.Fail(domain.Forbidden, "outside_scope", "Only records of one sub-tenant are within reach, and this is not one of them.")
}
