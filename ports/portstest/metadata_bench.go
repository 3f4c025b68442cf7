package portstest

import (
	"context"
	"fmt"
	"testing"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// MetadataBenchmarks measures what a page costs that is narrowed by metadata, of a tenant with
// many workflows. settle waits until the database knows how many there are.
func MetadataBenchmarks(b *testing.B, work outbound.UnitOfWork, settle func()) {
	const all, unit = 100_000, 1000
	bench := benchmark{b, work}
	owner := bench.owner()
	for first := 0; first < all; first += unit {
		bench.must(func(ctx context.Context, st outbound.Stores) error {
			for i := first; i < first+unit; i++ {
				pairs := map[string]string{"customer": fmt.Sprint("cus_", i), "batch": fmt.Sprint(i % 100), "plan": []string{"free", "silver", "gold"}[i%3]}
				wf, err := workflow.New(workflow.ID(newID(workflow.IDPrefix)), owner, "", workflow.Draft{
					Name: fmt.Sprint("Orders ", i), Metadata: domain.MetadataPatch{Pairs: pairs},
				}, noon)
				if err != nil {
					return err
				}
				if err := st.Workflows.Insert(ctx, wf); err != nil {
					return err
				}
			}
			return nil
		})
	}
	settle()
	for name, c := range map[string]struct {
		filter domain.MetadataFilter
		total  int
	}{
		"without a filter":                     {nil, all},
		"that nothing has":                     {domain.MetadataFilter{"customer": "none"}, 0},
		"of one":                               {domain.MetadataFilter{"customer": "cus_4711"}, 1},
		"of one in a hundred":                  {domain.MetadataFilter{"batch": "42"}, all / 100},
		"of one in three":                      {domain.MetadataFilter{"plan": "gold"}, all / 3},
		"of one in three hundred by two pairs": {domain.MetadataFilter{"plan": "gold", "batch": "42"}, all / 300},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				err := work.View(b.Context(), func(ctx context.Context, st outbound.Stores) error {
					found, err := st.Workflows.List(ctx, tenant.All(owner), workflow.Filter{Metadata: c.filter}, domain.Query{})
					if err == nil && found.Total != c.total {
						b.Fatalf("%d are found, not %d", found.Total, c.total)
					}
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
