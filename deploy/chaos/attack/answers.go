package attack

import (
	"context"
	"fmt"

	"github.com/sluicehq/sluice/deploy/harness"
)

// answers calls out from many nodes at once. Each answer is 1 kB on the wire, 1 MiB as
// text, and far more as values.
func answers() Attack {
	return Attack{
		Name: "answers", About: "200 and 500 parallel calls, answered with 1 MiB of tiny values, slowly, and without end",
		round: func(ctx context.Context, t *Tenant) error {
			for _, f := range []struct {
				name  string
				nodes int
				paths []string
			}{
				{"200 answers", 200, []string{"lists"}},
				{"500 answers", 500, []string{"lists", "objects", "numbers", "texts", "nested", "digits"}},
				{"200 slow answers", 200, []string{"slow", "never", "lists"}},
			} {
				made, err := t.workflow(ctx, f.name, func() design { return t.calls(f.nodes, f.paths) })
				if err != nil {
					return err
				}
				t.begin()
				t.call(ctx, made, []byte(`{}`))
			}
			return nil
		},
	}
}

// calls is a workflow of parallel calls, and a node that reads what they gave.
func (t *Tenant) calls(n int, paths []string) design {
	d := design{config: map[string]any{"retryPolicy": map[string]any{"maxRetries": 3, "backoffMs": 100, "maxBackoffMs": 1000}}}
	for i := range n {
		d.nodes = append(d.nodes, harness.Node(fmt.Sprint("c", i), "httpRequest", map[string]any{
			"url": t.server + "/answer/" + paths[i%len(paths)], "timeoutMs": 10_000,
		}))
	}
	last := harness.Transform("last", "nodes.c0.body.length")
	d.nodes[n-1] = last
	for i := range n - 1 {
		d.edges = append(d.edges, harness.Edge(fmt.Sprint("c", i), "last"))
	}
	return d
}
