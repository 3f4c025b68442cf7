package attack

import (
	"bytes"
	"context"
	"net/http"

	"github.com/sluicehq/sluice/deploy/harness"
)

// events starts many runs with one call, each with the whole payload.
func events() Attack {
	const name = "flood"
	payload := member("s", bytes.Join([][]byte{{'"'}, bytes.Repeat([]byte("x"), 900_000), {'"'}}, nil))
	return Attack{
		Name: "events", About: "hundreds of triggers that wait for one event, and calls of 0.9 MB that name it",
		round: func(ctx context.Context, t *Tenant) error {
			_, err := t.workflow(ctx, "flood", func() design {
				return design{nodes: []map[string]any{harness.Transform("t", "payload.s.length")}, triggers: t.size.Triggers, event: name}
			})
			if err != nil {
				return err
			}
			t.begin()
			parallel(2, func(i int) {
				t.send(ctx, http.MethodPost, []string{"/triggers/webhook/by-event", "/triggers/ingest"}[i], byEvent(name, payload))
			})
			return nil
		},
	}
}
