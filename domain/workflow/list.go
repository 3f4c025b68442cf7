package workflow

import (
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// Filter narrows a list of workflows; the zero value takes all of them.
type Filter struct {
	SubTenant *tenant.SubTenantID
	Active    *bool
	Metadata  domain.MetadataFilter
	Search    string // part of the name or the description, whatever its case
}

// SortFields lists what workflows can be sorted by.
func SortFields() []string { return []string{"name", "createdAt", "updatedAt"} }

// VersionFilter narrows a list of the versions of one workflow.
type VersionFilter struct {
	Workflow ID
	Active   *bool
	Metadata domain.MetadataFilter
}

// VersionSortFields lists what versions can be sorted by.
func VersionSortFields() []string { return []string{"version", "createdAt", "publishedAt"} }
