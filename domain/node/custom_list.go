package node

import "github.com/sluicehq/sluice/domain"

// CustomFilter narrows a list of custom nodes; the zero value takes all of them.
type CustomFilter struct {
	Active   *bool
	Metadata domain.MetadataFilter
	Search   string // part of the name or the description, whatever its case
}

// CustomSortFields lists what custom nodes can be sorted by.
func CustomSortFields() []string { return []string{"name", "type", "createdAt", "updatedAt"} }
