package trigger

import (
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
)

// Filter narrows a list of triggers; the zero value takes all of them.
type Filter struct {
	Type      Type               // empty for both
	Workflow  workflow.ID        // of whose versions; empty for any
	Version   workflow.VersionID // empty for any
	SubTenant *tenant.SubTenantID
	Active    *bool
	Metadata  domain.MetadataFilter
	Search    string // part of the name, whatever its case
}

// SortFields lists what triggers can be sorted by.
func SortFields() []string { return []string{"name", "type", "createdAt", "updatedAt"} }

// FireFilter narrows the list of a trigger's fires; the zero value takes all of them.
type FireFilter struct {
	Outcome FireOutcome // empty for any
	From    *time.Time  // those that were due then or later
	To      *time.Time  // those that were due before
}

// FireSortField is what a list of fires is sorted by.
const FireSortField = "scheduledAt"

// FireSortFields lists what fires can be sorted by.
func FireSortFields() []string { return []string{FireSortField} }
