package attack

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

// waits lets many runs with large payloads become due at one instant.
func waits() Attack {
	const triggers = 50
	payload := member("l", list("[]", 30_000))
	return Attack{
		Name: "waits", About: "thousands of paused runs with large payloads that all become due at the same instant",
		round: func(ctx context.Context, t *Tenant) error {
			due := time.Now().Add(15 * time.Second)
			event := strings.ReplaceAll(unique("waits"), " ", ".")
			_, err := t.publish(ctx, "waits", design{
				nodes: []map[string]any{
					harness.Node("w", "wait", map[string]any{"until": due.UTC().Format(time.RFC3339)}), harness.Transform("t", "({l: payload.l, n: nodes})"),
				},
				edges: []map[string]any{harness.Edge("w", "t")}, triggers: triggers, event: event,
			})
			if err != nil {
				return err
			}
			t.begin()
			for n := 0; n < t.size.Waiting && time.Now().Before(due); n += triggers {
				t.send(ctx, http.MethodPost, "/triggers/webhook/by-event", byEvent(event, payload))
			}
			harness.Sleep(ctx, time.Until(due)+5*time.Second)
			return nil
		},
	}
}
