package connection

import (
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// Filter narrows a list of connections; the zero value takes all of them.
type Filter struct {
	SubTenant *tenant.SubTenantID
	Kind      Kind // empty for any
	Active    *bool
	Metadata  domain.MetadataFilter
	Search    string // part of the name, whatever its case
}

// SortFields lists what connections can be sorted by.
func SortFields() []string { return []string{"name", "kind", "createdAt", "updatedAt"} }
