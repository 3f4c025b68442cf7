package httpapi

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// headerSDK is sent by generated clients, which read the page-based members.
const headerSDK = "X-Stainless-Lang"

// listRequest is what a list operation was asked for. Its getters record what is
// wrong with the query, and err reports all of it at once.
type listRequest struct {
	jsonread.ListQuery
	query jsonread.Query
	rules domain.Rules
}

// readList reads the parameters that all lists have in common.
func readList(c *gin.Context, sortable ...string) (*listRequest, error) {
	query, err := jsonread.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	l := &listRequest{query: query}
	l.ListQuery = query.List(&l.rules, sortable...)
	l.PageBased = l.PageBased || c.GetHeader(headerSDK) != ""
	return l, nil
}

func (l *listRequest) err() error {
	return l.rules.Err("list_invalid", "The list parameters are not valid.")
}

func (l *listRequest) wanted() domain.Query {
	return domain.Query{PageRequest: l.Page, Sorting: domain.Sorting{Field: l.SortBy, Ascending: !l.Descending}}
}

// subTenant reads the filter subTenantId; nil when it is absent.
func (l *listRequest) subTenant() *tenant.SubTenantID {
	text, present := l.query.String("subTenantId", &l.rules)
	if !present {
		return nil
	}
	sub := tenant.SubTenantID(text)
	sub.Check(&l.rules, "subTenantId")
	return &sub
}

// listBody is the list envelope. The last three members are for page-based clients.
type listBody struct {
	Items    []any  `json:"items"`
	Total    int    `json:"total"`
	Limit    int    `json:"limit"`
	Offset   int    `json:"offset"`
	HasMore  bool   `json:"hasMore"`
	Data     *[]any `json:"data,omitempty"`
	Page     *int   `json:"page,omitempty"`
	LastPage *int   `json:"lastPage,omitempty"`
}

// answerList writes a page.
func answerList[T any](c *gin.Context, l *listRequest, found domain.Page[T], render func(T) any) error {
	body := listBody{Items: []any{}, Total: found.Total, Limit: found.Limit, Offset: found.Offset, HasMore: found.HasMore()}
	for _, item := range found.Items {
		body.Items = append(body.Items, render(item))
	}
	if l.PageBased {
		page, last := found.Offset/found.Limit, max(0, (found.Total-1)/found.Limit)
		body.Data, body.Page, body.LastPage = &body.Items, &page, &last
	}
	return writeJSON(c, http.StatusOK, body)
}
