package attack

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/sluicehq/sluice/deploy/harness"
)

// versions makes large versions again and again, and a run of each: what is prepared for
// a version is kept.
func versions() Attack {
	return Attack{
		Name: "versions", About: "versions of almost 1 MiB, validated, published and run, a new one each time",
		round: func(ctx context.Context, t *Tenant) error {
			made, err := t.publish(ctx, "version", large())
			if err != nil {
				return err
			}
			t.begin()
			parallel(3, func(i int) {
				if i == 0 {
					t.call(ctx, made, []byte(`{"a":1}`))
				} else {
					t.send(ctx, http.MethodPost, "/workflow-versions/"+made.version+"/validate", nil)
				}
			})
			return nil
		},
	}
}

// large is a workflow with as much to compile as a version can hold.
func large() (d design) {
	const terms = 300
	for i := range 300 {
		d.nodes = append(d.nodes, harness.Transform(fmt.Sprint("t", i), fmt.Sprintf("[%d%s].length", i, strings.Repeat(", input?.a", terms))))
	}
	return d
}
