package rolling

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

// Load is what clients do while the gateways are restarted.
type Load struct {
	URL               string // of the balancer
	Key               string // a secret API key, whose limits let the load through
	WorkflowVersionID string // that the triggers are attached to
	Writers           int    // clients that create triggers, each under a name of its own
	Readers           int    // clients that read the registry
	Suffix            string // of the triggers' names, which differs from other loads'
}

// Run makes the load until ctx ends and returns what happened to it. A request that
// is under way at the end is awaited: what a client gave up would be neither
// acknowledged nor failed.
func (l Load) Run(ctx context.Context) *Ledger {
	ledger := newLedger()
	client := l.client(l.Writers + l.Readers)
	defer client.HTTP.CloseIdleConnections()
	var clients sync.WaitGroup
	for w := range l.Writers {
		clients.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				name := fmt.Sprintf("writer %d, trigger %d%s", w, n, l.Suffix)
				got, err := client.Do(context.WithoutCancel(ctx), l.newTrigger(name, n%2 == 0))
				ledger.wrote(name, got.Status, got.Body, err)
			}
		})
	}
	for range l.Readers {
		clients.Go(func() {
			for ctx.Err() == nil {
				got, err := client.Do(context.WithoutCancel(ctx), harness.Request{Method: http.MethodGet, Path: "/custom-nodes/registry"})
				ledger.read(got.Status, err)
			}
		})
	}
	clients.Wait()
	return ledger
}

func (l Load) client(connections int) harness.Client {
	return harness.Client{URL: l.URL, Key: l.Key, HTTP: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: connections}, Timeout: time.Minute,
	}}
}

// newTrigger is the request that creates a trigger. Half of them have an idempotency key,
// so that both ways are tried.
func (l Load) newTrigger(name string, withKey bool) harness.Request {
	r := harness.Request{Method: http.MethodPost, Path: "/triggers", Body: map[string]any{
		"workflowVersionId": l.WorkflowVersionID, "name": name, "type": "webhook", "config": map[string]any{},
	}}
	if withKey {
		r.IdempotencyKey = strings.ReplaceAll(name, " ", "-")
	}
	return r
}

// Triggers reads the names of all the tenant's triggers, one for each trigger.
func (l Load) Triggers(ctx context.Context) (names []string, err error) {
	client := l.client(1)
	defer client.HTTP.CloseIdleConnections()
	triggers, _, err := harness.List[struct{ Name string }](ctx, client.Get, "/triggers")
	for _, t := range triggers {
		names = append(names, t.Name)
	}
	return names, err
}
