package attack

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
)

// flow is a published workflow with its triggers.
type flow struct {
	workflow string
	version  string
	triggers []string
}

// things is what a tenant has made already.
type things struct {
	mu    sync.Mutex
	flows map[string]*flow
}

// design describes a workflow.
type design struct {
	nodes    []map[string]any
	edges    []map[string]any
	triggers int            // 1 for none said
	event    string         // that the triggers wait for; empty for none
	config   map[string]any // of the triggers
}

// flow makes a workflow the first time that its name is asked for.
func (t *Tenant) flow(ctx context.Context, name string, of func() design) (*flow, error) {
	t.made.mu.Lock()
	known := t.made.flows[name]
	t.made.mu.Unlock()
	if known != nil {
		return known, nil
	}
	made, err := t.publish(ctx, name, of())
	if err != nil {
		return nil, err
	}
	t.made.mu.Lock()
	defer t.made.mu.Unlock()
	t.made.flows[name] = made
	return made, nil
}

// publish makes a workflow. Its name is made unique, since an earlier try may have been
// cut off.
func (t *Tenant) publish(ctx context.Context, name string, d design) (*flow, error) {
	made := new(flow)
	var err error
	if made.workflow, err = t.create(ctx, "/workflows", map[string]any{"name": unique(name)}); err != nil {
		return nil, err
	}
	if d.edges == nil {
		d.edges = []map[string]any{}
	}
	made.version, err = t.create(ctx, "/workflow-versions", map[string]any{"workflowId": made.workflow, "nodes": d.nodes, "edges": d.edges})
	if err != nil {
		return nil, err
	}
	if _, err = t.create(ctx, "/workflow-versions/"+made.version+"/publish", nil); err != nil {
		return nil, err
	}
	config := map[string]any{}
	for key, value := range d.config {
		config[key] = value
	}
	if d.event != "" {
		config["webhookConfig"] = map[string]any{"event": d.event}
	}
	made.triggers = make([]string, max(1, d.triggers))
	const atOnce = 8
	failures := make([]error, atOnce)
	parallel(atOnce, func(worker int) {
		for i := worker; i < len(made.triggers) && failures[worker] == nil; i += atOnce {
			made.triggers[i], failures[worker] = t.create(ctx, "/triggers", map[string]any{
				"workflowVersionId": made.version, "name": unique("trigger"), "type": "webhook", "config": config,
			})
		}
	})
	for _, err := range failures {
		if err != nil {
			return nil, err
		}
	}
	return made, nil
}

// call starts a run of the flow by its first trigger and returns its id; empty when that
// was refused.
func (t *Tenant) call(ctx context.Context, f *flow, payload []byte) (run string) {
	status, text := t.send(ctx, http.MethodPost, "/triggers/"+f.triggers[0]+"/webhook", eventData(payload))
	var started struct{ RunID string }
	if status == http.StatusOK && json.Unmarshal(text, &started) == nil {
		return started.RunID
	}
	return ""
}

// eventData is the body of a call with the payload.
func eventData(payload []byte) []byte {
	return append(append([]byte(`{"eventData":`), payload...), '}')
}

// byEvent is the body of a call that names an event.
func byEvent(event string, payload []byte) []byte {
	return append(append([]byte(`{"event":"`+event+`","eventData":`), payload...), '}')
}

func node(id, kind string, config map[string]any) map[string]any {
	return map[string]any{"id": id, "type": kind, "version": "1.0.0", "name": id, "config": config}
}

func transform(id, expression string) map[string]any {
	return node(id, "transform", map[string]any{"transformType": "expression", "expression": expression})
}

func edge(from, to string) map[string]any {
	return map[string]any{"sourceNodeId": from, "targetNodeId": to}
}
