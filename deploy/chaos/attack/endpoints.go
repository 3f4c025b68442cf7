package attack

import (
	"context"
	"fmt"

	"github.com/sluicehq/sluice/deploy/harness"
)

// endpoints receive every event of runs, and do not answer.
func endpoints() Attack {
	return Attack{
		Name: "endpoints", About: "webhook endpoints that hang, and runs that have much to tell",
		round: func(ctx context.Context, t *Tenant) error {
			made, err := t.workflow(ctx, "told", func() (d design) {
				for i := range 20 {
					d.nodes = append(d.nodes, harness.Node(fmt.Sprint("w", i), "wait", map[string]any{"delayMs": 10 * i}))
				}
				d.config = map[string]any{}
				return d
			})
			if err != nil {
				return err
			}
			_ = t.post(ctx, "/webhook-endpoints", map[string]any{"url": t.server + "/hang", "events": []string{}}, nil) // there is a bound to how many
			t.begin()
			parallel(4, func(int) { t.call(ctx, made, []byte(`{}`)) })
			return nil
		},
	}
}
