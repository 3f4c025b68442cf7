package workflowfile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sluicehq/sluice/adapters/httpapi/client"
)

// Gateway is a tenant's part of a gateway, or that of one of its sub-tenants.
type Gateway struct {
	client    *client.Client
	subTenant string // empty for what belongs to none
}

// NewGateway returns what a client reaches. With an empty sub-tenant, that are the workflows which belong to none.
func NewGateway(c *client.Client, subTenant string) *Gateway { return &Gateway{c, subTenant} }

// record is a record as the API shows it, with its numbers as they are spelled.
type record map[string]any

func (r record) text(name string) string {
	s, _ := r[name].(string)
	return s
}

// UnmarshalJSON keeps the spelling of numbers.
func (r *record) UnmarshalJSON(content []byte) error {
	dec := json.NewDecoder(bytes.NewReader(content))
	dec.UseNumber()
	return dec.Decode((*map[string]any)(r))
}

// maxWaits is how often a request waits for the rate limit.
const maxWaits = 5

// do sends a request, and again where too many were sent.
func (g *Gateway) do(ctx context.Context, method, path string, query url.Values, body, answer any, options ...client.Option) error {
	for wait := 0; ; wait++ {
		err := g.client.Do(ctx, method, "/v1/gateway"+path, query, body, answer, options...)
		var refused *client.RequestError
		if !errors.As(err, &refused) || refused.Status != http.StatusTooManyRequests || wait == maxWaits {
			return err
		}
		seconds, unread := strconv.Atoi(refused.Header.Get("Retry-After"))
		if unread != nil || seconds > 60 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Duration(max(seconds, 1)) * time.Second):
		}
	}
}

func (g *Gateway) get(ctx context.Context, path string, options ...client.Option) (found record, err error) {
	err = g.do(ctx, http.MethodGet, path, nil, nil, &found, options...)
	return found, err
}

// all reads every page of a list.
func (g *Gateway) all(ctx context.Context, path string, filters ...url.Values) (items []record, err error) {
	for {
		var page struct {
			Items   []record `json:"items"`
			HasMore bool     `json:"hasMore"`
		}
		query := url.Values{"limit": {"100"}, "offset": {strconv.Itoa(len(items))}, "sortBy": {"createdAt"}, "sortOrder": {"asc"}}
		for _, f := range filters {
			maps.Copy(query, f)
		}
		if err := g.do(ctx, http.MethodGet, path, query, nil, &page); err != nil {
			return nil, err
		}
		if items = append(items, page.Items...); !page.HasMore || len(page.Items) == 0 {
			return items, nil
		}
	}
}

// present is a workflow that the gateway has.
type present struct {
	*Workflow
	record         record
	active, newest record             // versions; nil for none
	drawn          map[string]any     // what the newest version holds, as a file has it; nil for none
	triggers       map[string]*firing // of these versions, by their keys
}

// firing is a trigger that the gateway has.
type firing struct {
	record record
	hook   record // nil for none
}

// state is what the gateway has.
type state struct {
	workflows []*present
	byName    map[string]*present
	names     names
}

// Read returns the workflows of the gateway as files have them: of each the active version, or the newest where none is.
// What a file cannot say is returned as Problems, next to the rest.
func (g *Gateway) Read(ctx context.Context) ([]*Workflow, error) {
	s, found, err := g.read(ctx, nil)
	if err != nil {
		return nil, err
	}
	all := make([]*Workflow, len(s.workflows))
	for i, p := range s.workflows {
		all[i] = p.Workflow
	}
	return all, found.orNil()
}

// read reads the workflows that are wanted; nil for all.
func (g *Gateway) read(ctx context.Context, wanted map[string]bool) (s *state, found Problems, err error) {
	s = &state{byName: map[string]*present{}, names: newNames()}
	workflows, err := g.all(ctx, "/workflows")
	if err != nil {
		return nil, nil, err
	}
	for _, r := range workflows {
		if r.text("subTenantId") == g.subTenant {
			p := &present{Workflow: &Workflow{Name: r.text("name")}, record: r}
			s.names.add(toWorkflow, p.Name, r.text("id"))
			s.workflows = append(s.workflows, p)
			s.byName[p.Name] = p
		}
	}
	if err := g.readConnections(ctx, s.names); err != nil {
		return nil, nil, err
	}
	triggers, err := g.all(ctx, "/triggers")
	if err != nil {
		return nil, nil, err
	}
	byVersion := map[string][]record{}
	for _, r := range triggers {
		byVersion[r.text("workflowVersionId")] = append(byVersion[r.text("workflowVersionId")], r)
	}
	for _, p := range s.workflows {
		if wanted != nil && !wanted[p.Name] {
			continue
		}
		problems, err := g.readWorkflow(ctx, p, byVersion, s.names)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", p.Name, err)
		}
		found = append(found, problems...)
	}
	return s, found, nil
}

// readConnections learns of the connections that the workflows may use. One of their sub-tenant comes before a shared one of
// the same name.
func (g *Gateway) readConnections(ctx context.Context, into names) error {
	connections, err := g.all(ctx, "/connections")
	var refused *client.RequestError
	if errors.As(err, &refused) && refused.Status == http.StatusForbidden {
		into.hidden[toConnection] = refused.Body.Message
		return nil
	}
	for _, own := range []bool{true, false} {
		for _, r := range connections {
			isOwn := r.text("subTenantId") == g.subTenant
			if isOwn == own && (own || r.text("subTenantId") == "" && r["shared"] == true && len(into.ids[toConnection][r.text("name")]) == 0) {
				into.add(toConnection, r.text("name"), r.text("id"))
			}
		}
	}
	return err
}

func (g *Gateway) readWorkflow(ctx context.Context, p *present, triggers map[string][]record, known names) (Problems, error) {
	one := func(filter url.Values) (record, error) {
		var page struct {
			Items []record `json:"items"`
		}
		filter.Set("workflowId", p.record.text("id"))
		filter.Set("limit", "1")
		if err := g.do(ctx, http.MethodGet, "/workflow-versions", filter, nil, &page); err != nil || len(page.Items) == 0 {
			return nil, err
		}
		return page.Items[0], nil
	}
	var err error
	if p.active, err = one(url.Values{"isActive": {"true"}}); err != nil {
		return nil, err
	}
	if p.newest, err = one(url.Values{"sortBy": {"version"}, "sortOrder": {"desc"}}); err != nil {
		return nil, err
	}
	document := map[string]any{"draft": p.active == nil}
	for name, value := range p.record {
		if _, known := fileShape.named(name); known {
			document[name] = value
		}
	}
	attached := triggers[p.active.text("id")] // those of a draft are whoever's draws it
	if p.active == nil {
		if attached, err = g.all(ctx, "/triggers", url.Values{"workflowId": {p.record.text("id")}}); err != nil {
			return nil, err
		}
	}
	found, err := g.readTriggers(ctx, p, attached)
	if err != nil {
		return nil, err
	}
	document["triggers"] = found
	if p.newest != nil {
		p.drawn, _ = p.describe(graph(map[string]any{}, p.newest), known)
	}
	shown := p.active
	if shown == nil {
		shown = p.newest
	}
	var problems Problems
	p.document, problems = p.describe(graph(document, shown), known)
	return problems, nil
}

// graph puts the nodes and the edges of a version into a document.
func graph(into map[string]any, version record) map[string]any {
	into["nodes"], into["edges"] = []any{}, []any{}
	if version != nil {
		into["nodes"], into["edges"] = version["nodes"], version["edges"]
	}
	return into
}

// readTriggers reads the hooks of triggers, and returns them as files have them.
func (g *Gateway) readTriggers(ctx context.Context, p *present, attached []record) (all []any, err error) {
	p.triggers = map[string]*firing{}
	key := keys()
	for _, r := range attached {
		f := &firing{record: r}
		shown := map[string]any{}
		for name, value := range r {
			shown[name] = value
		}
		if r.text("type") == "webhook" {
			f.hook, err = g.get(ctx, "/triggers/"+url.PathEscape(r.text("id"))+"/hook")
			var refused *client.RequestError
			if errors.As(err, &refused) && refused.Status == http.StatusNotFound {
				err = nil
			}
			if err != nil {
				return nil, err
			}
			if f.hook != nil {
				shown["hook"] = map[string]any(f.hook)
			}
		}
		p.triggers[key(r)] = f
		all = append(all, shown)
	}
	return all, nil
}

// keys returns a function that names each trigger of a workflow, those that have the same name and type by their order.
func keys() func(trigger map[string]any) string {
	seen := map[string]int{}
	return func(trigger map[string]any) string {
		name := fmt.Sprintf("%v %v", trigger["type"], trigger["name"])
		seen[name]++
		return fmt.Sprintf("%s %d", name, seen[name])
	}
}

// redacted is what who may not see a text is shown.
const redacted = "[redacted]"

// describe makes the document of a file of what the gateway shows, and says what of it a file cannot have.
func (p *present) describe(document map[string]any, known names) (described map[string]any, found Problems) {
	report := func(path, message string) {
		found = append(found, Problem{File: p.Name, Path: path, Message: message})
	}
	name := document["name"]
	document = known.named(document, report).(map[string]any) // an object stays one, and this one is a copy
	document["name"] = name
	triggerNames := map[string]string{}
	for _, f := range p.triggers {
		triggerNames[f.record.text("id")] = f.record.text("name")
	}
	eachNode(document, func(path string, n map[string]any) {
		config, _ := n["config"].(map[string]any)
		kind, _ := n["type"].(string)
		id, _ := config["_triggerId"].(string)
		if !strings.HasPrefix(kind, "trigger_") || id == "" {
			return
		}
		if name := triggerNames[id]; name != n["name"] { // a trigger starts at the node of its name
			report(join(path, "name"), fmt.Sprintf("must be that of the trigger %q which it stands for: files have no identifiers", name))
		}
		delete(config, "_triggerId")
	})
	replaced("", document["nodes"], func(path string, value any) (any, bool) {
		if text, _ := value.(string); strings.Contains(text, redacted) {
			report("nodes"+path, "is hidden from this key, which may only read; use a connection there, or a key that may change workflows")
		}
		return nil, false
	})
	for _, one := range withTriggers(document) {
		showOnlyInactive(one)
	}
	return canonical(document), found
}

// withTriggers are a document and its triggers.
func withTriggers(document map[string]any) []any {
	triggers, _ := document["triggers"].([]any)
	return append([]any{document}, triggers...)
}

// showOnlyInactive leaves out that a workflow, a trigger and its hook are active.
func showOnlyInactive(value any) {
	members, _ := value.(map[string]any)
	if hook, ok := members["hook"]; ok {
		showOnlyInactive(hook)
	}
	if members["isActive"] == true {
		delete(members, "isActive")
	}
}
