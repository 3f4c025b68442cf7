package firing_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// draft makes a stored version one that was never published.
func (d *env) draft(nodes, edges []string) *workflow.Version {
	d.Helper()
	st := d.NewVersion(nodes, edges).State()
	st.Active, st.PublishedAt = false, nil
	ver := workflow.RestoreVersion(st)
	d.Do(func(ctx context.Context, st outbound.Stores) error { return st.Versions.Update(ctx, ver) })
	return ver
}

func (d *env) edit(ver *workflow.Version, nodes ...workflow.NodeDraft) {
	d.Helper()
	if err := ver.Edit(workflow.VersionPatch{Nodes: &nodes, Edges: &[]workflow.EdgeDraft{}}, func() workflow.EdgeID { return "" }); err != nil {
		d.Fatal(err)
	}
	d.Do(func(ctx context.Context, st outbound.Stores) error { return st.Versions.Update(ctx, ver) })
}

func TestARunOfADraftExecutesWhatItWas(t *testing.T) {
	onEachStore(t, func(d *env) {
		ver := d.draft([]string{`a transform {"expression": "payload.n + 1"}`, `b input {"prompt": "Ok?", "inputType": "boolean"}`}, []string{"a -> b"})
		r, err := d.Firing.StartVersion(d.Context(), d.Caller, domain.IdempotencyKey{}, ver.ID(), run.Call{EventData: json.RawMessage(`{"n": 1}`)})
		if err != nil {
			d.Fatal(err)
		}
		d.edit(ver, workflow.NodeDraft{ID: "other", Type: "transform", Version: "1.0.0", Name: "Other"})
		defer d.StartWorker()()
		paused := d.Until(r.ID(), "it waits", fixture.Is(run.StatusPaused))
		if output, _ := paused.Output("a"); string(output) != "2" {
			d.Errorf("a gave %s", output)
		}
		b := workflow.NodeID("b")
		again, err := d.Firing.Rerun(d.Context(), d.Caller, domain.IdempotencyKey{}, r.ID(), run.RerunCall{From: &b, Payload: json.RawMessage(`{"n": 5}`)})
		if err != nil || again.RerunOf != r.ID() || again.Version != ver.ID() {
			d.Fatal(again, err)
		}
		next := d.Until(again.ID, "it waits as well", fixture.Is(run.StatusPaused))
		if output, _ := next.Output("a"); string(output) != "2" || next.Source() != paused.Source() {
			d.Errorf("it executes %+v, and a gave %s", next.Source(), output)
		}
		d.Same([]string{"run.started", "node.taken_over a", "node.waiting b", "run.paused"}, d.History(again.ID))
		changed, err := d.Firing.StartVersion(d.Context(), d.Caller, domain.IdempotencyKey{}, ver.ID(), run.Call{})
		if err != nil || changed.Source() == paused.Source() {
			d.Errorf("a run of the changed draft executes %+v: %v", changed.Source(), err)
		}
	})
}

func TestADraftWithADisabledNodeTypeIsNotRun(t *testing.T) {
	onEachStore(t, func(d *env) {
		ver := d.draft([]string{"a wait"}, nil)
		start := func() error {
			_, err := d.Firing.StartVersion(d.Context(), d.Caller, domain.IdempotencyKey{}, ver.ID(), run.Call{})
			return err
		}
		if err := start(); err != nil {
			d.Fatal(err)
		}
		d.Do(func(ctx context.Context, st outbound.Stores) error {
			ten, err := st.Tenants.Get(ctx, d.Owner)
			if err != nil {
				return err
			}
			changed := ten.State()
			changed.Settings.DisabledNodeTypes = []string{"wait"}
			return st.Tenants.Update(ctx, tenant.Restore(changed))
		})
		d.WantCode(start(), domain.Invalid, "version_not_runnable")
	})
}

func TestARunIsRepeatedAsThingsStand(t *testing.T) {
	onEachStore(t, func(d *env) {
		trg := d.NewSimpleTrigger(`{"timeoutMs": 5000}`)
		ver := d.VersionOf(trg)
		first := d.Call(trg, run.Call{EventData: json.RawMessage(`{"n": 1}`), DedupeKey: fixture.Text("k")})
		active := run.ActiveVersion
		rerun := func(c run.RerunCall) (run.Summary, error) {
			return d.Firing.Rerun(d.Context(), d.Caller, domain.IdempotencyKey{}, first.Run, c)
		}
		made, err := rerun(run.RerunCall{Version: &active})
		if err != nil {
			d.Fatal(err)
		}
		next, of := d.Get(made.ID), d.Get(first.Run)
		got, want := next.State().Origin, of.State().Origin
		want.ID, want.RerunOf, want.Cause, want.DedupeKey, want.CreatedAt = got.ID, of.ID(), run.CauseRerun, got.DedupeKey, got.CreatedAt
		d.Same(want, got)
		if got.DedupeKey == "k" || next.Status() != run.StatusPending {
			d.Errorf("it is %+v", next.Summary())
		}
		once := fixture.Keyed("once")
		one, err := d.Firing.Rerun(d.Context(), d.Caller, once, first.Run, run.RerunCall{})
		if _, again := d.Firing.Rerun(d.Context(), d.Caller, once, first.Run, run.RerunCall{}); err != nil || again == nil || one.ID == "" {
			d.Errorf("a repeat of the request gave %v", again)
		}
		_, err = d.Firing.Rerun(d.Context(), fixture.SecretCaller(d.NewTenant()), domain.IdempotencyKey{}, first.Run, run.RerunCall{})
		d.WantCode(err, domain.NotFound, "run_not_found")
		d.Do(func(ctx context.Context, st outbound.Stores) error {
			return st.Versions.Update(ctx, inactiveVersion(ver))
		})
		_, err = rerun(run.RerunCall{Version: &active})
		d.WantCode(err, domain.Conflict, "version_not_published")
		if _, err = rerun(run.RerunCall{}); err != nil {
			d.Error(err)
		}
		toggle := func() {
			d.Do(func(ctx context.Context, st outbound.Stores) error {
				wf, err := st.Workflows.Get(ctx, tenant.All(d.Owner), ver.Workflow())
				if err != nil {
					return err
				}
				wf.Toggle(d.Clock.Now())
				return st.Workflows.Update(ctx, wf)
			})
		}
		toggle()
		_, err = rerun(run.RerunCall{})
		d.WantCode(err, domain.Conflict, "workflow_inactive")
		_, err = d.Firing.StartVersion(d.Context(), d.Caller, domain.IdempotencyKey{}, ver.ID(), run.Call{})
		d.WantCode(err, domain.Conflict, "workflow_inactive")
		toggle()
		d.Do(func(ctx context.Context, st outbound.Stores) error {
			return st.Versions.Delete(ctx, tenant.All(d.Owner), ver.ID())
		})
		a := workflow.NodeID("a")
		for _, c := range []run.RerunCall{{}, {From: &a}} {
			_, err = rerun(c)
			d.WantCode(err, domain.Conflict, "version_not_found")
		}
		d.Do(func(ctx context.Context, st outbound.Stores) error {
			return st.Workflows.Delete(ctx, tenant.All(d.Owner), ver.Workflow())
		})
		_, err = rerun(run.RerunCall{})
		d.WantCode(err, domain.Conflict, "workflow_not_found")
	})
}

func TestWhoMayOnlyActOnRunsRepeatsThemAsTheyWere(t *testing.T) {
	onEachStore(t, func(d *env) {
		approver := d.Caller
		approver.KeyType, approver.Member = tenant.Session, tenant.Member{User: "usr_1", Role: tenant.ApproverRole}
		for code, c := range map[string]run.RerunCall{
			"role_not_allowed": {Payload: json.RawMessage(`{"amount": 1}`)}, // which would start any run
			"run_not_found":    {},
		} {
			_, err := d.Firing.Rerun(d.Context(), approver, domain.IdempotencyKey{}, "run_00000000000000000000000000", c)
			if refused, ok := errors.AsType[*domain.Error](err); !ok || refused.Code != code {
				d.Errorf("%+v: %v", c, err)
			}
		}
	})
}
