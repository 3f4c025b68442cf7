package domain

import "fmt"

// Bounds of a page of a list.
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

// Limit is the greatest number of items wanted; [DefaultPageLimit] in the zero value.
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

	// Stamp is the same only for the same page with the same records. It is empty where the
	// store cannot tell.
	Stamp string
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

	// MaxBytes bounds the records of the page together: the bytes of their texts as they
	// are stored, and of texts that take many times that when they are read, as much as
	// they take then. A page above it is a [*PageTooLarge], and is never held as a whole.
	// 0 is no bound. Lists of tenants, which only the operator reads, have none.
	MaxBytes int
}

// PageTooLarge is the error of a page above [Query.MaxBytes]. It is an [Error] of the
// kind Invalid with the code page_too_large, whose violation is of the field limit.
type PageTooLarge struct {
	Records  int // that the page would have
	Bytes    int // that they take, counted as for the query's MaxBytes
	MaxBytes int // that they may take
}

// Error says how large it is.
func (e *PageTooLarge) Error() string { return e.Unwrap().Error() }

// Unwrap yields the error for the client.
func (e *PageTooLarge) Unwrap() error {
	invalid := Fail(Invalid, "page_too_large",
		"The records of this page are too large to be read together. Ask for fewer with limit, or read them one by one by their identifiers.")
	message := fmt.Sprintf("must be less, such as %d: the %d records of this page take %d bytes, and may take %d",
		e.fitting(), e.Records, e.Bytes, e.MaxBytes)
	if e.Records <= 1 {
		message = fmt.Sprintf("cannot make the page small enough: its one record takes %d bytes, and may take %d; read it by its identifier", e.Bytes, e.MaxBytes)
	}
	invalid.Violations = []Violation{{Field: "limit", Code: TooLarge, Message: message}}
	return invalid
}

// fitting is how many records fit where they are of about the same size, at least one.
func (e *PageTooLarge) fitting() int {
	return max(1, int(int64(e.Records)*int64(e.MaxBytes)/int64(max(1, e.Bytes))))
}
