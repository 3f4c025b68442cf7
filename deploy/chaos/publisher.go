package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

// publisher publishes the versions of all workflows in turns, which do the same: whatever is
// called meanwhile, and whoever dies, nobody but the version of a run may tell.
type publisher struct {
	random    *randomSource
	published atomic.Int64
	moved     atomic.Int64 // triggers
}

// Several publishers, so that now and then two are about the same workflow.
const (
	publishers   = 3
	publishPause = 150 * time.Millisecond
)

// otherVersion publishes a version that does the same, so that there is one to go back to.
func otherVersion(ctx context.Context, post harness.Post, of harness.Workflow, nodes, edges []map[string]any) (id string, err error) {
	var made struct{ ID string }
	if err = post(ctx, "/workflow-versions", map[string]any{"workflowId": of.ID, "nodes": nodes, "edges": edges}, &made); err != nil {
		return "", err
	}
	return made.ID, post(ctx, "/workflow-versions/"+made.ID+"/publish", nil, nil)
}

// run publishes until ctx ends.
func (p *publisher) run(ctx context.Context, e *env) {
	var all sync.WaitGroup
	for i := range publishers {
		all.Go(func() {
			for n := 0; harness.Sleep(ctx, p.random.duration(0, 2*publishPause)); n++ {
				p.publish(ctx, e, fmt.Sprintf("publish-%d-%d", i, n))
			}
		})
	}
	all.Wait()
}

func (p *publisher) publish(ctx context.Context, e *env, key string) {
	t, sc := e.tenants[p.random.intN(len(e.tenants))], e.scenarios[p.random.intN(len(e.scenarios))]
	of := t.workflows[sc.name]
	r := harness.Request{Method: http.MethodPost, IdempotencyKey: key, Body: map[string]any{"triggers": "move"}}
	switch choice := p.random.intN(3); choice {
	case 2:
		r.Path = "/workflows/" + of.id + "/rollback"
	default:
		r.Path = "/workflow-versions/" + of.versions[choice] + "/publish"
	}
	// A publish that was begun is repeated until it is answered, whatever has ended meanwhile.
	got, ok := e.clients.do(context.WithoutCancel(ctx), t.key, r)
	var done struct{ Triggers struct{ Moved, Left []any } }
	switch {
	case !ok:
	case got.Status == http.StatusConflict && got.Code() == "stale_revision":
	case got.Status != http.StatusOK || got.JSON(&done) != nil:
		e.found.add(onlyExpected, "%s, sent %d times, was answered %d: %s", r.Path, got.tries, got.Status, got.Body)
	default:
		p.published.Add(1)
		p.moved.Add(int64(len(done.Triggers.Moved)))
		e.found.check(len(done.Triggers.Left) == 0, triggersFollow, "%s left %v behind", r.Path, done.Triggers.Left)
	}
}

// auditAttached checks that every trigger is attached to the one active version of its
// workflow.
func (e *env) auditAttached(ctx context.Context) error {
	return e.database.Each(ctx, func(scan func(...any) error) error {
		var owner, name, version string
		var active int
		err := scan(&owner, &name, &version, &active)
		e.found.add(triggersFollow, "trigger %q of %s is attached to %s, and its workflow has %d active versions", name, owner, version, active)
		return err
	}, `SELECT t.tenant_id, t.name, t.workflow_version_id, (SELECT count(*) FROM workflow_versions a WHERE a.tenant_id = v.tenant_id AND a.workflow_id = v.workflow_id AND a.is_active)
		FROM triggers t JOIN workflow_versions v ON v.tenant_id = t.tenant_id AND v.id = t.workflow_version_id
		WHERE NOT v.is_active OR t.left_at IS NOT NULL
		OR 1 <> (SELECT count(*) FROM workflow_versions a WHERE a.tenant_id = v.tenant_id AND a.workflow_id = v.workflow_id AND a.is_active)`)
}
