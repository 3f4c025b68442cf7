package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// flow is a published workflow of a tenant of its own, with a trigger that calls start.
type flow struct {
	tenantKeys
	call question // starts a run
}

// flowNode is a node of a workflow to be measured; each is followed by the next.
type flowNode struct {
	ID      string         `json:"id"`
	Type    string         `json:"type"`
	Version string         `json:"version"`
	Name    string         `json:"name"`
	Config  map[string]any `json:"config"`
}

// transform is a node that only computes.
func transform(id, expression string) flowNode {
	return flowNode{ID: id, Type: "transform", Version: "1.0.0", Name: id,
		Config: map[string]any{"transformType": "expression", "expression": expression}}
}

// request is a node that calls out.
func request(id, url string) flowNode {
	return flowNode{ID: id, Type: "httpRequest", Version: "1.0.0", Name: id, Config: map[string]any{"method": "POST", "url": url}}
}

// newFlow makes a tenant and publishes the nodes as a chain.
func (st *stage) newFlow(ctx context.Context, name string, nodes ...flowNode) (f flow, err error) {
	if f.tenantKeys, err = st.gateway.newTenant(ctx, name); err != nil {
		return f, err
	}
	var workflow, version struct{ ID string }
	if err := st.create(ctx, f.SecretKey, "/workflows", map[string]any{"name": name}, &workflow); err != nil {
		return f, err
	}
	edges := []map[string]string{}
	for i := range nodes[1:] {
		edges = append(edges, map[string]string{"sourceNodeId": nodes[i].ID, "targetNodeId": nodes[i+1].ID})
	}
	draft := map[string]any{"workflowId": workflow.ID, "nodes": nodes, "edges": edges}
	if err := st.create(ctx, f.SecretKey, "/workflow-versions", draft, &version); err != nil {
		return f, err
	}
	f.WorkflowVersionID = version.ID
	_, err = ask(ctx, st.gateway.baseURL, question{
		Method: http.MethodPost, Path: "/v1/gateway/workflow-versions/" + version.ID + "/publish", APIKeys: []string{f.SecretKey},
	}, http.StatusOK)
	if err != nil {
		return f, err
	}
	var trigger struct{ ID string }
	hook := map[string]any{"workflowVersionId": version.ID, "name": "Orders", "type": "webhook", "config": map[string]any{}}
	if err := st.create(ctx, f.SecretKey, "/triggers", hook, &trigger); err != nil {
		return f, err
	}
	f.call = question{
		Method: http.MethodPost, Path: "/v1/gateway/triggers/" + trigger.ID + "/webhook", APIKeys: []string{f.SecretKey},
		Body: `{"eventData":{"id":"order-1042","amount":1250,"customer":{"name":"Ada","country":"PT"}}}`,
	}
	return f, nil
}

// create makes something over the API, and reads it.
func (st *stage) create(ctx context.Context, key, path string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	made, err := ask(ctx, st.gateway.baseURL, question{
		Method: http.MethodPost, Path: "/v1/gateway" + path, Body: string(text), APIKeys: []string{key},
	}, http.StatusCreated)
	if err != nil {
		return err
	}
	return json.Unmarshal(made, into)
}

// runsOf says how many runs a tenant has, and how many of them are not over.
func (p *postgresServer) runsOf(ctx context.Context, tenantID string) (all, open int, err error) {
	err = p.db.QueryRowContext(ctx, `SELECT count(*), count(*) FILTER (WHERE finished_at IS NULL) FROM runs WHERE tenant_id = $1`,
		tenantID).Scan(&all, &open)
	return all, open, err
}

// drainTimeout bounds how long runs may take to end after the load did.
const drainTimeout = 2 * time.Minute

// drained waits until a tenant has no run that is not over, sees to it that none has
// failed, and returns how many there are.
func (p *postgresServer) drained(ctx context.Context, tenantID string) (all int, err error) {
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	for {
		all, open, err := p.runsOf(ctx, tenantID)
		if err != nil {
			return 0, err
		}
		if open == 0 {
			break
		}
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			return 0, fmt.Errorf("%d of %d runs are not over %s after the load: %w", open, all, drainTimeout, err)
		}
	}
	var ended string
	err = p.db.QueryRowContext(ctx, `SELECT count(*), coalesce(string_agg(DISTINCT status || ' ' || coalesce(failure_message, ''), '; ')
		FILTER (WHERE status <> 'completed'), '') FROM runs WHERE tenant_id = $1`, tenantID).Scan(&all, &ended)
	if err == nil && ended != "" {
		err = fmt.Errorf("not every run was completed: %s", ended)
	}
	return all, err
}
