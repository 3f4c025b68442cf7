package main

import (
	"cmp"
	"context"
	_ "embed" // for the documents
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/sluicehq/sluice/deploy/harness"
)

// What is made of the custom node and the workflow.
var (
	//go:embed custom-node.json
	customNode []byte
	//go:embed nodes.json
	nodes json.RawMessage
	//go:embed edges.json
	edges json.RawMessage
)

// health is how a custom node's endpoint answers.
type health struct {
	Status, Code, Message string
	LatencyMs             float64
}

// create makes everything, and prints the environment of the service.
func (c customer) create(ctx context.Context, service string) error {
	node, err := c.createNode(ctx, service+"/nodes")
	if err != nil {
		return err
	}
	// The service may start later: an endpoint that does not answer yet is no obstacle.
	c.printf("# The custom node is %s: %s", node.Health.Status, cmp.Or(node.Health.Message, "its endpoint lives."))
	workflow, err := harness.Publish(ctx, c.Post, "Example: score leads", nodes, edges)
	if err != nil {
		return err
	}
	trigger, err := harness.CreateTrigger(ctx, c.Post, workflow.VersionID, "A lead came in", "webhook", map[string]any{
		"webhookConfig": map[string]any{"event": "lead.created"}, "retryPolicy": map[string]any{"maxRetries": 3, "backoffMs": 100, "maxBackoffMs": 1000},
	})
	if err != nil {
		return err
	}
	var endpoint struct{ ID, Secret string }
	err = c.Post(ctx, "/webhook-endpoints", map[string]any{"url": service + "/webhooks", "description": "the example service"}, &endpoint)
	if err != nil {
		return err
	}
	c.printf("NODE_SECRETS=%s", node.NodeSecret)
	c.printf("WEBHOOK_SECRETS=%s", endpoint.Secret)
	c.printf("CUSTOM_NODE_ID=%s", node.ID)
	c.printf("TRIGGER_ID=%s", trigger)
	c.printf("WEBHOOK_ENDPOINT_ID=%s", endpoint.ID)
	return nil
}

// createdNode is a new custom node with the secret that signs its calls.
type createdNode struct {
	ID, NodeSecret string
	Health         health
}

// createNode defines the custom node. The node secret is shown once, with the tenant's
// first custom node; a tenant that has lost it makes another one.
func (c customer) createNode(ctx context.Context, endpoint string) (node createdNode, err error) {
	var draft map[string]any
	if err := json.Unmarshal(customNode, &draft); err != nil {
		return node, fmt.Errorf("custom-node.json: %w", err)
	}
	draft["endpoint"] = endpoint
	err = c.Post(ctx, "/custom-nodes", draft, &node)
	if err == nil && node.NodeSecret == "" {
		node.NodeSecret, err = c.rotateSecret(ctx, nil)
	}
	return node, err
}

// check asks the service whether it is healthy.
func (c customer) check(ctx context.Context) error {
	id, err := c.variable("CUSTOM_NODE_ID")
	if err != nil {
		return err
	}
	var h health
	if err := c.Post(ctx, "/custom-nodes/"+url.PathEscape(id)+"/check", nil, &h); err != nil {
		return err
	}
	if h.Status != "healthy" {
		return fmt.Errorf("the service is %s: %s (%s)", h.Status, h.Message, h.Code)
	}
	c.printf("The service is healthy: it answered in %v ms.", h.LatencyMs)
	return nil
}

// rotate makes another node secret and prints it.
func (c customer) rotate(ctx context.Context, seconds int) error {
	secret, err := c.rotateSecret(ctx, map[string]any{"graceSeconds": seconds})
	if err == nil {
		c.printf("NODE_SECRETS=%s", secret)
	}
	return err
}

func (c customer) rotateSecret(ctx context.Context, body any) (string, error) {
	var rotated struct{ Secret string }
	err := c.Post(ctx, "/custom-nodes/secret/rotate", body, &rotated)
	return rotated.Secret, err
}
