package tenant

// Filter narrows the operator's list of tenants; the zero value takes all of them.
type Filter struct {
	Status *Status
	Search string // part of the name, whatever its case
}

// SortFields lists what tenants can be sorted by.
func SortFields() []string { return []string{"name", "createdAt", "updatedAt"} }
