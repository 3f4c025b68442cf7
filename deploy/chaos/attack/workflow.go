package attack

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"sync"

	"github.com/sluicehq/sluice/deploy/harness"
)

// workflow is a published one with its triggers.
type workflow struct {
	version  string
	triggers []string
}

// workflows are those that a tenant has made already.
type workflows struct {
	mu     sync.Mutex
	byName map[string]*workflow
}

// design describes a workflow.
type design struct {
	nodes    []map[string]any
	edges    []map[string]any
	triggers int            // 0 for one
	event    string         // that the triggers wait for; empty for none
	config   map[string]any // of the triggers
}

// workflow makes a workflow the first time that its name is asked for.
func (t *Tenant) workflow(ctx context.Context, name string, of func() design) (*workflow, error) {
	t.made.mu.Lock()
	known := t.made.byName[name]
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
	t.made.byName[name] = made
	return made, nil
}

// publish makes a workflow. Its name is made unique, since an earlier try may have been
// cut off.
func (t *Tenant) publish(ctx context.Context, name string, d design) (*workflow, error) {
	if d.edges == nil {
		d.edges = []map[string]any{}
	}
	published, err := harness.Publish(ctx, t.post, unique(name), d.nodes, d.edges)
	if err != nil {
		return nil, err
	}
	config := map[string]any{}
	maps.Copy(config, d.config)
	if d.event != "" {
		config["webhookConfig"] = map[string]any{"event": d.event}
	}
	made := &workflow{published.VersionID, make([]string, max(1, d.triggers))}
	const atOnce = 8
	failures := make([]error, atOnce)
	parallel(atOnce, func(worker int) {
		for i := worker; i < len(made.triggers) && failures[worker] == nil; i += atOnce {
			made.triggers[i], failures[worker] = harness.CreateTrigger(ctx, t.post, made.version, unique("trigger"), "webhook", config)
		}
	})
	return made, cmp.Or(failures...)
}

// call starts a run of the workflow by its first trigger and returns its id; empty when that
// was refused.
func (t *Tenant) call(ctx context.Context, w *workflow, payload []byte) (run string) {
	status, text := t.send(ctx, http.MethodPost, "/triggers/"+w.triggers[0]+"/webhook", eventData(payload))
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
