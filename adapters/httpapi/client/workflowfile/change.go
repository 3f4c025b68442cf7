package workflowfile

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/adapters/httpapi/client"
)

// change sends what changes a record that is still as it was read.
func (g *Gateway) change(ctx context.Context, path string, seen record, body any) error {
	etag, err := g.fresh(ctx, path, seen)
	if err != nil {
		return err
	}
	return g.do(ctx, http.MethodPatch, path, nil, body, nil, client.IfMatch(etag))
}

// remove deletes a record that is still as it was read.
func (g *Gateway) remove(ctx context.Context, path string, seen record) error {
	etag, err := g.fresh(ctx, path, seen)
	if err != nil {
		return err
	}
	return g.do(ctx, http.MethodDelete, path, nil, nil, nil, client.IfMatch(etag))
}

// planWorkflow makes the record of the workflow, or changes it.
func (p *Plan) planWorkflow(t *target) {
	g, f, was := p.gateway, t.file.document, t.current.document
	if t.id == "" {
		p.step(t, fmt.Sprintf("create the workflow %q", t.file.Name), func(ctx context.Context) (string, error) {
			body := map[string]any{"name": t.file.Name}
			for _, name := range []string{"description", "metadata", "runRetentionDays"} {
				if value, ok := f[name]; ok {
					body[name] = value
				}
			}
			if g.subTenant != "" {
				body["subTenantId"] = g.subTenant
			}
			var made record
			if err := g.do(ctx, http.MethodPost, "/workflows", nil, body, &made); err != nil {
				return "", err
			}
			t.id = made.text("id")
			p.state.names.add(toWorkflow, t.file.Name, t.id)
			if f["isActive"] != false {
				return "", nil
			}
			return "", g.change(ctx, "/workflows/"+t.id, made, map[string]any{"isActive": false})
		})
		return
	}
	body := map[string]any{}
	was = maps.Clone(was)
	sayActive(was, f)
	for _, name := range []string{"description", "metadata", "runRetentionDays", "isActive"} {
		if !sameMember(was, f, name) {
			body[name] = f[name]
		}
	}
	if len(body) == 0 {
		return
	}
	if _, ok := body["metadata"]; ok {
		body["metadata"] = metadataPatch(was, f)
	}
	p.step(t, fmt.Sprintf("change the workflow %q: %s", t.file.Name, strings.Join(slices.Sorted(maps.Keys(body)), ", ")), func(ctx context.Context) (string, error) {
		return "", g.change(ctx, "/workflows/"+t.id, t.current.record, body)
	})
}

func sameMember(a, b map[string]any, name string) bool {
	return inline(a[name], shape{}) == inline(b[name], shape{})
}

// metadataPatch takes pairs away that the file does not have.
func metadataPatch(was, file map[string]any) map[string]any {
	patch := map[string]any{}
	before, _ := was["metadata"].(map[string]any)
	for name := range before {
		patch[name] = nil
	}
	after, _ := file["metadata"].(map[string]any)
	maps.Copy(patch, after)
	return patch
}

// sameGraph says whether nodes and edges are the same.
func sameGraph(a, b map[string]any) bool {
	return a != nil && same(graph(map[string]any{}, a), graph(map[string]any{}, b))
}

// planVersion makes a version with the file's graph where neither the active one nor the newest has it. A draft that somebody
// draws stays as it is.
func (p *Plan) planVersion(t *target) {
	t.version = t.current.newest.text("id")
	if t.current.active != nil && sameGraph(t.current.document, t.file.document) {
		t.version = t.current.active.text("id")
		return
	}
	if t.current.newest != nil && sameGraph(t.current.drawn, t.file.document) {
		return
	}
	t.version = ""
	p.step(t, fmt.Sprintf("create a version of %q, %s", t.file.Name, counted(t.file.document)), func(ctx context.Context) (string, error) {
		body := graph(map[string]any{"workflowId": t.id}, t.file.document)
		var err error
		if body["nodes"], err = p.sent(t, "nodes", body["nodes"]); err != nil {
			return "", err
		}
		eachNode(body, func(_ string, n map[string]any) {
			eachSource(n, func(config map[string]any) {
				if config["source"] != nil {
					config["source"] = joined(config["source"])
				}
			})
		})
		var made record
		if err := p.gateway.do(ctx, http.MethodPost, "/workflow-versions", nil, body, &made); err != nil {
			return "", err
		}
		t.version = made.text("id")
		return "version " + fmt.Sprint(made["version"]), nil
	})
}

func counted(document map[string]any) string {
	nodes, _ := document["nodes"].([]any)
	return fmt.Sprintf("nodes: %d", len(nodes))
}

// sent is a value of the file with identifiers in place of names.
func (p *Plan) sent(t *target, path string, value any) (any, error) {
	var found Problems
	value = p.state.names.identified(path, value, func(path, message string) { found = append(found, t.file.problem(path, message)) })
	return value, found.orNil()
}

// planPublish makes the file's graph the active version.
func (p *Plan) planPublish(t *target) {
	isActive := t.current.active != nil && t.version == t.current.active.text("id")
	switch {
	case isActive:
		return
	case t.file.draft():
		if t.current.active != nil {
			p.Notes = append(p.Notes, fmt.Sprintf("%q is active, and its file says that it is a draft: neither it nor its triggers change", t.file.Name))
		}
		return
	case !p.options.Publish:
		p.Notes = append(p.Notes, fmt.Sprintf("%q is not published: that takes --publish", t.file.Name))
		return
	}
	p.step(t, fmt.Sprintf("publish %q", t.file.Name), func(ctx context.Context) (string, error) {
		var answer struct {
			Warnings []struct{ Field, Message string } `json:"warnings"`
		}
		path := "/workflow-versions/" + t.version
		if t.version == t.current.newest.text("id") { // which somebody may have drawn on since
			if _, err := p.gateway.fresh(ctx, path, t.current.newest); err != nil {
				return "", err
			}
		}
		err := p.gateway.do(ctx, http.MethodPost, path+"/publish", nil, map[string]any{"triggers": "move"}, &answer)
		warnings := make([]string, len(answer.Warnings))
		for i, w := range answer.Warnings {
			warnings[i] = "warning: " + t.file.problem(w.Field, w.Message).String()
		}
		return strings.Join(warnings, "\n"), err
	})
}
