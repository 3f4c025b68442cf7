package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// lodger is one of the tenants.
type lodger struct {
	name     string
	id       string
	key      string
	triggers map[string]string // from a shape's name to its trigger
	versions map[string]string // likewise
}

// newLodger makes a tenant with every shape, and an endpoint that hears of every end of
// a run.
func (s *stage) newLodger(ctx context.Context, name string) (*lodger, error) {
	text, err := s.gateways[0].command(ctx, "tenant", "create", "--name", name, "--json")
	if err != nil {
		return nil, err
	}
	var made struct{ TenantID, SecretKey string }
	if err := json.Unmarshal(text, &made); err != nil {
		return nil, err
	}
	t := &lodger{name: name, id: made.TenantID, key: made.SecretKey, triggers: make(map[string]string), versions: make(map[string]string)}
	if _, err := s.gateways[0].command(ctx, "tenant", "update", t.id, "--secret-per-minute", "1000000", "--secret-concurrent", "100000"); err != nil {
		return nil, err
	}
	var endpoint struct{ Secret string }
	err = s.create(ctx, t, "/webhook-endpoints", map[string]any{
		"url": s.callsTo + "/events/" + name, "events": []string{"run.completed", "run.failed", "run.cancelled"},
	}, &endpoint)
	if err != nil {
		return nil, err
	}
	s.listener.endpoint(name, endpoint.Secret)
	for _, sh := range s.shapes {
		if err := s.publish(ctx, t, sh); err != nil {
			return nil, fmt.Errorf("workflow %s: %w", sh.name, err)
		}
	}
	return t, nil
}

// publish makes a workflow of a shape, with a trigger.
func (s *stage) publish(ctx context.Context, t *lodger, sh *shape) error {
	var workflow, version, trigger struct{ ID string }
	if err := s.create(ctx, t, "/workflows", map[string]any{"name": sh.name}, &workflow); err != nil {
		return err
	}
	draft := map[string]any{"workflowId": workflow.ID, "nodes": sh.nodes, "edges": sh.edges}
	if err := s.create(ctx, t, "/workflow-versions", draft, &version); err != nil {
		return err
	}
	got, ok := s.clients.until(ctx, request{key: t.key, method: http.MethodPost, path: "/workflow-versions/" + version.ID + "/publish"})
	if !ok || got.status != http.StatusOK {
		return fmt.Errorf("publish: %d %s", got.status, got.body)
	}
	config := map[string]any{"retryPolicy": retryPolicy}
	for _, member := range []string{"scheduleConfig", "webhookConfig"} {
		if of, ok := sh.trigger[member]; ok {
			config[member] = of
		}
	}
	err := s.create(ctx, t, "/triggers", map[string]any{
		"workflowVersionId": version.ID, "name": sh.name, "type": sh.trigger["type"], "config": config,
	}, &trigger)
	t.triggers[sh.name], t.versions[sh.name] = trigger.ID, version.ID
	return err
}

// create makes something over the API.
func (s *stage) create(ctx context.Context, t *lodger, path string, body, into any) error {
	got, ok := s.clients.until(ctx, request{key: t.key, method: http.MethodPost, path: path, body: body})
	if !ok || got.status != http.StatusCreated {
		return fmt.Errorf("POST %s: %d %s", path, got.status, got.body)
	}
	return json.Unmarshal(got.body, into)
}
