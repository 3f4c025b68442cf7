package portstest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

func (f fixture) getWorkflow(owner tenant.ID, id workflow.ID) (wf *workflow.Workflow, err error) {
	err = f.work.View(f.Context(), func(ctx context.Context, st outbound.Stores) error {
		wf, err = st.Workflows.Get(ctx, tenant.All(owner), id)
		return err
	})
	return wf, err
}

// WorkflowRepository is the contract of outbound.WorkflowRepository.
func WorkflowRepository(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"every field comes back": func(f fixture) {
			about, days := "what it does: \"<&>\"", 7
			want := workflow.State{
				ID: workflow.ID(newID("wf")), Tenant: f.tenant().ID(), SubTenant: "team 7", Name: "Ordres été", Description: &about,
				Active: false, RunDays: &days, CreatedAt: noon, UpdatedAt: noon.Add(time.Second), Revision: 1,
			}
			plain := f.newWorkflow(want.Tenant, "", "Plain").State()
			for _, st := range []workflow.State{want, plain} {
				f.write(func(ctx context.Context, stores outbound.Stores) error {
					return stores.Workflows.Insert(ctx, workflow.Restore(st))
				})
				got, err := f.getWorkflow(st.Tenant, st.ID)
				if err != nil {
					f.Fatal(err)
				}
				if diff := cmp.Diff(st, got.State()); diff != "" {
					f.Error(diff)
				}
			}
		},
		"a name is unique within a tenant and sub-tenant, and free elsewhere": func(f fixture) {
			owner, other := f.tenant().ID(), f.tenant().ID()
			insert := func(wf *workflow.Workflow) error {
				return f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error { return st.Workflows.Insert(ctx, wf) })
			}
			for _, wf := range []*workflow.Workflow{
				f.newWorkflow(owner, "", "Orders"), f.newWorkflow(owner, "a", "Orders"), f.newWorkflow(owner, "b", "Orders"),
				f.newWorkflow(other, "", "Orders"), f.newWorkflow(owner, "", "orders"),
			} {
				if err := insert(wf); err != nil {
					f.Errorf("%s %q %q: %v", wf.Tenant(), wf.SubTenant(), wf.Name(), err)
				}
			}
			f.wantError(insert(f.newWorkflow(owner, "", "Orders")), domain.Conflict, "workflow_name_taken")
			f.wantError(insert(f.newWorkflow(owner, "a", "Orders")), domain.Conflict, "workflow_name_taken")
			renamed := f.workflow(owner, "a")
			name := "Orders"
			if err := renamed.Revise(workflow.Patch{Name: &name}, noon); err != nil {
				f.Fatal(err)
			}
			err := f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error { return st.Workflows.Update(ctx, renamed) })
			f.wantError(err, domain.Conflict, "workflow_name_taken")
		},
		"an update changes what it should, and a stale one is refused": func(f fixture) {
			wf := f.workflow(f.tenant().ID(), "a")
			stale := workflow.Restore(wf.State())
			wf.Toggle(noon.Add(time.Hour))
			want := wf.State()
			want.Revision = 2
			update := func(wf *workflow.Workflow) error {
				return f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error { return st.Workflows.Update(ctx, wf) })
			}
			if err := update(wf); err != nil {
				f.Fatal(err)
			}
			f.wantError(update(stale), domain.Conflict, "stale_revision")
			got, err := f.getWorkflow(want.Tenant, want.ID)
			if err != nil {
				f.Fatal(err)
			}
			if diff := cmp.Diff(want, got.State()); diff != "" {
				f.Error(diff)
			}
		},
		"a workflow of another tenant is as if it did not exist": func(f fixture) {
			wf, other := f.workflow(f.tenant().ID(), ""), f.tenant().ID()
			_, err := f.getWorkflow(other, wf.ID())
			f.wantError(err, domain.NotFound, "workflow_not_found")
			_, errAbsent := f.getWorkflow(other, "wf_absent")
			if err.Error() != errAbsent.Error() {
				f.Errorf("%q differs from %q", err, errAbsent)
			}
			stolen := wf.State()
			stolen.Tenant = other
			err = f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
				return st.Workflows.Update(ctx, workflow.Restore(stolen))
			})
			f.wantError(err, domain.NotFound, "workflow_not_found")
		},
	})
}

// VersionRepository is the contract of outbound.VersionRepository.
func VersionRepository(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"every field comes back, documents as they were": func(f fixture) {
			want := f.version(f.workflow(f.tenant().ID(), "team")).State()
			published := noon.Add(time.Hour)
			want.ID, want.Number, want.Active, want.PublishedAt, want.Level = workflow.VersionID(newID("wfv")), 2, true, &published, 3
			f.write(func(ctx context.Context, st outbound.Stores) error {
				return st.Versions.Insert(ctx, workflow.RestoreVersion(want))
			})
			f.read(func(ctx context.Context, st outbound.Stores) error {
				got, err := st.Versions.Get(ctx, tenant.All(want.Tenant), want.ID)
				if err != nil {
					return err
				}
				have := got.State()
				diff := cmp.Diff(want.Graph.Nodes(), have.Graph.Nodes(), cmp.AllowUnexported(domain.Document{})) +
					cmp.Diff(want.Graph.Edges(), have.Graph.Edges())
				want.Graph, have.Graph = workflow.Graph{}, workflow.Graph{}
				if diff += cmp.Diff(want, have, cmp.AllowUnexported(workflow.Graph{})); diff != "" {
					f.Error(diff)
				}
				belongs, err := st.Versions.Parent(ctx, tenant.All(want.Tenant), want.ID)
				if belongs != (outbound.VersionParent{Workflow: want.Workflow, SubTenant: "team"}) {
					f.Errorf("it belongs to %+v", belongs)
				}
				return err
			})
		},
		"versions are numbered 1, 2, 3 without gaps however many are made at once": func(f fixture) {
			wf, another := f.workflow(f.tenant().ID(), ""), f.workflow(f.tenant().ID(), "")
			const made = 20
			var mu sync.Mutex
			var numbers []int
			var done sync.WaitGroup
			for i := range made {
				done.Go(func() {
					if i%4 == 0 { // a unit that fails gives its number back
						_ = f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
							_, err := st.Workflows.NextVersion(ctx, tenant.All(wf.Tenant()), wf.ID())
							if err != nil {
								f.Error(err)
							}
							return errOnPurpose
						})
					}
					number := f.version(wf).Number()
					mu.Lock()
					defer mu.Unlock()
					numbers = append(numbers, number)
				})
			}
			done.Wait()
			slices.Sort(numbers)
			for i, number := range numbers {
				if number != i+1 {
					f.Fatalf("the numbers are %v", numbers)
				}
			}
			if n := f.version(another).Number(); len(numbers) != made || n != 1 {
				f.Errorf("%d versions; the first of another workflow has number %d", len(numbers), n)
			}
		},
		"a version of another tenant is as if it did not exist": func(f fixture) {
			wf, other := f.workflow(f.tenant().ID(), ""), f.tenant().ID()
			ver := f.version(wf)
			f.read(func(ctx context.Context, st outbound.Stores) error {
				_, err := st.Versions.Get(ctx, tenant.All(other), ver.ID())
				f.wantError(err, domain.NotFound, "version_not_found")
				_, errAbsent := st.Versions.Get(ctx, tenant.All(other), "wfv_absent")
				if err.Error() != errAbsent.Error() {
					f.Errorf("%q differs from %q", err, errAbsent)
				}
				_, err = st.Versions.Parent(ctx, tenant.All(other), ver.ID())
				f.wantError(err, domain.NotFound, "version_not_found")
				return nil
			})
			err := f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
				_, err := st.Workflows.NextVersion(ctx, tenant.All(other), wf.ID())
				return err
			})
			f.wantError(err, domain.NotFound, "workflow_not_found")
		},
	})
}
