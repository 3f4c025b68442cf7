package portstest

import (
	"context"
	"sync"
	"testing"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// executing starts a run that executes a snapshot of a draft.
func (f fixture) executing(ver *workflow.Version, change ...func(*run.State)) (r *run.Run, err error) {
	err = f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
		id, err := st.Snapshots.Keep(ctx, tenant.All(ver.Tenant()), ver.ID(), ver.Revision())
		if err != nil {
			return err
		}
		r = pending(ver.Tenant(), append(change, func(st *run.State) { st.Version, st.Snapshot = ver.ID(), id })...)
		_, err = st.Runs.Runs.Start(ctx, r)
		return err
	})
	return r, err
}

func (f fixture) snapshot(owner tenant.ID, id run.SnapshotID) (g workflow.Graph, err error) {
	err = f.work.View(f.Context(), func(ctx context.Context, st outbound.Stores) error {
		g, err = st.Snapshots.Get(ctx, owner, id)
		return err
	})
	return g, err
}

// SnapshotRepository is the contract of outbound.SnapshotRepository.
func SnapshotRepository(t *testing.T, open OpenStore) {
	edit := func(f fixture, ver *workflow.Version) {
		f.Helper()
		if err := ver.Edit(workflow.VersionPatch{Nodes: &[]workflow.NodeDraft{{ID: "other"}}, Edges: &[]workflow.EdgeDraft{}}, newEdgeID); err != nil {
			f.Fatal(err)
		}
		f.write(func(ctx context.Context, st outbound.Stores) error { return st.Versions.Update(ctx, ver) })
	}
	cases(t, open, map[string]func(f fixture){
		"a run executes what its draft was, and the snapshot goes with the last one": func(f fixture) {
			owner := f.tenant().ID()
			ver := f.version(f.workflow(owner, ""))
			before := ver.Graph()
			r, err := f.executing(ver, hasEnded)
			if err != nil {
				f.Fatal(err)
			}
			f.holds(r.State())
			edit(f, ver)
			kept := f.kept(owner)
			again := pending(owner, hasEnded, func(st *run.State) { st.Snapshot, st.RerunOf = r.Source().Snapshot, r.ID() })
			f.write(func(ctx context.Context, st outbound.Stores) error {
				if err := st.Snapshots.Hold(ctx, owner, r.Source().Snapshot); err != nil {
					return err
				}
				_, err := st.Runs.Runs.Start(ctx, again)
				return err
			})
			if more := f.kept(owner) - kept; more >= kept {
				f.Errorf("the second run takes %d bytes, the first %d", more, kept)
			}
			for range 2 {
				if got, err := f.snapshot(owner, r.Source().Snapshot); err != nil || !got.Equal(before) {
					f.Errorf("the snapshot is %+v, %v", got, err)
				}
				f.sweep(owner, 1)
			}
			_, err = f.snapshot(owner, r.Source().Snapshot)
			f.wantError(err, domain.NotFound, "version_not_found")
			err = f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
				return st.Snapshots.Hold(ctx, owner, r.Source().Snapshot)
			})
			f.wantError(err, domain.NotFound, "version_not_found")
			if got := f.kept(owner); got != 0 {
				f.Errorf("%d bytes are kept of nothing", got)
			}
		},
		"a draft that has changed is not kept, nor that of somebody else": func(f fixture) {
			owner := f.tenant().ID()
			ver := f.version(f.workflow(owner, "a"))
			stale := workflow.RestoreVersion(ver.State())
			edit(f, ver)
			_, err := f.executing(stale)
			f.wantError(err, domain.Conflict, "stale_revision")
			for _, scope := range []tenant.Scope{tenant.All(f.tenant().ID()), tenant.Only(owner, "b")} {
				err := f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
					_, err := st.Snapshots.Keep(ctx, scope, ver.ID(), ver.Revision())
					return err
				})
				f.wantError(err, domain.NotFound, "version_not_found")
			}
			r, err := f.executing(ver)
			if err != nil {
				f.Fatal(err)
			}
			_, err = f.snapshot(f.tenant().ID(), r.Source().Snapshot)
			f.wantError(err, domain.NotFound, "version_not_found")
		},
		"a run that is started while the last other one goes has its snapshot": func(f fixture) {
			ver := f.version(f.workflow(f.tenant().ID(), ""))
			for range 20 {
				if _, err := f.executing(ver, hasEnded); err != nil {
					f.Fatal(err)
				}
				var all sync.WaitGroup
				all.Go(func() { f.sweep(ver.Tenant(), 9) })
				all.Go(func() {
					r, err := f.executing(ver)
					if err != nil {
						f.Error(err)
						return
					}
					if _, err := f.snapshot(ver.Tenant(), r.Source().Snapshot); err != nil {
						f.Error(err)
					}
					f.step(r, outbound.RunLease{}, hasEnded)
				})
				all.Wait()
			}
		},
		"a run keeps what it has taken over from another one": func(f fixture) {
			owner := f.tenant().ID()
			large := run.NodeState{ID: "a", Status: run.NodeCompleted, TakenOver: true, Output: sharedText(2 * run.InlineOutput), OutputSeq: -1}
			r := pending(owner, func(st *run.State) { st.Nodes = []run.NodeState{large, {ID: "b", Status: run.NodePending}} })
			f.write(func(ctx context.Context, st outbound.Stores) error {
				_, err := st.Runs.Runs.Start(ctx, r)
				return err
			})
			f.holds(r.State())
			f.holds(f.step(r, outbound.RunLease{}, func(st *run.State) { st.Status = run.StatusRunning }).State())
		},
	})
}
