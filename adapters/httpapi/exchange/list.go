package exchange

import (
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// headerSDK is sent by generated clients, which read the page-based members.
const headerSDK = "X-Stainless-Lang"

// ListRequest is what a list operation was asked for. Its getters record what is
// wrong with the query, and all of it is reported at once.
type ListRequest struct {
	jsonread.ListQuery
	Params jsonread.Query
	Rules  domain.Rules
}

// ReadList reads the parameters that all lists have in common.
func ReadList(c *gin.Context, sortable ...string) (*ListRequest, error) {
	query, err := Parameters(c)
	if err != nil {
		return nil, err
	}
	l := &ListRequest{Params: query}
	l.ListQuery = query.List(&l.Rules, sortable...)
	l.PageBased = l.PageBased || c.GetHeader(headerSDK) != ""
	return l, nil
}

// ReadExport reads what a list without pages is asked for.
func ReadExport(c *gin.Context) (*ListRequest, error) {
	query, err := Parameters(c)
	return &ListRequest{Params: query}, err
}

// Check reports everything that is wrong with the query, and what of it is ignored.
func (l *ListRequest) Check(c *gin.Context) error {
	if err := ReportIgnored(c); err != nil {
		return err
	}
	return l.Rules.Err("list_invalid", "The list parameters are not valid.")
}

// Query is what the store is asked for.
func (l *ListRequest) Query() domain.Query {
	return domain.Query{PageRequest: l.Page, Sorting: domain.Sorting{Field: l.SortBy, Ascending: !l.Descending}}
}

// SubTenant reads the filter subTenantId; nil when it is absent.
func (l *ListRequest) SubTenant() *tenant.SubTenantID {
	text, present := l.Params.String("subTenantId", &l.Rules)
	if !present {
		return nil
	}
	sub := tenant.SubTenantID(text)
	sub.Check(&l.Rules, "subTenantId")
	return &sub
}

// ListBody is the list envelope. The members of [pageFrame], and data, are for page-based
// clients.
type ListBody struct {
	Items []any `json:"items"`
	listFrame
	Data *[]any `json:"data,omitempty"`
	*pageFrame
}

// listFrame says where in the list the items stand.
type listFrame struct {
	Total   int  `json:"total"`
	Limit   int  `json:"limit"`
	Offset  int  `json:"offset"`
	HasMore bool `json:"hasMore"`
}

func frameOf[T any](found domain.Page[T]) listFrame {
	return listFrame{found.Total, found.Limit, found.Offset, found.HasMore()}
}

// pageFrame says the same in pages.
type pageFrame struct {
	Page     int `json:"page"`
	LastPage int `json:"lastPage"`
}

func pageOf[T any](found domain.Page[T]) pageFrame {
	return pageFrame{found.Offset / found.Limit, max(0, (found.Total-1)/found.Limit)}
}

// AnswerList reads a page and answers with it.
func AnswerList[T any](c *gin.Context, l *ListRequest, render func(T) any, read func(domain.Query) (domain.Page[T], error)) error {
	return AnswerPage(c, l, read, func(found domain.Page[T]) any { return RenderList(l, found, render) })
}

// AnswerPage does the same with a body that has more members than [RenderList] makes.
func AnswerPage[T any](c *gin.Context, l *ListRequest, read func(domain.Query) (domain.Page[T], error), render func(domain.Page[T]) any) error {
	if err := l.Check(c); err != nil {
		return err
	}
	found, err := read(l.Query())
	return Answer(c, found, err, render)
}

// RenderList makes the body of a page.
func RenderList[T any](l *ListRequest, found domain.Page[T], render func(T) any) ListBody {
	body := ListBody{Items: []any{}, listFrame: frameOf(found)}
	for _, item := range found.Items {
		body.Items = append(body.Items, render(item))
	}
	if l.PageBased {
		page := pageOf(found)
		body.Data, body.pageFrame = &body.Items, &page
	}
	return body
}

// Time reads a filter that is a time; nil when it is absent.
func (l *ListRequest) Time(name string) *time.Time {
	text, present := l.Params.String(name, &l.Rules)
	if !present {
		return nil
	}
	at, ok := ReadTime(text, name, &l.Rules)
	if !ok {
		return nil
	}
	at = at.UTC()
	return &at
}

// ReadTime reads a time of a request.
func ReadTime(text, field string, r *domain.Rules) (at time.Time, ok bool) {
	at, err := time.Parse(time.RFC3339, text)
	r.Check(err == nil, field, domain.BadFormat, "must be a time in RFC 3339, such as 2027-01-31T09:00:00Z")
	return at, err == nil
}

// FilterID reads a filter that is an identifier: empty when it is absent, none when it is
// spelled wrong.
func FilterID[T ~string](l *ListRequest, name, prefix string, none T) T {
	text, asked := l.Params.String(name, &l.Rules)
	if !asked {
		return ""
	}
	if id := KnownID[T](text, prefix); id != "" {
		return id
	}
	return none
}
