package httpapi

import (
	"net/http"
	"sync"

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

// listBody is the list envelope. The members of [pageFrame], and data, are for page-based
// clients.
type listBody struct {
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

// answerList writes a page.
func answerList[T any](c *gin.Context, l *listRequest, found domain.Page[T], render func(T) any) error {
	return writeJSON(c, http.StatusOK, renderList(l, found, render))
}

func renderList[T any](l *listRequest, found domain.Page[T], render func(T) any) listBody {
	body := listBody{Items: []any{}, listFrame: frameOf(found)}
	for _, item := range found.Items {
		body.Items = append(body.Items, render(item))
	}
	if l.PageBased {
		page := pageOf(found)
		body.Data, body.pageFrame = &body.Items, &page
	}
	return body
}

// answerKnownList writes a page that may be the very one that was answered before, as
// lists of workflows and triggers are while nothing changes: then its text is the one
// from before too.
func answerKnownList[T any](a *API, c *gin.Context, l *listRequest, found domain.Page[T], render func(T) any) error {
	if len(found.Items) == 0 {
		return answerList(c, l, found, render)
	}
	key := pageKey{&found.Items[0], l.PageBased}
	if text, ok := a.pages.get(key); ok {
		write(c, http.StatusOK, text)
		return nil
	}
	text, err := encode(renderList(l, found, render))
	if err != nil {
		return err
	}
	a.pages.put(key, text)
	write(c, http.StatusOK, text)
	return nil
}

// The texts of pages that are kept have so many bytes together, with the room that was
// made for them, and no one of them has more than maxPageText.
const (
	maxPageBytes = 4 << 20
	maxPageText  = 128 << 10
)

// pages keeps the texts of the last pages. Holding on to a page's first record keeps
// its address from being another page's.
type pages struct {
	mu    sync.RWMutex
	kept  map[pageKey][]byte
	bytes int
}

// pageKey tells pages apart: the address of the first record, and which envelope.
type pageKey struct {
	first     any
	pageBased bool
}

func (p *pages) get(key pageKey) ([]byte, bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	text, ok := p.kept[key]
	return text, ok
}

func (p *pages) put(key pageKey, text []byte) {
	if len(text) > maxPageText {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bytes += cap(text) - cap(p.kept[key])
	if p.kept == nil || p.bytes > maxPageBytes {
		p.kept, p.bytes = make(map[pageKey][]byte), cap(text)
	}
	p.kept[key] = text
}
