package attack

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

// readers asks for large answers and reads them slowly.
func readers() Attack {
	payload := member("l", list("[]", 200_000))
	return Attack{
		Name: "readers", About: "large lists, whole runs and streams, by many at once who read slowly",
		round: func(ctx context.Context, t *Tenant) error {
			made, err := t.workflow(ctx, "readers", func() design { return copies(8, true) })
			if err != nil {
				return err
			}
			run := t.call(ctx, made, payload)
			if run == "" {
				return nil
			}
			paths := []string{"/runs/" + run, "/runs/" + run + "/stream", "/runs?limit=100", "/workflow-versions/" + made.version, "/triggers?limit=100"}
			t.begin()
			parallel(20, func(i int) { t.readSlowly(ctx, paths[i%len(paths)]) })
			return nil
		},
	}
}

// readSlowly reads an answer a little at a time, for a few seconds.
func (t *Tenant) readSlowly(ctx context.Context, path string) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	answer, err := t.open(ctx, t.slow, http.MethodGet, path, nil)
	if err != nil {
		return
	}
	defer func() { _ = answer.Body.Close() }() // it is left unread
	for part := make([]byte, 4096); ; {
		if _, err := io.ReadFull(answer.Body, part); err != nil || !harness.Sleep(ctx, 100*time.Millisecond) {
			return
		}
	}
}
