package change_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/change"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
)

func TestWhoLearnsOfAChange(t *testing.T) {
	for claim, c := range map[string]struct {
		of   change.Change
		want map[tenant.Scope]bool
	}{
		"of a record of a sub-tenant": {change.Change{Tenant: "tenant_1", SubTenant: "a"}, map[tenant.Scope]bool{
			tenant.All("tenant_1"): true, tenant.Only("tenant_1", "a"): true, tenant.Only("tenant_1", "b"): false, tenant.Only("tenant_1", ""): false,
			tenant.All("tenant_2"): false, tenant.Only("tenant_2", "a"): false, {}: false,
		}},
		"of a record of none": {change.Change{Tenant: "tenant_1"}, map[tenant.Scope]bool{
			tenant.All("tenant_1"): true, tenant.Only("tenant_1", "a"): false, tenant.Only("tenant_1", ""): true, tenant.All("tenant_2"): false,
		}},
		"of a record of several": {change.Change{Tenant: "tenant_1", SubTenant: "a", Mixed: true}, map[tenant.Scope]bool{
			tenant.All("tenant_1"): true, tenant.Only("tenant_1", "a"): false, tenant.Only("tenant_1", ""): false, tenant.All("tenant_2"): false,
		}},
	} {
		for scope, want := range c.want {
			if got := c.of.Within(scope); got != want {
				t.Errorf("%s, with %+v: %t", claim, scope, got)
			}
		}
	}
}

func TestChangesOfARecordComeToOne(t *testing.T) {
	for _, c := range []struct{ earlier, later, want change.Operation }{
		{change.Created, change.Changed, change.Created},
		{change.Created, change.Deleted, change.Deleted},
		{change.Changed, change.Changed, change.Changed},
		{change.Changed, change.Deleted, change.Deleted},
		{change.Deleted, change.Created, change.Created},
	} {
		if got := (change.Change{Operation: c.later}).After(change.Change{Operation: c.earlier}); got.Operation != c.want {
			t.Errorf("%s, then %s: %s", c.earlier, c.later, got.Operation)
		}
	}
}

func TestWhatAStepChangesInLists(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	st := run.New("run_1", run.Start{Tenant: "tenant_1", Workflow: "wf_1", Cause: run.CauseManual}, at).State()
	st.SubTenant, st.Parent = "a", "run_0"
	for id, kind := range map[workflow.NodeID]run.PauseKind{"ask": run.PauseInput, "event": run.PauseEvent, "sleep": run.PauseWait, "call": run.PauseRun} {
		st.Nodes = append(st.Nodes, run.NodeState{ID: id, Pause: &run.Pause{Kind: kind, Since: at}})
	}
	st.Nodes = append(st.Nodes, run.NodeState{ID: "never"})
	r := run.Restore(st)
	turned := change.Change{Tenant: "tenant_1", SubTenant: "a", Kind: change.Run, Operation: change.Changed, ID: "run_1", Workflow: "wf_1", Parent: "run_0"}
	pause := func(node workflow.NodeID, op change.Operation) change.Change {
		c := turned
		c.Kind, c.Node, c.Operation = change.Pause, node, op
		return c
	}
	for claim, c := range map[string]struct {
		history []run.Entry
		want    []change.Change
	}{
		"nothing that lists show":       {[]run.Entry{{Type: run.EntryNodeStarted, Node: "never"}, {Type: run.EntryNodeCompleted, Node: "never"}}, nil},
		"it begins":                     {[]run.Entry{{Type: run.EntryRunStarted}}, []change.Change{turned}},
		"it turns twice":                {[]run.Entry{{Type: run.EntryRunResumed}, {Type: run.EntryRunCompleted}}, []change.Change{turned}},
		"a node waits for a person":     {[]run.Entry{{Type: run.EntryNodeWaiting, Node: "ask"}, {Type: run.EntryRunPaused}}, []change.Change{pause("ask", change.Created), turned}},
		"nodes wait for nobody":         {[]run.Entry{{Type: run.EntryNodeWaiting, Node: "sleep"}, {Type: run.EntryNodeWaiting, Node: "call"}}, nil},
		"a person answers":              {[]run.Entry{{Type: run.EntryNodeCompleted, Node: "ask"}}, []change.Change{pause("ask", change.Deleted)}},
		"an event does not come":        {[]run.Entry{{Type: run.EntryNodeFailed, Node: "event"}, {Type: run.EntryRunFailed}}, []change.Change{pause("event", change.Deleted), turned}},
		"it is cancelled while it asks": {[]run.Entry{{Type: run.EntryNodeCancelled, Node: "ask"}, {Type: run.EntryRunCancelled}}, []change.Change{pause("ask", change.Deleted), turned}},
	} {
		if diff := cmp.Diff(c.want, change.OfStep(r, c.history)); diff != "" {
			t.Errorf("%s: %s", claim, diff)
		}
	}
}
