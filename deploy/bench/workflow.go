package main

import (
	"context"
	"net/http"

	"github.com/sluicehq/sluice/deploy/harness"
)

// workflow is a published one of a tenant of its own, with a trigger.
type workflow struct {
	harness.Tenant
	call loadRequest // starts a run
}

// httpNode is a node that calls out.
func httpNode(id, url string) map[string]any {
	return harness.Node(id, "httpRequest", map[string]any{"method": "POST", "url": url})
}

// newWorkflow makes a tenant and publishes the nodes as a chain.
func (e *env) newWorkflow(ctx context.Context, name string, nodes ...map[string]any) (w workflow, err error) {
	if w.Tenant, err = e.newTenant(ctx, name); err != nil {
		return w, err
	}
	var ids []string
	for _, n := range nodes {
		ids = append(ids, n["id"].(string))
	}
	post := e.client(w.SecretKey).Post
	published, err := harness.Publish(ctx, post, name, nodes, harness.Chain(ids...))
	if err != nil {
		return w, err
	}
	w.WorkflowVersionID = published.VersionID
	trigger, err := harness.CreateTrigger(ctx, post, published.VersionID, "Orders", "webhook", map[string]any{})
	w.call = loadRequest{
		Method: http.MethodPost, Path: "/triggers/" + trigger + "/webhook", APIKeys: []string{w.SecretKey},
		Body: `{"eventData":{"id":"order-1042","amount":1250,"customer":{"name":"Ada","country":"PT"}}}`,
	}
	return w, err
}
