package rolling

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Load is what clients do while the gateways are restarted.
type Load struct {
	URL               string // of the balancer
	Key               string // a secret API key, whose limits let the load through
	WorkflowVersionID string // that the triggers are attached to
	Writers           int    // clients that create triggers, each under a name of its own
	Readers           int    // clients that read the registry
	Suffix            string // of the triggers' names, which tells one load from another
}

// Run makes the load until ctx ends and returns what happened to it. A request that
// is under way at the end is awaited.
func (l Load) Run(ctx context.Context) *Ledger {
	ledger := newLedger()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: l.Writers + l.Readers}, Timeout: time.Minute}
	defer client.CloseIdleConnections()
	var clients sync.WaitGroup
	for w := range l.Writers {
		clients.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				l.write(ctx, client, ledger, fmt.Sprintf("writer %d, trigger %d%s", w, n, l.Suffix), n%2 == 0)
			}
		})
	}
	for range l.Readers {
		clients.Go(func() {
			for ctx.Err() == nil {
				status, _, err := l.ask(ctx, client, http.MethodGet, "/v1/gateway/custom-nodes/registry", "", "")
				ledger.read(status, err)
			}
		})
	}
	clients.Wait()
	return ledger
}

// write creates one trigger. Every second one has an idempotency key, so that both
// ways are tried.
func (l Load) write(ctx context.Context, client *http.Client, ledger *Ledger, name string, once bool) {
	body := fmt.Sprintf(`{"workflowVersionId":%q,"name":%q,"type":"webhook","config":{}}`, l.WorkflowVersionID, name)
	key := ""
	if once {
		key = strings.ReplaceAll(name, " ", "-")
	}
	status, text, err := l.ask(ctx, client, http.MethodPost, "/v1/gateway/triggers", body, key)
	ledger.wrote(name, status, text, err)
}

// ask sends one request. It is awaited although ctx may end meanwhile: what a client
// gave up would be neither acknowledged nor failed.
func (l Load) ask(ctx context.Context, client *http.Client, method, path, body, once string) (int, []byte, error) {
	r, err := http.NewRequestWithContext(context.WithoutCancel(ctx), method, l.URL+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("X-API-Key", l.Key)
	r.Header.Set("Content-Type", "application/json")
	if once != "" {
		r.Header.Set("X-Idempotency-Key", once)
	}
	answer, err := client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, text, errors.Join(err, answer.Body.Close())
}

// pageSize is the most triggers that a list gives at once.
const pageSize = 100

// Triggers reads the names of all the tenant's triggers, one for each trigger.
func (l Load) Triggers(ctx context.Context) ([]string, error) {
	var names []string
	for {
		path := fmt.Sprintf("/v1/gateway/triggers?sortBy=createdAt&sortOrder=asc&limit=%d&offset=%d", pageSize, len(names))
		status, text, err := l.ask(ctx, http.DefaultClient, http.MethodGet, path, "", "")
		if err != nil || status != http.StatusOK {
			return nil, fmt.Errorf("list the triggers: status %d, %s: %w", status, text, err)
		}
		var page struct {
			Items   []struct{ Name string }
			HasMore bool
		}
		if err := json.Unmarshal(text, &page); err != nil {
			return nil, fmt.Errorf("list the triggers: %w", err)
		}
		for _, item := range page.Items {
			names = append(names, item.Name)
		}
		if !page.HasMore {
			return names, nil
		}
	}
}
