package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

// loopItems and loopConcurrency are how many items a loop has, and how many are under way.
const (
	loopItems       = 10_000
	loopConcurrency = 100
)

// loopRuns measures the runs of the items of a loop. The baseline is as many runs of the body that
// calls start.
type loopRuns struct {
	connections int

	env         *env
	plain, loop workflow
}

func (r *loopRuns) about() about {
	return about{
		name: "forEach", what: fmt.Sprintf("items of a loop over %d, %d at a time, next to runs of its body that %d connections start", loopItems, loopConcurrency, r.connections), aim: 0.7,
	}
}

func (r *loopRuns) prepare(ctx context.Context, e *env) (err error) {
	r.env = e
	if r.plain, err = e.newWorkflow(ctx, "bench body", transformNodes()...); err != nil {
		return err
	}
	if r.loop, err = e.newWorkflow(ctx, "bench loop", transformNodes()...); err != nil { // only its tenant is used
		return err
	}
	nodes := transformNodes()
	for _, n := range nodes {
		n["parentId"] = "each"
	}
	nodes = append(nodes, harness.Node("each", "forEach", map[string]any{"items": "payload.items", "concurrency": loopConcurrency}))
	post := e.client(r.loop.SecretKey).Post
	published, err := harness.Publish(ctx, post, "loop", nodes, harness.Chain("total", "notice"))
	if err != nil {
		return err
	}
	trigger, err := harness.CreateTrigger(ctx, post, published.VersionID, "Loops", "webhook", map[string]any{})
	items := "[1" + strings.Repeat(",1", loopItems-1) + "]"
	r.loop.call.Path = "/triggers/" + trigger + "/webhook"
	r.loop.call.Body = `{"eventData":{"id":"order-1042","amount":1250,"customer":{"name":"Ada","country":"PT"},"items":` + items + `}}`
	return err
}

func (r *loopRuns) baseline(ctx context.Context, period time.Duration) (load, error) {
	return r.env.finishRuns(ctx, r.plain, r.connections, period)
}

// gateway runs one loop after the other until the time is over.
func (r *loopRuns) gateway(ctx context.Context, period time.Duration) (found load, err error) {
	before, _, err := r.env.database.countRuns(ctx, r.loop.ID)
	if err != nil {
		return load{}, err
	}
	after, began := before, time.Now()
	for time.Since(began) < period {
		if _, err = r.loop.call.send(ctx, r.env.gateway.URL); err != nil {
			return load{}, err
		}
		found.requests++
		if after, err = r.env.database.awaitRuns(ctx, r.loop.ID); err != nil {
			return load{}, err
		}
	}
	if wanted := found.requests * (loopItems + 1); after-before != wanted {
		return load{}, fmt.Errorf("%d loops made %d runs, and not %d", found.requests, after-before, wanted)
	}
	found.perSecond = float64(after-before) / time.Since(began).Seconds()
	return found, nil
}
