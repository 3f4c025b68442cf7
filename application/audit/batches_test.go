package audit_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/system"
	recording "github.com/sluicehq/sluice/application/audit"
	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/domain/audit"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// counted notes how many entries are written at a time.
type counted struct {
	outbound.AuditLog
	written *[]int
}

// Append counts.
func (c counted) Append(ctx context.Context, entries ...audit.Entry) error {
	if len(entries) > 0 {
		*c.written = append(*c.written, len(entries))
	}
	return c.AuditLog.Append(ctx, entries...)
}

// attach makes two versions of a workflow, and triggers of the first.
func (e env) attach(owner tenant.ID, n int) (from, to workflow.VersionID) {
	e.Helper()
	wf, err := workflow.New("wf_1", owner, "", workflow.Draft{Name: "Paid"}, noon)
	if err != nil {
		e.Fatal(err)
	}
	e.do(e.Context(), func(ctx context.Context, st outbound.Stores) error {
		if err := st.Workflows.Insert(ctx, wf); err != nil {
			return err
		}
		for i, id := range []workflow.VersionID{"wfv_1", "wfv_2"} {
			ver := workflow.RestoreVersion(workflow.VersionState{
				ID: id, Workflow: wf.ID(), Tenant: owner, Number: i + 1, CreatedAt: noon, Revision: 1, Graph: fixture.Graph([]string{`a transform {"expression": "1"}`}, nil),
			})
			if err := st.Versions.Insert(ctx, ver); err != nil {
				return err
			}
		}
		for i := range n {
			trg := trigger.Restore(trigger.State{
				ID: trigger.ID(fmt.Sprintf("trg_%04d", i)), Tenant: owner, Version: "wfv_1", Name: "Paid", Type: trigger.Webhook, Config: trigger.RestoreConfig(`{}`),
				Active: true, ActivatedAt: noon, CreatedAt: noon, UpdatedAt: noon, Revision: 1,
			})
			if err := st.Triggers.Insert(ctx, trg); err != nil {
				return err
			}
		}
		return nil
	})
	return "wfv_1", "wfv_2"
}

func TestEachTriggerThatAPublishMovesHasAnEntry(t *testing.T) {
	onEach(t, func(e env) {
		const triggers = 450 // more than are written at a time, twice
		owner := e.tenant().ID()
		from, to := e.attach(owner, triggers)
		var written []int
		store := fixture.NewStore(e.store)
		store.WrapWrite = func(st outbound.Stores) outbound.Stores {
			st.Audit.Log = counted{st.Audit.Log, &written}
			return st
		}
		move := func(ctx context.Context, then error) error {
			return recording.NewWork(store, e.clock, system.Random{}).Do(ctx, func(ctx context.Context, st outbound.Stores) error {
				if moved, err := st.Activation.Move(ctx, tenant.All(owner), from, to, noon); len(moved) != triggers || err != nil {
					e.Error(len(moved), err)
				}
				return then
			})
		}
		ctx := e.act(audit.ByKey, "key_1", "publishVersion")
		if err := move(ctx, context.Canceled); err == nil || len(e.log(owner)) > 0 {
			e.Error("entries stay although nothing was moved", err)
		}
		written = nil
		if err := move(ctx, nil); err != nil {
			e.Fatal(err)
		}
		if diff := cmp.Diff([]int{200, 200, 50}, written); diff != "" {
			e.Error(diff)
		}
		told := make(map[string]bool)
		for _, one := range e.log(owner) {
			told[one.Target.ID] = true
			if diff := cmp.Diff([]audit.Change{{Field: "workflowVersionId", Old: `"wfv_1"`, New: `"wfv_2"`}}, one.Changes()); diff != "" || one.Target.Kind != "trigger" || one.Action != "publishVersion" {
				e.Fatal(one, diff)
			}
		}
		if len(told) != triggers {
			e.Error(len(told))
		}
		e.seal()
		if v := e.verify(owner); v.Failed > 0 || v.Checked != triggers {
			e.Error(v.Checked, v.Problems)
		}
	})
}

// pruned notes which parts of a chain are read and removed.
type pruned struct {
	outbound.AuditChain
	read    *int
	removed *[]int64
}

// Sealed counts the entries.
func (p pruned) Sealed(ctx context.Context, owner tenant.ID, behind int64, limit int) ([]audit.Entry, error) {
	found, err := p.AuditChain.Sealed(ctx, owner, behind, limit)
	*p.read += len(found)
	return found, err
}

// Prune notes where it begins and ends.
func (p pruned) Prune(ctx context.Context, behind int64, head audit.Head) error {
	*p.removed = append(*p.removed, behind, head.Pruned.Sequence)
	return p.AuditChain.Prune(ctx, behind, head)
}

func TestPruningALongLogReadsAndRemovesEachEntryOnce(t *testing.T) {
	onEach(t, func(e env) {
		const entries = 950
		owner := e.tenant().ID()
		e.append(owner, entries)
		e.seal()
		e.clock.Set(noon.Add(100 * time.Hour))
		read, removed := 0, []int64(nil)
		store := fixture.NewStore(e.store)
		store.WrapWrite = func(st outbound.Stores) outbound.Stores {
			st.Audit.Chain = pruned{st.Audit.Chain, &read, &removed}
			return st
		}
		n, err := recording.NewSealer(store, e.clock, recording.Retention(48*time.Hour)).Prune(e.Context())
		if n != entries || read != entries || err != nil {
			e.Error(n, read, err)
		}
		if diff := cmp.Diff([]int64{0, 200, 200, 400, 400, 600, 600, 800, 800, 950}, removed); diff != "" {
			e.Error(diff)
		}
		if store.Commits != 6 { // one sweeps
			e.Error(store.Commits)
		}
	})
}
