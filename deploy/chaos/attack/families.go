package attack

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

// familyDepth is how many workflows call one another.
const familyDepth = 6

// families starts runs that start others without end: loops in loops over as many items as there
// may be, whose items call a workflow that does the same.
func families() Attack {
	payload := member("l", list("0", 10_000))
	return Attack{
		Name: "families", About: "loops of 10,000 items in loops of as many, whose items call a workflow that does the same; simulated, and cancelled",
		round: func(ctx context.Context, t *Tenant) error {
			var failure error
			top, err := t.workflow(ctx, "families", func() (d design) {
				d, failure = t.family(ctx)
				return d
			})
			if err = cmp.Or(failure, err); err != nil {
				return err
			}
			t.begin()
			parallel(3, func(i int) {
				if i == 0 {
					t.send(ctx, http.MethodPost, "/workflow-versions/"+top.version+"/simulate", eventData(payload))
					return
				}
				run := t.call(ctx, top, payload)
				harness.Sleep(ctx, 5*time.Second)
				if run != "" {
					t.send(ctx, http.MethodPost, "/runs/"+run+"/cancel", nil)
				}
			})
			return nil
		},
	}
}

// family publishes the workflows, from the innermost on, and returns the nodes of the outermost.
func (t *Tenant) family(ctx context.Context) (d design, err error) {
	within := func(parent string, n map[string]any) map[string]any {
		n["parentId"] = parent
		return n
	}
	inner := harness.Transform("inner", "item")
	for i := range familyDepth {
		d.nodes = []map[string]any{
			harness.Node("outer", "forEach", map[string]any{"items": "payload.l", "concurrency": 100, "onItemError": "continue"}),
			within("outer", harness.Node("middle", "forEach", map[string]any{"items": "payload.l", "concurrency": 100})), within("middle", inner),
		}
		if i == familyDepth-1 {
			break
		}
		called, err := harness.Publish(ctx, t.post, unique(fmt.Sprint("family ", i)), d.nodes, []map[string]any{})
		if err != nil {
			return d, err
		}
		inner = harness.Node("inner", "callWorkflow", map[string]any{"workflowId": called.ID, "input": "{{ payload }}", "wait": i%2 == 0})
	}
	return d, nil
}
