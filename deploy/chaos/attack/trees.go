package attack

import (
	"context"
	"fmt"
	"strings"

	"github.com/sluicehq/sluice/deploy/harness"
)

// trees keeps many copies of a payload that is small as text and large as values,
// without calling out.
func trees() Attack {
	const steps, calls = 24, 23
	payload := member("l", list("[]", 200_000))
	return Attack{
		Name: "trees", About: "a payload of 200,000 empty arrays, copied by 24 transforms, in a row and at once; 23 calls and more",
		round: func(ctx context.Context, t *Tenant) error {
			row, err := t.workflow(ctx, "trees in a row", func() design { return copies(steps, true) })
			if err != nil {
				return err
			}
			parallelTrees, err := t.workflow(ctx, "parallel trees", func() design { return copies(steps, false) })
			if err != nil {
				return err
			}
			t.begin()
			parallel(calls, func(i int) {
				if i%2 == 0 {
					t.call(ctx, row, payload)
				} else {
					t.call(ctx, parallelTrees, payload)
				}
			})
			return nil
		},
	}
}

// copies is a workflow of transforms that each give the payload's list, and one that
// reads all of them.
func copies(n int, inRow bool) (d design) {
	var sum []string
	for i := range n {
		id := fmt.Sprint("t", i)
		d.nodes = append(d.nodes, harness.Transform(id, fmt.Sprintf("({i: %d, l: payload.l})", i)))
		sum = append(sum, fmt.Sprintf("nodes.%s.l.length", id))
		if inRow && i > 0 {
			d.edges = append(d.edges, harness.Edge(fmt.Sprint("t", i-1), id))
		}
		if !inRow || i == n-1 {
			d.edges = append(d.edges, harness.Edge(id, "all"))
		}
	}
	d.nodes = append(d.nodes, harness.Transform("all", strings.Join(sum, " + ")))
	return d
}
