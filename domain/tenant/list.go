package tenant

import "github.com/sluicehq/sluice/domain"

// Filter narrows the operator's list of tenants; the zero value takes all of them.
type Filter struct {
	ID       ID // only this one; empty for all
	Status   *Status
	Metadata domain.MetadataFilter
	Search   string // part of the name, whatever its case
}

// SubTenantFilter narrows a list of registrations; the zero value takes all of them.
type SubTenantFilter struct {
	Metadata domain.MetadataFilter
	Search   string // part of the name or the description, whatever its case
}

// SortFields lists what tenants can be sorted by.
func SortFields() []string { return []string{"name", "createdAt", "updatedAt"} }
