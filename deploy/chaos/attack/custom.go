package attack

import (
	"context"
	"fmt"

	"github.com/sluicehq/sluice/deploy/harness"
)

// customNodes are nodes of the tenant's own, whose endpoint answers what it likes.
func customNodes() Attack {
	answers := []string{"lists", "objects", "numbers", "digits", "pause", "fail"}
	return Attack{
		Name: "custom", About: "custom nodes whose endpoint gives hostile bodies, asks to pause, and fails to be tried again",
		round: func(ctx context.Context, t *Tenant) error {
			made, err := t.customWorkflow(ctx, answers)
			if err != nil {
				return err
			}
			t.begin()
			parallel(2, func(int) { t.call(ctx, made, []byte(`{}`)) })
			return nil
		},
	}
}

// customWorkflow is a workflow of 120 parallel custom nodes.
func (t *Tenant) customWorkflow(ctx context.Context, answers []string) (*workflow, error) {
	t.made.mu.Lock()
	known := t.made.byName["custom"]
	t.made.mu.Unlock()
	if known != nil {
		return known, nil
	}
	var kinds []string
	for _, answer := range answers {
		kind := fmt.Sprintf("hostile.%s%d", answer, counter.Add(1))
		err := t.post(ctx, "/custom-nodes", map[string]any{
			"type": kind, "name": kind, "version": "1.0.0", "canPause": true, "endpoint": t.server + "/node/" + answer,
			"inputSchema": map[string]any{}, "outputSchema": map[string]any{}, "configSchema": map[string]any{},
		}, nil)
		if err != nil {
			return nil, err
		}
		kinds = append(kinds, kind)
	}
	return t.workflow(ctx, "custom", func() (d design) {
		d.config = map[string]any{"retryPolicy": map[string]any{"maxRetries": 10, "backoffMs": 100, "maxBackoffMs": 1000}}
		for i := range 120 {
			d.nodes = append(d.nodes, harness.Node(fmt.Sprint("n", i), kinds[i%len(kinds)], map[string]any{}))
		}
		return d
	})
}
