package main

import (
	"context"
	"fmt"
	"net/http"

	"github.com/sluicehq/sluice/deploy/harness"
)

// tenant is one whose clients call the gateways.
type tenant struct {
	name      string
	id        string
	key       string
	triggers  map[string]string    // from a scenario's name to its trigger
	workflows map[string]published // from a scenario's name
}

// published is a workflow with two versions that do the same.
type published struct {
	id       string
	versions [2]string
}

// newTenant makes a tenant with a workflow of every scenario, and an endpoint for the ends
// of its runs.
func (e *env) newTenant(ctx context.Context, name string) (*tenant, error) {
	made, err := e.gateways[0].CreateTenant(ctx, name)
	if err != nil {
		return nil, err
	}
	t := &tenant{name: name, id: made.ID, key: made.SecretKey, triggers: make(map[string]string), workflows: make(map[string]published)}
	if err := e.gateways[0].LiftLimits(ctx, t.id); err != nil {
		return nil, err
	}
	post := e.post(t)
	var endpoint struct{ Secret string }
	err = post(ctx, "/webhook-endpoints", map[string]any{
		"url": e.callsTo + "/events/" + name, "events": []string{"run.completed", "run.failed", "run.cancelled"}, "includeChildren": true,
	}, &endpoint)
	if err != nil {
		return nil, err
	}
	e.listener.endpoint(name, endpoint.Secret)
	for _, sc := range e.scenarios {
		workflow, nodes, err := sc.publish(ctx, post)
		if err == nil {
			t.triggers[sc.name], err = harness.CreateTrigger(ctx, post, workflow.VersionID, sc.name, sc.triggerType(), sc.triggerConfig())
		}
		if err == nil {
			var other string
			other, err = otherVersion(ctx, post, workflow, nodes, sc.edges)
			t.workflows[sc.name] = published{workflow.ID, [2]string{workflow.VersionID, other}}
		}
		if err != nil {
			return nil, fmt.Errorf("workflow %s: %w", sc.name, err)
		}
	}
	return t, nil
}

// post makes things of a tenant over the API.
func (e *env) post(t *tenant) harness.Post {
	return func(ctx context.Context, path string, body, into any) error {
		return e.clients.call(ctx, t.key, harness.Request{Method: http.MethodPost, Path: path, Body: body}, into)
	}
}

// get reads what the API shows to a tenant.
func (e *env) get(t *tenant) harness.Get {
	return func(ctx context.Context, path string, into any) error {
		return e.clients.call(ctx, t.key, harness.Request{Method: http.MethodGet, Path: path}, into)
	}
}
