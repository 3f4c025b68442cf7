package attack

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

// bodies sends many large requests at once, whose last bytes do not come for a while.
func bodies() Attack {
	const atOnce = 100
	payload := eventData(member("l", list("[]", 300_000)))
	return Attack{
		Name: "bodies", About: "100 requests of 0.9 MB at once, whose last bytes come slowly",
		round: func(ctx context.Context, t *Tenant) error {
			made, err := t.workflow(ctx, "bodies", func() design { return design{nodes: []map[string]any{harness.Transform("t", "1")}} })
			if err != nil {
				return err
			}
			t.begin()
			parallel(atOnce, func(int) {
				answer, err := t.open(ctx, t.api, http.MethodPost, "/triggers/"+made.triggers[0]+"/webhook", &slowReader{ctx: ctx, text: payload})
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, answer.Body) // only the status matters
				_ = answer.Body.Close()
			})
			return nil
		},
	}
}

// slowReader gives all but the last bytes of a text at once, and those in two seconds.
type slowReader struct {
	ctx  context.Context //nolint:containedctx // an io.Reader is given none
	text []byte
	at   int
}

func (r *slowReader) Read(into []byte) (n int, err error) {
	const last = 4
	switch left := len(r.text) - r.at; {
	case left == 0:
		return 0, io.EOF
	case left > last:
		n = copy(into[:min(len(into), left-last)], r.text[r.at:])
	default:
		if !harness.Sleep(r.ctx, 500*time.Millisecond) {
			return 0, r.ctx.Err()
		}
		n = copy(into[:1], r.text[r.at:])
	}
	r.at += n
	return n, nil
}
