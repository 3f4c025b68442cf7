package attack

import (
	"context"
	"fmt"
	"net/http"

	"github.com/sluicehq/sluice/deploy/harness"
)

// types has the types of what nodes give found, each of which is made of the one before twice.
func types() Attack {
	return Attack{
		Name: "types", About: "versions of 200 transforms that each put what they get into arrays and objects twice, validated and completed",
		round: func(ctx context.Context, t *Tenant) error {
			var doubled []*workflow
			for i, source := range []string{"payload.a ? [input] : [input]", "{a: input, b: input}", "payload.a ? [{a: input}] : [{b: [input, [input]]}]"} {
				made, err := t.workflow(ctx, fmt.Sprint("types ", i), func() design { return doubling(source) })
				if err != nil {
					return err
				}
				doubled = append(doubled, made)
			}
			t.begin()
			parallel(4*len(doubled), func(i int) {
				path := "/workflow-versions/" + doubled[i%len(doubled)].version
				if i%2 == 0 {
					t.send(ctx, http.MethodPost, path+"/validate", nil)
				} else {
					t.send(ctx, http.MethodPost, path+"/complete", map[string]any{"nodeId": "t199", "field": "config.expression", "text": "input."})
				}
			})
			return nil
		},
	}
}

// doubling is a row of transforms that compute the same of what the one before gives. What they
// compute is left out of runs by a condition.
func doubling(source string) (d design) {
	d.nodes = append(d.nodes, map[string]any{"id": "if", "type": "condition", "version": "1.0.0", "name": "if", "config": map[string]any{"condition": "payload.run === true"}})
	before := "if"
	for i := range 200 {
		id := fmt.Sprint("t", i)
		d.nodes = append(d.nodes, harness.Transform(id, source))
		d.edges = append(d.edges, harness.Edge(before, id))
		before = id
	}
	d.edges[0]["sourceOutputKey"] = "true"
	return d
}
