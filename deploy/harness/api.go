package harness

import (
	"context"
	"fmt"
	"strings"
)

// Get reads what a path of the API shows into a value.
type Get func(ctx context.Context, path string, into any) error

// PageSize is the most items that a list gives at once.
const PageSize = 100

// List reads all pages of a list, the oldest item first.
func List[T any](ctx context.Context, get Get, path string) (items []T, total int, err error) {
	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}
	for more := true; more; {
		var page struct {
			Items   []T
			Total   int
			HasMore bool
		}
		err := get(ctx, fmt.Sprintf("%s"+separator+"sortBy=createdAt&sortOrder=asc&limit=%d&offset=%d", path, PageSize, len(items)), &page)
		if err != nil {
			return nil, 0, err
		}
		items, total, more = append(items, page.Items...), page.Total, page.HasMore
	}
	return items, total, nil
}

// Post sends a body to a path of the API and reads the answer of a success into a value.
type Post func(ctx context.Context, path string, body, into any) error

// Workflow is one that was published.
type Workflow struct{ ID, VersionID string }

// Publish makes a workflow with one version, which it publishes.
func Publish(ctx context.Context, post Post, name string, nodes, edges any) (w Workflow, err error) {
	var workflow, version struct{ ID string }
	if err := post(ctx, "/workflows", map[string]any{"name": name}, &workflow); err != nil {
		return w, err
	}
	draft := map[string]any{"workflowId": workflow.ID, "nodes": nodes, "edges": edges}
	if err := post(ctx, "/workflow-versions", draft, &version); err != nil {
		return w, err
	}
	return Workflow{workflow.ID, version.ID}, post(ctx, "/workflow-versions/"+version.ID+"/publish", nil, nil)
}

// CreateTrigger makes a trigger of a version and returns its id.
func CreateTrigger(ctx context.Context, post Post, versionID, name, kind string, config any) (string, error) {
	var trigger struct{ ID string }
	err := post(ctx, "/triggers", map[string]any{"workflowVersionId": versionID, "name": name, "type": kind, "config": config}, &trigger)
	return trigger.ID, err
}

// Node describes a node of a version.
func Node(id, kind string, config map[string]any) map[string]any {
	return map[string]any{"id": id, "type": kind, "version": "1.0.0", "name": id, "config": config}
}

// Transform describes a node that computes an expression.
func Transform(id, expression string) map[string]any {
	return Node(id, "transform", map[string]any{"transformType": "expression", "expression": expression})
}

// Edge leads from one node to another.
func Edge(from, to string) map[string]any {
	return map[string]any{"sourceNodeId": from, "targetNodeId": to}
}

// Chain leads from each node to the next.
func Chain(ids ...string) []map[string]any {
	edges := []map[string]any{}
	for i := range ids[1:] {
		edges = append(edges, Edge(ids[i], ids[i+1]))
	}
	return edges
}
