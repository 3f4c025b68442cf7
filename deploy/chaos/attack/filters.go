package attack

import (
	"context"
	"net/http"

	"github.com/sluicehq/sluice/deploy/harness"
)

// filters has triggers look at payloads that are small as text and large as values, for as long as
// they may, and take all of them as keys of runs that wait for each other.
func filters() Attack {
	const name, refused, calls = "filtered", "refused", 12
	payload := member("l", list("[]", 200_000))
	wrong := member("l", list(`""`, 1000))
	return Attack{
		Name: "filters", About: "hundreds of triggers with filters and concurrency keys that go through 200,000 empty arrays, events and calls for them, and events that fit none",
		round: func(ctx context.Context, t *Tenant) error {
			made, err := t.workflow(ctx, name, func() design {
				return design{nodes: []map[string]any{harness.Transform("t", "payload.l.length")}, triggers: t.size.Triggers, event: name, config: map[string]any{
					"filter":        "payload.l.slice(0, 90000).map(x => [x]).length > 1",
					"payloadSchema": map[string]any{"l": map[string]any{"type": "array", "items": map[string]any{"type": "array"}}},
					"concurrency":   map[string]any{"key": "payload.l", "limit": 1},
				}}
			})
			if err != nil {
				return err
			}
			_, err = t.workflow(ctx, refused, func() design {
				return design{nodes: []map[string]any{harness.Transform("t", "payload.l.length")}, triggers: t.size.Triggers, event: refused, config: map[string]any{
					"payloadSchema": map[string]any{"l": map[string]any{"type": "array", "items": map[string]any{"type": "array"}}},
				}}
			})
			if err != nil {
				return err
			}
			t.begin()
			parallel(calls, func(i int) {
				switch {
				case i < 2:
					t.send(ctx, http.MethodPost, []string{"/triggers/webhook/by-event", "/triggers/ingest"}[i], byEvent(name, payload))
				case i < 6:
					t.send(ctx, http.MethodPost, "/triggers/webhook/by-event", byEvent(refused, [][]byte{wrong, payload}[i%2]))
				default:
					t.call(ctx, made, payload)
				}
			})
			return nil
		},
	}
}
