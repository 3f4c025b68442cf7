package runs_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/sluicehq/sluice/application/runs"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// token is what resumes the node a of a run.
func (d *desk) token(id run.ID) string {
	d.Helper()
	shown, err := d.runs.Get(d.Context(), d.who, id)
	if err != nil || len(shown.Tokens) != 1 {
		d.Fatalf("%v, %v", shown.Tokens, err)
	}
	return shown.Tokens["a"]
}

func (d *desk) resume(c run.ResumeCall) error {
	return d.firing.Resume(d.Context(), d.who, domain.Once{}, c)
}

func TestATokenResumesARunOnce(t *testing.T) {
	atDesk(t, func(d *desk) {
		id := d.waiting(d.version([]string{forInput, `b transform {"expression": "input.value"}`}, []string{"a -> b"}), "e", 1)[0]
		token := d.token(id)
		d.wantCode(d.resume(run.ResumeCall{Run: id, Token: token, Input: body(`"perhaps"`)}), domain.Invalid, "input_invalid")
		if r := d.get(id); r.Status() != run.StatusPaused || len(d.told.since()) > 0 {
			t.Errorf("it is %s", r.Status())
		}
		if err := d.resume(run.ResumeCall{Run: id, Token: token, Input: body(`true`)}); err != nil {
			t.Fatal(err)
		}
		r := d.get(id)
		if output, _ := r.Output("b"); r.Status() != run.StatusCompleted || string(output) != "true" {
			t.Errorf("%s: %s", r.Status(), output)
		}
		d.same([]run.ID{id}, d.told.since())
		d.same([]string{"run.resumed", "run.completed"}, d.events(id))
		d.wantCode(d.resume(run.ResumeCall{Run: id, Token: token, Input: body(`true`)}), domain.Conflict, "not_paused")
	})
}

func TestAWrongTokenSaysNotEvenWhetherThereIsSuchARun(t *testing.T) {
	d := newDesk(t, openSQLite(t))
	id := d.waiting(d.version([]string{forInput}, nil), "e", 1)[0]
	foreign := newDesk(t, openSQLite(t))
	var texts []string
	for _, try := range []struct {
		firing *runs.Firing
		who    tenant.Caller
		call   run.ResumeCall
	}{
		{d.firing, d.who, run.ResumeCall{Run: id, Token: "wrong"}},
		{d.firing, d.who, run.ResumeCall{Run: "run_absent", Token: d.token(id)}},
		{d.firing, secret(d.tenant()), run.ResumeCall{Run: id, Token: d.token(id)}},
		{foreign.firing, foreign.who, run.ResumeCall{Run: id, Token: d.token(id)}},
	} {
		err := try.firing.Resume(t.Context(), try.who, keyed("k"), try.call)
		d.wantCode(err, domain.NotFound, "run_not_found")
		texts = append(texts, err.Error())
	}
	if len(slices.Compact(texts)) != 1 {
		t.Errorf("they differ: %q", texts)
	}
	d.wantCode(d.resume(run.ResumeCall{}), domain.Invalid, "call_invalid")
}

func TestALateTokenExpiresTheRun(t *testing.T) {
	d := newDesk(t, openSQLite(t))
	id := d.waiting(d.version([]string{`a input {"prompt": "Ok?", "timeoutMs": 1000}`}, nil), "e", 1)[0]
	token := run.Token(d.key.Secret(id), id, "a", d.get(id).Nodes()[0].Pause.Seq)
	d.eventually("a second passes", func() bool { return time.Since(d.get(id).UpdatedAt()) > 1100*time.Millisecond })
	d.wantCode(d.resume(run.ResumeCall{Run: id, Token: token, Input: body(`"x"`)}), domain.Conflict, "expired")
	d.same([]run.ID{id}, d.told.since())
	d.wantCode(d.resume(run.ResumeCall{Run: id, Token: token, Input: body(`"x"`)}), domain.Conflict, "expired")
	if r := d.get(id); r.Status() != run.StatusFailed || r.Failure().Code != "expired" {
		t.Errorf("what fell due is not recorded: it is %s", r.Status())
	}
	if told := d.told.since(); len(told) > 0 {
		t.Errorf("%v are told of again", told)
	}
}

func TestResumingHasItsEffectOnce(t *testing.T) {
	d := newDesk(t, openSQLite(t))
	id := d.waiting(d.version([]string{forInput, `b input {"prompt": "Sure?", "inputType": "boolean"}`}, []string{"a -> b"}), "e", 1)[0]
	c := run.ResumeCall{Run: id, Token: d.token(id), Input: body(`true`)}
	if err := d.firing.Resume(t.Context(), d.who, keyed("k"), c); err != nil {
		t.Fatal(err)
	}
	if got := replayed(d.firing.Resume(t.Context(), d.who, keyed("k"), c)); got != "<nil>" {
		t.Error(got)
	}
	if r := d.get(id); r.Status() != run.StatusPaused || len(r.Executed()) != 1 {
		t.Errorf("%s, %v", r.Status(), r.Executed())
	}
}

func TestAWorkflowIsStartedByHand(t *testing.T) {
	atDesk(t, func(d *desk) {
		ver := d.version([]string{`a transform {"expression": "payload.n"}`}, nil)
		c := run.ManualCall{Call: run.Call{EventData: body(`{"n":1}`), Entity: text("e")}}
		r, err := d.firing.Start(d.Context(), d.who, keyed("k"), ver.Workflow(), c)
		if err != nil {
			t.Fatal(err)
		}
		d.same(run.New(r.ID(), run.Start{
			Tenant: d.owner, Workflow: ver.Workflow(), Version: ver.ID(), Entity: "e", DedupeKey: "k", Cause: run.CauseManual, Payload: body(`{"n":1}`),
		}, d.clock.Now()).State(), d.get(r.ID()).State())
		d.same([]run.ID{r.ID()}, d.told.since())
		_, err = d.firing.Start(d.Context(), d.who, keyed("k"), ver.Workflow(), c)
		if got := replayed(err); got == "" || len(d.of(d.owner)) != 1 {
			t.Errorf("the repeat gets %s", got)
		}
		if done := d.begin(r.ID()); done.Status() != run.StatusCompleted {
			t.Errorf("it is %s", done.Status())
		}
	})
}

func TestWhatCannotBeStartedByHandSaysWhy(t *testing.T) {
	d := newDesk(t, openSQLite(t))
	ver, off, unpublished := d.version(nil, nil), d.version(nil, nil), d.version(nil, nil)
	d.do(func(ctx context.Context, st outbound.Stores) error {
		wf, err := st.Workflows.Get(ctx, d.owner, off.Workflow())
		if err != nil {
			return err
		}
		wf.Toggle(d.clock.Now())
		state := unpublished.State()
		state.Active, state.PublishedAt = false, nil
		return errors.Join(st.Workflows.Update(ctx, wf), st.Versions.Update(ctx, workflow.RestoreVersion(state)))
	})
	for _, c := range []struct {
		of      workflow.ID
		version workflow.VersionID
		kind    domain.Kind
		code    string
	}{
		{"wf_absent", "", domain.NotFound, "workflow_not_found"},
		{off.Workflow(), "", domain.Conflict, "workflow_inactive"},
		{off.Workflow(), off.ID(), domain.Conflict, "workflow_inactive"},
		{unpublished.Workflow(), "", domain.Conflict, "version_not_published"},
		{unpublished.Workflow(), unpublished.ID(), domain.Conflict, "version_not_published"},
		{ver.Workflow(), off.ID(), domain.Invalid, "call_invalid"},
		{ver.Workflow(), "wfv_absent", domain.Invalid, "call_invalid"},
	} {
		_, err := d.firing.Start(t.Context(), d.who, keyed("k"), c.of, run.ManualCall{Version: c.version})
		d.wantCode(err, c.kind, c.code)
	}
	_, err := d.firing.Start(t.Context(), secret(d.tenant()), domain.Once{}, ver.Workflow(), run.ManualCall{})
	d.wantCode(err, domain.NotFound, "workflow_not_found")
	state := ver.State()
	state.Active = false
	d.do(func(ctx context.Context, st outbound.Stores) error {
		return st.Versions.Update(ctx, workflow.RestoreVersion(state))
	})
	if _, err := d.firing.Start(t.Context(), d.who, domain.Once{}, ver.Workflow(), run.ManualCall{Version: ver.ID()}); err != nil {
		t.Errorf("one that was published before: %v", err)
	}
}

func TestARunIsCancelledOnce(t *testing.T) {
	atDesk(t, func(d *desk) {
		ver := d.version([]string{forInput}, nil)
		paused := d.waiting(ver, "e", 1)[0]
		pending, err := d.firing.Start(d.Context(), d.who, domain.Once{}, ver.Workflow(), run.ManualCall{})
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []run.ID{paused, pending.ID()} {
			d.told.since()
			changed, err := d.runs.Cancel(d.Context(), d.who, keyed(string(id)), id, "not needed")
			if err != nil || changed.Status != run.StatusCancelled {
				t.Fatalf("%v, %v", changed, err)
			}
			d.same(d.get(id).Summary(), changed)
			d.same([]string{"run.cancelled"}, d.events(id))
			d.same([]run.ID{id}, d.told.since())
			_, err = d.runs.Cancel(d.Context(), d.who, keyed(string(id)), id, "not needed")
			if replayed(err) == "" {
				t.Error(err)
			}
			_, err = d.runs.Cancel(d.Context(), d.who, domain.Once{}, id, "")
			d.wantCode(err, domain.Conflict, "run_finished")
		}
	})
}

func TestARunOfAVersionThatIsGoneCanStillBeCancelledAndNothingElse(t *testing.T) {
	d := newDesk(t, openSQLite(t))
	ver := d.version([]string{forInput}, nil)
	id := d.waiting(ver, "e", 1)[0]
	token := d.token(id)
	d.do(func(ctx context.Context, st outbound.Stores) error { return st.Versions.Delete(ctx, d.owner, ver.ID()) })
	d.wantCode(d.resume(run.ResumeCall{Run: id, Token: token}), domain.Conflict, "not_paused")
	d.wantCode(d.resume(run.ResumeCall{Run: id, Token: token + "x"}), domain.NotFound, "run_not_found")
	d.same([]run.Skip{{Run: id, Reason: run.SkipNotPaused}}, d.ingest("e", run.ResumeOptions{}).Skipped)
	_, err := d.runs.Retry(t.Context(), d.who, domain.Once{}, id)
	d.wantCode(err, domain.Conflict, "run_not_failed")
	changed, err := d.runs.Cancel(t.Context(), d.who, domain.Once{}, id, "")
	if err != nil || changed.Status != run.StatusCancelled {
		t.Errorf("%v", err)
	}
}

func TestAFailedRunIsRetried(t *testing.T) {
	atDesk(t, func(d *desk) {
		ver := d.version([]string{"order " + call}, nil)
		r, err := d.firing.Start(d.Context(), d.who, domain.Once{}, ver.Workflow(), run.ManualCall{})
		if err != nil {
			t.Fatal(err)
		}
		id := r.ID()
		_, err = d.runs.Retry(d.Context(), d.who, domain.Once{}, id)
		d.wantCode(err, domain.Conflict, "run_not_failed")
		at := d.begin(id).Nodes()[0]
		d.happens(id, run.AttemptFailed{Node: at.ID, Attempt: 1, Code: "http_status", Message: "404"})
		changed, err := d.runs.Retry(d.Context(), d.who, keyed("k"), id)
		if err != nil || changed.Status != run.StatusRunning {
			t.Fatalf("%v, %v", changed, err)
		}
		retried := d.get(id)
		d.same(retried.Summary(), changed)
		d.same(2, retried.Nodes()[0].Attempts)
		d.happens(id, run.AttemptFailed{Node: at.ID, Attempt: 2, Code: "http_status", Message: "404"})
		d.do(func(ctx context.Context, st outbound.Stores) error { return st.Versions.Delete(ctx, d.owner, ver.ID()) })
		fresh := newDesk(t, d.raw) // whose memory does not hold the version
		_, err = fresh.runs.Retry(d.Context(), d.who, domain.Once{}, id)
		d.wantCode(err, domain.Conflict, "version_not_found")
	})
}

func TestRunsOfAnotherTenantDoNotExist(t *testing.T) {
	d := newDesk(t, openSQLite(t))
	id := d.waiting(d.version([]string{forInput}, nil), "e", 1)[0]
	other, public := secret(d.tenant()), tenant.Caller{Tenant: d.owner, KeyType: tenant.Public}
	for name, ask := range map[string]func(who tenant.Caller) error{
		"get": func(who tenant.Caller) error { _, err := d.runs.Get(t.Context(), who, id); return err },
		"cancel": func(who tenant.Caller) error {
			_, err := d.runs.Cancel(t.Context(), who, domain.Once{}, id, "")
			return err
		},
		"retry": func(who tenant.Caller) error { _, err := d.runs.Retry(t.Context(), who, domain.Once{}, id); return err },
		"follow": func(who tenant.Caller) error {
			return d.runs.Follow(t.Context(), who, id, 0, func([]run.Entry) error { return errors.New("it was told") })
		},
	} {
		if err := ask(other); code(err) != "run_not_found" {
			t.Errorf("%s: %v", name, err)
		}
		if err := ask(public); code(err) != "key_type_not_allowed" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := d.of(other.Tenant); len(got) > 0 {
		t.Errorf("it lists %v", got)
	}
	if r := d.get(id); r.Status() != run.StatusPaused {
		t.Errorf("it is %s", r.Status())
	}
}

func TestTheSchedulersRunsAreStartedUnlessSomethingStandsAgainstIt(t *testing.T) {
	atDesk(t, func(d *desk) {
		starter := runs.NewStarter(d.clock, counted{}, 0)
		ver := d.version(nil, nil)
		trg := d.trigger(ver, `{}`, func(st *trigger.State) { st.Type = trigger.Scheduled })
		gone := trigger.Restore(trigger.State{ID: "trg_gone", Tenant: d.owner, Version: ver.ID(), Active: true})
		fire := func(trg *trigger.Trigger, id string) outbound.ScheduledRun {
			return outbound.ScheduledRun{Trigger: trg, Fire: trigger.RestoreFire(trigger.FireState{
				Trigger: trg.ID(), Tenant: d.owner, At: d.clock.Now(), Outcome: trigger.Fired, RunID: id, RecordedAt: d.clock.Now(),
			})}
		}
		var refusals, again []string
		var before, after []bool
		d.do(func(ctx context.Context, st outbound.Stores) (err error) {
			if before, err = starter.Unfinished(ctx, st, []*trigger.Trigger{trg}); err != nil {
				return err
			}
			if refusals, err = starter.Start(ctx, st, []outbound.ScheduledRun{fire(gone, "run_gone"), fire(trg, "run_1")}); err != nil {
				return err
			}
			if again, err = starter.Start(ctx, st, []outbound.ScheduledRun{fire(trg, "run_2")}); err != nil {
				return err
			}
			after, err = starter.Unfinished(ctx, st, []*trigger.Trigger{trg})
			return err
		})
		d.same([]string{"The trigger is being deleted.", ""}, refusals)
		d.same([]string{"A run of this instant was started before."}, again)
		d.same([]bool{false, true}, append(before, after...))
		r := d.get("run_1")
		if r.Cause() != run.CauseSchedule || r.Trigger() != trg.ID() || r.Entity() != "ent_1" || string(r.Payload()) != fire(trg, "").Fire.Payload().String() {
			t.Errorf("%+v", r.State())
		}
	})
}

// counted makes the same identifier again and again.
type counted struct{}

func (counted) ID(prefix string) string { return prefix + "_1" }
func (counted) Fill([]byte)             {}

func TestASimulationHasNoEffect(t *testing.T) {
	atDesk(t, func(d *desk) {
		ver := d.version([]string{"order " + call, `ok transform {"expression": "input.ok"}`, forInput}, []string{"order -> ok", "ok -> a"})
		draft := ver.State()
		draft.Active, draft.PublishedAt = false, nil
		d.do(func(ctx context.Context, st outbound.Stores) error {
			return st.Versions.Update(ctx, workflow.RestoreVersion(draft))
		})
		begun := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
		c := run.SimulationCall{
			Call: run.Call{EventData: body(`{"n":1}`), Entity: text("e")}, At: &begun,
			Answers: map[workflow.NodeID][]run.Answer{"order": {{Output: body(`{"ok":"yes"}`), After: time.Second}}},
		}
		done, err := d.runs.Simulate(d.Context(), d.who, keyed("k"), ver.ID(), c)
		if err != nil {
			t.Fatal(err)
		}
		if len(done.Effects) != 1 || done.Effects[0].Type != node.HTTPRequest || !done.Effects[0].MayRepeat || len(d.outside.made()) > 0 {
			t.Errorf("the effects are %+v", done.Effects)
		}
		d.same(map[workflow.NodeID]json.RawMessage{"order": body(`{"n":1}`), "ok": body(`{"ok":"yes"}`), "a": body(`"yes"`)}, done.Inputs)
		d.same([]workflow.NodeID{"a"}, done.Open)
		if r := done.Run; r.Status() != run.StatusPaused || r.Entity() != "e" || r.Cause() != run.CauseManual || !r.UpdatedAt().Equal(begun.Add(time.Second)) {
			t.Errorf("%+v", r.State())
		}
		_, err = d.runs.Simulate(d.Context(), d.who, keyed("k"), ver.ID(), c)
		if replayed(err) == "" || len(d.of(d.owner)) > 0 {
			t.Errorf("%v", err)
		}
	})
}

func TestASimulationBeginsWhereItsTriggerDoes(t *testing.T) {
	d := newDesk(t, openSQLite(t))
	ver := d.version([]string{`Paid trigger_webhook`, `other trigger_webhook`, `b transform {"expression": "1"}`, `c transform {"expression": "2"}`}, []string{"Paid -> b", "other -> c"})
	trg, foreign := d.trigger(ver, `{}`), d.simple(`{}`)
	done, err := d.runs.Simulate(t.Context(), d.who, domain.Once{}, ver.ID(), run.SimulationCall{Trigger: trg.ID()})
	if err != nil {
		t.Fatal(err)
	}
	d.same([]workflow.NodeID{"Paid", "b"}, done.Run.Executed())
	if done.Run.Cause() != run.CauseWebhook {
		t.Error(done.Run.Cause())
	}
	for _, id := range []trigger.ID{foreign.ID(), "trg_absent"} {
		_, err = d.runs.Simulate(t.Context(), d.who, domain.Once{}, ver.ID(), run.SimulationCall{Trigger: id})
		d.wantCode(err, domain.Invalid, "call_invalid")
	}
	for _, c := range []run.SimulationCall{{Answers: map[workflow.NodeID][]run.Answer{"nowhere": {{}}}}, {Call: run.Call{Entity: text("")}}} {
		_, err = d.runs.Simulate(t.Context(), d.who, domain.Once{}, ver.ID(), c)
		if !errors.Is(err, domain.Invalid) {
			t.Error(err)
		}
	}
	_, err = d.runs.Simulate(t.Context(), secret(d.tenant()), domain.Once{}, ver.ID(), run.SimulationCall{})
	d.wantCode(err, domain.NotFound, "version_not_found")
	_, err = d.runs.Simulate(t.Context(), tenant.Caller{Tenant: d.owner, KeyType: tenant.Public}, domain.Once{}, ver.ID(), run.SimulationCall{})
	d.wantCode(err, domain.Forbidden, "key_type_not_allowed")
}
