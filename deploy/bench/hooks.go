package main

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

// hookSecret is what the bench signs deliveries with.
const hookSecret = "what-the-bench-signs-with"

// newHook gives the trigger of a workflow a hook of the preset github, and returns what GitHub would send to it: each delivery under
// an id of its own.
func (e *env) newHook(ctx context.Context, w workflow, perMinute int) (q loadRequest, err error) {
	c := e.client(w.SecretKey)
	var made struct{ ID, URL string }
	body, err := c.Call(ctx, harness.Request{Method: http.MethodPost, Path: "/connections", Body: map[string]any{"name": "GitHub", "kind": "hmac", "secret": map[string]any{"key": hookSecret}}})
	if err = errors.Join(err, json.Unmarshal(body, &made)); err != nil {
		return q, err
	}
	body, err = c.Call(ctx, harness.Request{Method: http.MethodPost, Path: strings.TrimSuffix(w.call.Path, "/webhook") + "/hook", Body: map[string]any{
		"scheme": map[string]any{"preset": "github"}, "secrets": []string{made.ID}, "limits": map[string]any{"perMinute": perMinute, "concurrent": 1000},
	}})
	if err = errors.Join(err, json.Unmarshal(body, &made)); err != nil {
		return q, err
	}
	address, err := url.Parse(made.URL)
	if err != nil {
		return q, err
	}
	text := `{"id":"order-1042","amount":1250,"customer":{"name":"Ada","country":"PT"}}`
	mac := hmac.New(sha256.New, []byte(hookSecret))
	mac.Write([]byte(text))
	return loadRequest{
		Method: http.MethodPost, Path: address.Path, Body: text, APIKeys: []string{""}, IdempotencyPrefix: "d", KeyHeader: "X-GitHub-Delivery",
		Headers: map[string]string{"X-GitHub-Event": "push", "X-Hub-Signature-256": "sha256=" + hex.EncodeToString(mac.Sum(nil))},
	}, nil
}

// hookNodes are those of transformNodes for a delivery, whose body is a part of the payload.
func hookNodes() []map[string]any {
	return []map[string]any{
		harness.Transform("total", "{ id: payload.body.id, total: payload.body.amount * 1.23 }"),
		harness.Transform("notice", "`Order ${input.id} of ${payload.body.customer.name} is worth ${input.total}`"),
	}
}

// deliverHooks measures deliveries to a hook: verified, read, kept and encrypted, and started once, however often they come. The
// baseline is webhook calls with an API key that start the same runs: each as often as it comes or, which is what a hook promises, once
// for each idempotency key.
type deliverHooks struct {
	connections int
	once        bool // calls with idempotency keys

	env          *env
	called, sent workflow
	rounds       int
}

func (r *deliverHooks) about() about {
	a := about{name: "hook", what: fmt.Sprintf("deliveries to a hook (github), next to webhook calls with an API key, %d connections", r.connections), aim: 0.8}
	if r.once {
		a = about{name: "hook-once", what: fmt.Sprintf("the same, next to webhook calls with an idempotency key each, %d connections", r.connections), aim: 0.8}
	}
	return a
}

func (r *deliverHooks) prepare(ctx context.Context, e *env) (err error) {
	r.env = e
	if r.called, err = e.newWorkflow(ctx, "bench called by key", transformNodes()...); err != nil {
		return err
	}
	if r.sent, err = e.newWorkflow(ctx, "bench hook", hookNodes()...); err != nil {
		return err
	}
	r.sent.call, err = e.newHook(ctx, r.sent, 600_000)
	return err
}

func (r *deliverHooks) baseline(ctx context.Context, period time.Duration) (load, error) {
	prefix := ""
	if r.once {
		prefix = "called"
	}
	return r.accepted(ctx, r.called, prefix, period)
}

func (r *deliverHooks) gateway(ctx context.Context, period time.Duration) (load, error) {
	return r.accepted(ctx, r.sent, "sent", period)
}

// accepted counts what was accepted, and waits until its runs have ended, so that they burden nobody else.
func (r *deliverHooks) accepted(ctx context.Context, w workflow, prefix string, period time.Duration) (load, error) {
	if r.rounds++; prefix != "" {
		w.call.IdempotencyPrefix = fmt.Sprintf("%s-%d", prefix, r.rounds)
	}
	before, _, err := r.env.database.countRuns(ctx, w.ID)
	if err != nil {
		return load{}, err
	}
	found, err := r.env.loadGateway(ctx, w.call, r.connections, period)
	if err != nil {
		return load{}, err
	}
	after, err := r.env.database.awaitRuns(ctx, w.ID)
	if err == nil && after-before < found.requests {
		err = fmt.Errorf("%d deliveries were accepted, but only %d runs are in the table", found.requests, after-before)
	}
	return found, err
}

// hookFlood measures what a tenant notices of a flood on another one's hook, ten times what that takes: the 99th percentile of
// its own requests' latency, at the same time and alone.
type hookFlood struct{}

func (hookFlood) name() string { return "hook-flood" }

const (
	floodRate  = 1000 // a second
	floodLimit = 100  // of the hook, a second
)

func (hookFlood) measure(ctx context.Context, e *env, o options) ([]figure, error) {
	ten, err := e.newTenant(ctx, "bench beside a flood")
	if err != nil {
		return nil, err
	}
	quiet, err := newTrigger(ten)
	if err != nil {
		return nil, err
	}
	w, err := e.newWorkflow(ctx, "bench flooded", hookNodes()...)
	if err != nil {
		return nil, err
	}
	flood, err := e.newHook(ctx, w, 60*floodLimit)
	if err != nil {
		return nil, err
	}
	if _, err := e.fixedRate(ctx, quiet, quietRate, warmUp); err != nil {
		return nil, err
	}
	var alone, contended []time.Duration
	refused := 0
	for len(alone) < neighbourRequests {
		found, err := e.fixedRate(ctx, quiet, quietRate, o.period)
		if err != nil {
			return nil, err
		}
		alone = append(alone, found...)
		var noise sync.WaitGroup
		var errFlood error
		noise.Go(func() {
			var n int
			n, errFlood = e.flood(ctx, flood, o.period)
			refused += n
		})
		found, err = e.fixedRate(ctx, quiet, quietRate, o.period)
		noise.Wait()
		if err := errors.Join(err, errFlood); err != nil {
			return nil, err
		}
		contended = append(contended, found...)
	}
	a, b := milliseconds(percentile(alone, 0.99)), milliseconds(percentile(contended, 0.99))
	return []figure{newFigure("hook-flood", "a tenant's p99 next to a flood on another one's hook", "times alone", 1.5, b/a).
		withDetail("POST /triggers at %d/s next to %d/s to a hook that takes %d/s: %.1f ms against %.1f ms, of %d requests each; %d deliveries were refused", quietRate, floodRate, floodLimit, b, a, len(alone), refused)}, nil
}

// flood sends deliveries at a fixed rate, whatever becomes of them, and counts those that were refused.
func (e *env) flood(ctx context.Context, q loadRequest, period time.Duration) (refused int, err error) {
	var running sync.WaitGroup
	var mu sync.Mutex
	began := time.Now()
	for i := range int(period.Seconds() * floodRate) {
		if !harness.Sleep(ctx, time.Until(began.Add(time.Duration(i)*time.Second/floodRate))) {
			break
		}
		running.Go(func() {
			status, failed := q.deliver(ctx, e.gateway.URL, fmt.Sprintf("flood-%d-%d", began.UnixNano(), i))
			mu.Lock()
			defer mu.Unlock()
			if status == http.StatusTooManyRequests {
				refused++
			}
			err = cmp.Or(err, failed)
		})
	}
	running.Wait()
	return refused, cmp.Or(err, ctx.Err())
}

// deliver sends one delivery and returns the status.
func (q loadRequest) deliver(ctx context.Context, baseURL, id string) (int, error) {
	r, err := http.NewRequestWithContext(ctx, q.Method, baseURL+q.Path, strings.NewReader(q.Body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(q.KeyHeader, id)
	for name, value := range q.Headers {
		r.Header.Set(name, value)
	}
	answer, err := httpClient.Do(r)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}
