package attack

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

// longNumber is a payload with a number of almost a megabyte, and a list to loop over.
func longNumber() []byte {
	return fmt.Appendf(nil, `{"n":%s,"s":"%s","l":%s}`, digits(900_000), strings.Repeat("x", 1000), list("1", 9_000))
}

// numbers reads a number of 900,000 digits again and again.
func numbers() Attack {
	payload := longNumber()
	return Attack{
		Name: "numbers", About: "a number of 900,000 digits, read in loops, cases, conditions of edges and templates; timeoutMs of 2000, cancelled",
		round: func(ctx context.Context, t *Tenant) error {
			for name, of := range readings(t.server) {
				made, err := t.workflow(ctx, "number in "+name, of)
				if err != nil {
					return err
				}
				t.begin()
				parallel(2, func(int) {
					if run := t.call(ctx, made, payload); run != "" {
						harness.Sleep(ctx, 100*time.Millisecond)
						t.send(ctx, http.MethodPost, "/runs/"+run+"/cancel", []byte(`{}`))
					}
				})
			}
			return nil
		},
	}
}

// simulations do the same in the few turns that all tenants share.
func simulations() Attack {
	payload := longNumber()
	return Attack{
		Name: "simulations", About: "eight simulations at once of the workflows that read a number of 900,000 digits",
		round: func(ctx context.Context, t *Tenant) error {
			for _, name := range []string{"a loop", "edges"} {
				made, err := t.workflow(ctx, "number in "+name, readings(t.server)[name])
				if err != nil {
					return err
				}
				t.begin()
				parallel(8, func(int) {
					t.send(ctx, http.MethodPost, "/workflow-versions/"+made.version+"/simulate", eventData(payload))
				})
			}
			return nil
		},
	}
}

// readings are the workflows that read the number, by the place where they do.
func readings(server string) map[string]func() design {
	shortTimeout := map[string]any{"timeoutMs": 2000}
	return map[string]func() design{
		"a loop": func() (d design) {
			d.config = shortTimeout
			for i := range 20 {
				d.nodes = append(d.nodes, harness.Transform(fmt.Sprint("t", i), "payload.l.map(x => payload.n > x).length"))
			}
			return d
		},
		"a cascade": func() (d design) {
			d.config = shortTimeout
			for i := range 100 {
				d.nodes = append(d.nodes, harness.Transform(fmt.Sprint("t", i), "payload.l.filter(x => x * 2 > 1 && x < 3).map(x => [x, x + 1]).length"))
				if i > 0 {
					d.edges = append(d.edges, harness.Edge(fmt.Sprint("t", i-1), fmt.Sprint("t", i)))
				}
			}
			return d
		},
		"cases": func() design {
			cases := make([]map[string]any, 400)
			for i := range cases {
				cases[i] = map[string]any{"value": i, "nodeId": ""}
			}
			return design{config: shortTimeout, nodes: []map[string]any{
				harness.Node("s", "switch", map[string]any{"expression": "payload.n", "cases": cases, "defaultNode": ""}),
			}}
		},
		"edges": func() (d design) {
			d.config = shortTimeout
			d.nodes = append(d.nodes, harness.Transform("first", "1"))
			for i := range 300 {
				id := fmt.Sprint("t", i)
				d.nodes = append(d.nodes, harness.Transform(id, "1"))
				d.edges = append(d.edges, map[string]any{"sourceNodeId": "first", "targetNodeId": id, "condition": "payload.n > 1 && payload.n > 2"})
			}
			return d
		},
		"templates": func() design {
			body := make([]string, 300)
			for i := range body {
				body[i] = "{{ payload.n > 1 }}"
			}
			return design{config: shortTimeout, nodes: []map[string]any{
				harness.Node("c", "httpRequest", map[string]any{"method": "POST", "url": server + "/answer/numbers", "body": body}),
			}}
		},
	}
}
