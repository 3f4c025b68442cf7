package httpapi_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sluicehq/sluice/adapters/httpapi"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
)

type watcherKey string

// watcher keeps what it observes. It marks the context of each request.
type watcher struct {
	name  string
	order *[]string
	began []string
	ended []httpapi.Observation
	marks []any
}

func (w *watcher) Begin(r *http.Request, route string) context.Context {
	w.began = append(w.began, r.Method+" "+route)
	if w.order != nil {
		*w.order = append(*w.order, "begin "+w.name)
	}
	return context.WithValue(r.Context(), watcherKey(w.name), w.name)
}

func (w *watcher) End(ctx context.Context, o httpapi.Observation) {
	w.ended = append(w.ended, o)
	w.marks = append(w.marks, ctx.Value(watcherKey(w.name)))
	if w.order != nil {
		*w.order = append(*w.order, "end "+w.name)
	}
}

// markedNodes keeps what it finds in the context.
type markedNodes struct {
	inbound.Nodes
	found *[]any
}

func (m markedNodes) Registry(ctx context.Context, who tenant.Caller) (*node.Registry, error) {
	*m.found = append(*m.found, ctx.Value(watcherKey("outer")), ctx.Value(watcherKey("inner")))
	return m.Nodes.Registry(ctx, who)
}

func TestObserversSeeEveryRequestFromOutside(t *testing.T) {
	var order []string
	var found []any
	outer, inner := &watcher{name: "outer", order: &order}, &watcher{name: "inner", order: &order}
	g := newGateway(t, func(o *httpapi.Options, p *httpapi.Ports) {
		o.Observers = []httpapi.Observer{outer, inner}
		p.Nodes = markedNodes{p.Nodes, &found}
	})
	c := g.customer("Acme")
	got := g.send(http.MethodGet, "/v1/gateway/custom-nodes/registry", c.public, "", "X-Request-Id", "mine")
	if diff := cmp.Diff([]string{"begin outer", "begin inner", "end inner", "end outer"}, order); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]any{"outer", "inner"}, found); diff != "" {
		t.Errorf("the handler's context: %s", diff)
	}
	want := []httpapi.Observation{{
		Method: "GET", Route: "/v1/gateway/custom-nodes/registry", Status: 200, Bytes: len(got.body),
		RequestID: "mine", Tenant: c.id, KeyType: tenant.Public,
	}}
	for _, w := range []*watcher{outer, inner} {
		if diff := cmp.Diff(want, w.ended, cmpopts.IgnoreFields(httpapi.Observation{}, "Took")); diff != "" || w.ended[0].Took <= 0 {
			t.Errorf("%s: took %v, %s", w.name, w.ended[0].Took, diff)
		}
		if !slices.Equal(w.marks, []any{w.name}) {
			t.Errorf("%s ended with the context of %v", w.name, w.marks)
		}
	}
}

func TestObserversLearnTheErrorAndTheTemplateAndNothingTheClientWrote(t *testing.T) {
	w := &watcher{}
	g := newGateway(t, func(o *httpapi.Options, _ *httpapi.Ports) { o.Observers = []httpapi.Observer{w} })
	c := g.customer("Acme")
	g.send(http.MethodGet, "/v1/gateway/workflows/wf_1?search=x", c.secret, "", "X-Request-Id", "1")
	g.send(http.MethodGet, "/v1/gateway/workflows", "sk_unknown", "", "X-Request-Id", "2")
	g.send(http.MethodGet, "/made/up", "", "", "X-Request-Id", "3")
	g.send(http.MethodDelete, "/v1/gateway/workflows", c.secret, "", "X-Request-Id", "4")
	want := []httpapi.Observation{
		{Method: "GET", Route: "/v1/gateway/workflows/:id", Status: 404, RequestID: "1", Tenant: c.id, KeyType: tenant.Secret, Code: "workflow_not_found"},
		{Method: "GET", Route: "/v1/gateway/workflows", Status: 401, RequestID: "2", Code: "unauthenticated"},
		{Method: "GET", Status: 404, RequestID: "3", Code: "route_not_found"},
		{Method: "DELETE", Status: 405, RequestID: "4", Tenant: c.id, KeyType: tenant.Secret, Code: "method_not_allowed"},
	}
	if diff := cmp.Diff(want, w.ended, cmpopts.IgnoreFields(httpapi.Observation{}, "Took", "Bytes")); diff != "" {
		t.Error(diff)
	}
	began := []string{"GET /v1/gateway/workflows/:id", "GET /v1/gateway/workflows", "GET ", "DELETE "}
	if diff := cmp.Diff(began, w.began); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(strings.Join(w.began, " "), "wf_1") {
		t.Error("an identifier is in a route")
	}
}
