package attack

import (
	"context"
	"fmt"
	"net/http"
)

// catalogue fills the tenant's registry, which is read whole.
func catalogue() Attack {
	return Attack{
		Name: "catalogue", About: "custom nodes with schemas of hundreds of kilobytes, and the registry, and a version that is checked against it, read by many at once",
		round: func(ctx context.Context, t *Tenant) error {
			kind := fmt.Sprintf("hostile.n%d", counter.Add(1))
			err := t.post(ctx, "/custom-nodes", map[string]any{
				"type": kind, "name": kind, "version": "1.0.0", "inputSchema": schema(2000), "outputSchema": schema(2000), "endpoint": t.server + "/node/fail",
			}, nil)
			if err == nil {
				t.begin()
			}
			parallel(4, func(i int) {
				t.send(ctx, http.MethodGet, []string{"/custom-nodes/registry", "/custom-nodes?limit=100"}[i%2], nil)
			})
			if made, failure := t.workflow(ctx, "catalogue", func() design { return copies(1, true) }); failure == nil {
				parallel(24, func(int) { t.send(ctx, http.MethodGet, "/workflow-versions/"+made.version, nil) })
			}
			return err
		},
	}
}

// schema declares many fields.
func schema(fields int) map[string]any {
	declared := make(map[string]any, fields)
	for i := range fields {
		declared[fmt.Sprint("field", i)] = map[string]any{"type": "string", "description": "A field."}
	}
	return declared
}
