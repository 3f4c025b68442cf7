package portstest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Freshness holds outbound.UnitOfWork.Read to the newest state where several
// processes share a database: whatever one of them commits is in the next list of
// another. open gives stores on one empty database.
func Freshness(t *testing.T, open func(t *testing.T) []outbound.UnitOfWork) {
	all := open(t)
	f := fixture{t, all[0]}
	owner := f.tenant().ID()
	want := []workflow.ID{f.workflow(owner, "").ID()}
	check := func(after string) {
		t.Helper()
		for i, store := range all {
			err := store.Read(t.Context(), func(ctx context.Context, st outbound.Stores) error {
				found, err := st.Workflows.List(ctx, tenant.All(owner), workflow.Filter{}, domain.Query{})
				if err != nil {
					return err
				}
				got := make([]workflow.ID, 0, len(found.Items))
				for _, wf := range found.Items {
					got = append(got, wf.ID())
					newest, err := (fixture{t, store}).getWorkflow(owner, wf.ID())
					if err != nil {
						return err
					}
					if newest.Name() != wf.Name() || newest.Active() != wf.Active() {
						t.Errorf("%s, store %d lists %s as %q", after, i, wf.ID(), wf.Name())
					}
				}
				slices.Sort(got)
				if slices.Sort(want); !slices.Equal(want, got) || found.Total != len(want) {
					t.Errorf("%s, store %d lists %v of %d, not %v", after, i, got, found.Total, want)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	check("at first")
	for round := range 12 {
		f := fixture{t, all[round%len(all)]}
		name := fmt.Sprint("renamed ", round)
		f.write(func(ctx context.Context, st outbound.Stores) error {
			wf, err := st.Workflows.Get(ctx, tenant.All(owner), want[0])
			if err != nil {
				return err
			}
			active := round%3 != 0
			if err := wf.Revise(workflow.Patch{Name: &name, Active: &active}, noon); err != nil {
				return err
			}
			return st.Workflows.Update(ctx, wf)
		})
		check("after a change")
		other := fixture{t, all[(round+1)%len(all)]}
		other.write(func(ctx context.Context, st outbound.Stores) error {
			return st.Workflows.Delete(ctx, tenant.All(owner), want[0])
		})
		want[0] = f.workflow(owner, "").ID()
		check("after a deletion and an insertion")
	}
}
