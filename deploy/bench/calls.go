package main

import (
	"context"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

// callRuns measures runs that call another workflow and wait for it, each two runs. The baseline
// is as many runs that call nothing.
type callRuns struct {
	connections int

	env           *env
	plain, caller workflow
}

func (r *callRuns) about() about {
	return about{name: "callWorkflow", what: fmt.Sprintf("runs that call a workflow, both runs counted, next to runs that call none, %d connections", r.connections), aim: 0.35}
}

func (r *callRuns) prepare(ctx context.Context, e *env) (err error) {
	r.env = e
	if r.plain, err = e.newWorkflow(ctx, "bench plain", transformNodes()...); err != nil {
		return err
	}
	if r.caller, err = e.newWorkflow(ctx, "bench called", transformNodes()...); err != nil { // only its tenant is used
		return err
	}
	post := e.client(r.caller.SecretKey).Post
	callee, err := harness.Publish(ctx, post, "called", transformNodes(), harness.Chain("total", "notice"))
	if err != nil {
		return err
	}
	nodes := []map[string]any{harness.Node("call", "callWorkflow", map[string]any{"workflowId": callee.ID})}
	published, err := harness.Publish(ctx, post, "caller", nodes, []map[string]any{})
	if err != nil {
		return err
	}
	trigger, err := harness.CreateTrigger(ctx, post, published.VersionID, "Calls", "webhook", map[string]any{})
	r.caller.call.Path = "/triggers/" + trigger + "/webhook"
	return err
}

func (r *callRuns) baseline(ctx context.Context, period time.Duration) (load, error) {
	return r.env.finishRuns(ctx, r.plain, r.connections, period)
}

func (r *callRuns) gateway(ctx context.Context, period time.Duration) (load, error) {
	return r.env.finishRuns(ctx, r.caller, r.connections, period)
}
