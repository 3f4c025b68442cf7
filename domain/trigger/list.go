package trigger

import (
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
)

// Filter narrows a list of triggers; the zero value takes all of them.
type Filter struct {
	Type      Type               // empty for both
	Version   workflow.VersionID // empty for any
	SubTenant *tenant.SubTenantID
	Active    *bool
	Search    string // part of the name, whatever its case
}

// SortFields lists what triggers can be sorted by.
func SortFields() []string { return []string{"name", "type", "createdAt", "updatedAt"} }
