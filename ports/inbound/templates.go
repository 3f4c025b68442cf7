package inbound

import (
	"context"

	"github.com/sluicehq/sluice/domain/template"
	"github.com/sluicehq/sluice/domain/tenant"
)

// Templates is what can be asked about workflows to begin with.
type Templates interface {
	// List returns the templates whose node types the caller may use, in its language.
	List(ctx context.Context, who tenant.Caller) ([]template.Template, error)

	// Get returns one of them, or a NotFound error with the code template_not_found.
	Get(ctx context.Context, who tenant.Caller, id template.ID) (template.Template, error)
}
