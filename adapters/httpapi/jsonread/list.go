package jsonread

import "github.com/sluicehq/sluice/domain"

// maxSearch bounds the text filter, in characters.
const maxSearch = 255

// ListQuery is what a list operation is asked for.
type ListQuery struct {
	Page       domain.PageRequest
	SortBy     string // empty for the default
	Descending bool   // the order; true when none was asked for
	IsActive   *bool
	Search     string
	PageBased  bool // the client sent pageSize, so it expects the answer's page-based members
}

// List reads the parameters that all lists have in common, and accept even where they mean
// nothing: limit (or its other name
// pageSize), offset or page, sortBy out of the sortable fields, sortOrder, isActive
// and search. The page's start is offset, or page × limit; where both are given
// they must agree.
func (q Query) List(r *domain.Rules, sortable ...string) ListQuery {
	l := ListQuery{Descending: true}
	l.Page, l.PageBased = q.page(r)
	if len(sortable) > 0 {
		l.SortBy, _ = q.OneOf("sortBy", sortable, r)
	} else {
		q.all("sortBy") // every list takes it, and this one has a single order
	}
	if order, present := q.OneOf("sortOrder", []string{"asc", "desc"}, r); present {
		l.Descending = order == "desc"
	}
	l.IsActive = q.Bool("isActive", r)
	if search, present := q.String("search", r); present {
		r.Text(search, "search", 0, maxSearch)
		l.Search = search
	}
	return l
}

func (q Query) page(r *domain.Rules) (request domain.PageRequest, pageBased bool) {
	limit := q.Int("limit", 1, domain.MaxPageLimit, r)
	size := q.Int("pageSize", 1, domain.MaxPageLimit, r)
	offset := q.Int("offset", 0, maxInt, r)
	page := q.Int("page", 0, maxInt, r)
	pageBased = len(q.values["pageSize"]) > 0

	count := domain.DefaultPageLimit
	switch {
	case limit != nil && size != nil && *limit != *size:
		r.Check(false, "pageSize", domain.Conflicting, "is another name of limit, which is %d, so it must not be %d", *limit, *size)
	case limit != nil:
		count = *limit
	case size != nil:
		count = *size
	}
	start := 0
	if page != nil {
		last := maxInt / count
		r.Check(*page <= last, "page", domain.TooLarge, "must be at most %d, not %d", last, *page)
		start = min(*page, last) * count
	}
	if page != nil && offset != nil {
		r.Check(start == *offset, "page", domain.Conflicting,
			"must agree with offset: page %d begins at offset %d, not at %d", *page, start, *offset)
	}
	if offset != nil {
		start = *offset
	}
	if len(r.Violations()) > 0 {
		return domain.PageRequest{}, pageBased
	}
	request, err := domain.NewPageRequest(count, start)
	r.Check(err == nil, "limit", domain.BadFormat, "does not make a page: %v", err)
	return request, pageBased
}
