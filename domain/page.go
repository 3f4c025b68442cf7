package domain

// Bounds of a page, from the specification's list conventions.
const (
	DefaultPageLimit = 20
	MaxPageLimit     = 100
)

// PageRequest asks for one page of a list. Build it with [NewPageRequest].
type PageRequest struct {
	limit, offset int
}

// NewPageRequest returns a request for limit items after the first offset ones.
// limit is 1 to [MaxPageLimit], offset is not negative; both violations are
// reported together.
func NewPageRequest(limit, offset int) (PageRequest, error) {
	var r Rules
	r.Check(limit >= 1, "limit", TooSmall, "must be at least 1, not %d", limit)
	r.Check(limit <= MaxPageLimit, "limit", TooLarge, "must be at most %d, not %d", MaxPageLimit, limit)
	r.Check(offset >= 0, "offset", TooSmall, "must be at least 0, not %d", offset)
	if err := r.Err("list_invalid", "The list parameters are not valid."); err != nil {
		return PageRequest{}, err
	}
	return PageRequest{limit: limit, offset: offset}, nil
}

// Limit is the greatest number of items wanted; [DefaultPageLimit] in the zero
// value.
func (p PageRequest) Limit() int {
	if p.limit == 0 {
		return DefaultPageLimit
	}
	return p.limit
}

// Offset is the number of items to skip.
func (p PageRequest) Offset() int { return p.offset }

// Page is one page of a list with the exact number of all records.
type Page[T any] struct {
	Items  []T
	Total  int
	Limit  int
	Offset int
}

// HasMore says whether records follow this page.
func (p Page[T]) HasMore() bool { return p.Offset+len(p.Items) < p.Total }

// Sorting is the order of a list: by one field, ties broken by the identifier in
// the same direction. The zero value is the default, the newest first.
type Sorting struct {
	Field     string // one of those the resource can be sorted by; empty means createdAt
	Ascending bool
}

// DefaultSortField is what lists are sorted by unless asked otherwise.
const DefaultSortField = "createdAt"

// By returns the field to sort by.
func (s Sorting) By() string {
	if s.Field == "" {
		return DefaultSortField
	}
	return s.Field
}

// Query asks for one page of a list in an order.
type Query struct {
	PageRequest
	Sorting
}
