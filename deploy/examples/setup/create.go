package main

import (
	"context"
	_ "embed" // for the documents
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
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

// create makes everything, and prints the environment of the service.
func (c customer) create(ctx context.Context, service string) error {
	var draft object
	if err := json.Unmarshal(customNode, &draft); err != nil {
		return fmt.Errorf("custom-node.json: %w", err)
	}
	node, secret, err := c.createNode(ctx, draft, service+"/nodes")
	if err != nil {
		return err
	}
	// The service may start later: an endpoint that does not answer yet is no obstacle.
	c.say("# The custom node is %s: %s", node.object("health").text("status"), or(node.object("health").text("message"), "its endpoint lives."))
	trigger, err := c.createWorkflow(ctx)
	if err != nil {
		return err
	}
	endpoint, err := c.post(ctx, "/webhook-endpoints", object{"url": service + "/webhooks", "description": "the example service"})
	if err != nil {
		return err
	}
	c.say("NODE_SECRETS=%s", secret)
	c.say("WEBHOOK_SECRETS=%s", endpoint.text("secret"))
	c.say("CUSTOM_NODE_ID=%s", node.text("id"))
	c.say("TRIGGER_ID=%s", trigger)
	c.say("WEBHOOK_ENDPOINT_ID=%s", endpoint.text("id"))
	return nil
}

// createNode defines the custom node. The node secret is shown once, with the tenant's
// first custom node; a tenant that has lost it makes another one.
func (c customer) createNode(ctx context.Context, draft object, endpoint string) (node object, secret string, err error) {
	draft["endpoint"] = endpoint
	if node, err = c.post(ctx, "/custom-nodes", draft); err != nil {
		return nil, "", err
	}
	if secret = node.text("nodeSecret"); secret != "" {
		return node, secret, nil
	}
	rotated, err := c.post(ctx, "/custom-nodes/secret/rotate", nil)
	return node, rotated.text("secret"), err
}

// createWorkflow publishes the workflow and gives it a trigger, whose id it returns.
func (c customer) createWorkflow(ctx context.Context) (trigger string, err error) {
	workflow, err := c.post(ctx, "/workflows", object{"name": "Example: score leads"})
	if err != nil {
		return "", err
	}
	version, err := c.post(ctx, "/workflow-versions", object{"workflowId": workflow["id"], "nodes": nodes, "edges": edges})
	if err != nil {
		return "", err
	}
	if _, err := c.post(ctx, "/workflow-versions/"+version.text("id")+"/publish", nil); err != nil {
		return "", err
	}
	made, err := c.post(ctx, "/triggers", object{
		"workflowVersionId": version["id"], "name": "A lead came in", "type": "webhook",
		"config": object{"webhookConfig": object{"event": "lead.created"}, "retryPolicy": object{"maxRetries": 3, "backoffMs": 100, "maxBackoffMs": 1000}},
	})
	return made.text("id"), err
}

// check asks the service whether it lives.
func (c customer) check(ctx context.Context) error {
	id, err := c.needs("CUSTOM_NODE_ID")
	if err != nil {
		return err
	}
	health, err := c.post(ctx, "/custom-nodes/"+url.PathEscape(id)+"/check", nil)
	if err != nil {
		return err
	}
	if health.text("status") != "healthy" {
		return fmt.Errorf("the service is %s: %s (%s)", health.text("status"), health.text("message"), health.text("code"))
	}
	c.say("The service is healthy: it answered in %v ms.", health["latencyMs"])
	return nil
}

// rotate makes another node secret.
func (c customer) rotate(ctx context.Context, seconds int) error {
	made, err := c.call(ctx, http.MethodPost, "/custom-nodes/secret/rotate", object{"graceSeconds": seconds})
	if err != nil {
		return err
	}
	c.say("NODE_SECRETS=%s", made.text("secret"))
	return nil
}
