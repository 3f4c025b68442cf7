package attack

import (
	"context"
	"fmt"
)

// endpoints are told of everything that happens to runs, and do not answer.
func endpoints() Attack {
	return Attack{
		Name: "endpoints", About: "webhook endpoints that hang, and runs that have much to tell",
		round: func(ctx context.Context, t *Tenant) error {
			made, err := t.flow(ctx, "told", func() (d design) {
				for i := range 20 {
					d.nodes = append(d.nodes, node(fmt.Sprint("w", i), "wait", map[string]any{"delayMs": 10 * i}))
				}
				d.config = map[string]any{}
				return d
			})
			if err != nil {
				return err
			}
			_, _ = t.create(ctx, "/webhook-endpoints", map[string]any{"url": t.server + "/hang", "events": []string{}}) // there is a bound to how many
			t.ready()
			parallel(4, func(int) { t.call(ctx, made, []byte(`{}`)) })
			return nil
		},
	}
}
