package contract

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"
)

// Route is an operation of the document.
type Route struct {
	Method      string
	Path        string // as in the document: /v1/gateway/triggers/{id}
	OperationID string
}

type route struct {
	Route
	operation *openapi3.Operation
}

// takesHead says whether HEAD is answered like the operation: a GET without a key.
func (r route) takesHead() bool {
	return r.Method == http.MethodGet && r.operation.Security != nil && len(*r.operation.Security) == 0
}

// Routes lists the operations of the document, sorted by path and method.
func (v *Validator) Routes() []Route {
	all := make([]Route, 0, len(v.routes))
	for _, r := range v.routes {
		all = append(all, r.Route)
	}
	return all
}

func routesOf(doc *openapi3.T) []route {
	var all []route
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			all = append(all, route{Route{method, path, op.OperationID}, op})
		}
	}
	slices.SortFunc(all, func(a, b route) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Method, b.Method))
	})
	return all
}

// match is where a request leads: operation is nil where the document has none.
type match struct {
	route
	values  map[string]string // of the parameters in the path
	methods []string          // that the path has
}

// find looks for the operation of a request. Where several paths fit, the one with
// the fewest parameters wins (OpenAPI 3.0.3, "Path Templating Matching").
func (v *Validator) find(r *http.Request) match {
	var best match
	bestPath := ""
	for _, candidate := range v.routes {
		values, ok := fit(candidate.Path, r.URL.EscapedPath())
		if !ok || bestPath != "" && strings.Count(candidate.Path, "{") > strings.Count(bestPath, "{") {
			continue
		}
		if candidate.Path != bestPath {
			best, bestPath = match{values: values}, candidate.Path
		}
		best.methods = append(best.methods, candidate.Method)
		if candidate.takesHead() {
			best.methods = append(best.methods, http.MethodHead)
		}
		if candidate.Method == r.Method || r.Method == http.MethodHead && candidate.takesHead() {
			best.route = candidate
		}
	}
	return best
}

// fit compares a path with a template, segment by segment.
func fit(template, path string) (values map[string]string, ok bool) {
	want, got := strings.Split(template, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return nil, false
	}
	values = map[string]string{}
	for i, segment := range want {
		if name, found := strings.CutPrefix(segment, "{"); found {
			value, err := url.PathUnescape(got[i])
			if err != nil {
				return nil, false
			}
			values[strings.TrimSuffix(name, "}")] = value
		} else if segment != got[i] {
			return nil, false
		}
	}
	return values, true
}

// routerRoute is a match as kin-openapi's validation of requests wants it.
func routerRoute(doc *openapi3.T, found match) *routers.Route {
	item := doc.Paths.Value(found.Path)
	return &routers.Route{Spec: doc, Path: found.Path, PathItem: item, Method: found.Method, Operation: found.operation}
}
