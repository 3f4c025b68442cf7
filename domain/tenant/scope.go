package tenant

import (
	"slices"
	"strings"

	"github.com/sluicehq/sluice/domain"
)

// Scope is which records of a tenant somebody reaches: all of them, or only those of one
// sub-tenant, and of these perhaps only what belongs to some workflows. Scopes can be
// compared. The zero value reaches none.
type Scope struct {
	tenant    ID
	narrowed  bool
	sub       SubTenantID
	workflows string // their ids, sorted and separated by spaces; empty for all
}

// All reaches every record of a tenant.
func All(owner ID) Scope { return Scope{tenant: owner} }

// Only reaches the records of one sub-tenant; with an empty one, those of no sub-tenant.
func Only(owner ID, sub SubTenantID) Scope { return Scope{tenant: owner, narrowed: true, sub: sub} }

// OfWorkflows reaches of the same records only those workflows, and what belongs to them;
// with none, the same as before.
func (s Scope) OfWorkflows(ids []string) Scope {
	sorted := slices.Sorted(slices.Values(ids))
	s.workflows = strings.Join(slices.Compact(sorted), " ")
	return s
}

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

// Workflows are the ids of the only workflows that are reached; nil for all.
func (s Scope) Workflows() []string {
	if s.workflows == "" {
		return nil
	}
	return strings.Split(s.workflows, " ")
}

// IsWhole says whether every record of the tenant is reached.
func (s Scope) IsWhole() bool { return s.tenant != "" && !s.narrowed && s.workflows == "" }

// Covers says whether records of a sub-tenant, empty for those of none, are reached that
// belong to the workflow with this id. An empty id stands for a record that belongs to none.
func (s Scope) Covers(sub SubTenantID, workflow string) bool {
	if s.tenant == "" || s.narrowed && s.sub != sub {
		return false
	}
	return s.workflows == "" || slices.Contains(s.Workflows(), workflow)
}

// OrOwn is the sub-tenant that a new record belongs to: the one that was asked for, else the only
// one that is reached.
func (s Scope) OrOwn(asked SubTenantID) SubTenantID {
	if asked == "" {
		return s.sub
	}
	return asked
}

// Check returns nil when a record of a sub-tenant, empty for none, may be created or moved
// there that belongs to no workflow, else a Forbidden error with the code outside_scope.
func (s Scope) Check(sub SubTenantID) error {
	switch {
	case s.Covers(sub, ""):
		return nil
	case s.workflows != "":
		return domain.Fail(domain.Forbidden, "outside_scope", "Only some workflows, and what belongs to them, are within reach.")
	default:
		return domain.Fail(domain.Forbidden, "outside_scope", "Only records of one sub-tenant are within reach, and this is not one of them.")
	}
}
