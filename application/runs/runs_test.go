package runs_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/application/runs"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/usage"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// token is what resumes the node a of a run.
func (d *env) token(id run.ID) string {
	d.Helper()
	shown, err := d.Runs.Get(d.Context(), d.Caller, id)
	if err != nil || len(shown.Tokens) != 1 {
		d.Fatalf("%v, %v", shown.Tokens, err)
	}
	return shown.Tokens["a"]
}

func (d *env) resume(c run.ResumeCall) error {
	return d.Runs.Resume(d.Context(), d.Caller, domain.IdempotencyKey{}, c)
}

func TestATokenResumesARunOnce(t *testing.T) {
	onEachStore(t, func(d *env) {
		id := d.Waiting(d.NewVersion([]string{fixture.InputNode, `b transform {"expression": "input.value"}`}, []string{"a -> b"}), "e", 1)[0]
		token := d.token(id)
		d.WantCode(d.resume(run.ResumeCall{Run: id, Token: token, Input: fixture.Body(`"perhaps"`)}), domain.Invalid, "input_invalid")
		if r := d.Get(id); r.Status() != run.StatusPaused || len(d.RecordedSignals.Since()) > 0 {
			t.Errorf("it is %s", r.Status())
		}
		if err := d.resume(run.ResumeCall{Run: id, Token: token, Input: fixture.Body(`true`)}); err != nil {
			t.Fatal(err)
		}
		r := d.Get(id)
		if output, _ := r.Output("b"); r.Status() != run.StatusCompleted || string(output) != "true" {
			t.Errorf("%s: %s", r.Status(), output)
		}
		d.Same([]run.ID{id}, d.RecordedSignals.Since())
		d.Same([]string{"run.resumed", "run.completed"}, d.Events(id))
		d.WantCode(d.resume(run.ResumeCall{Run: id, Token: token, Input: fixture.Body(`true`)}), domain.Conflict, "not_paused")
	})
}

func TestAWrongTokenSaysNotEvenWhetherThereIsSuchARun(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	id := d.Waiting(d.NewVersion([]string{fixture.InputNode}, nil), "e", 1)[0]
	foreign := newEnv(t, fixture.OpenSQLite(t))
	var texts []string
	for _, try := range []struct {
		runs *runs.Service
		who  tenant.Caller
		call run.ResumeCall
	}{
		{d.Runs, d.Caller, run.ResumeCall{Run: id, Token: "wrong"}},
		{d.Runs, d.Caller, run.ResumeCall{Run: "run_absent", Token: d.token(id)}},
		{d.Runs, fixture.SecretCaller(d.NewTenant()), run.ResumeCall{Run: id, Token: d.token(id)}},
		{foreign.Runs, foreign.Caller, run.ResumeCall{Run: id, Token: d.token(id)}},
	} {
		err := try.runs.Resume(t.Context(), try.who, fixture.Keyed("k"), try.call)
		d.WantCode(err, domain.NotFound, "run_not_found")
		texts = append(texts, err.Error())
	}
	if len(slices.Compact(texts)) != 1 {
		t.Errorf("they differ: %q", texts)
	}
	d.WantCode(d.resume(run.ResumeCall{}), domain.Invalid, "call_invalid")
}

func TestALateTokenExpiresTheRun(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	id := d.Waiting(d.NewVersion([]string{`a input {"prompt": "Ok?", "timeoutMs": 1000}`}, nil), "e", 1)[0]
	token := run.Token(d.Key.Secret(id), id, "a", d.Get(id).Nodes()[0].Pause.Seq)
	d.Eventually("a second passes", func() bool { return time.Since(d.Get(id).UpdatedAt()) > 1100*time.Millisecond })
	d.WantCode(d.resume(run.ResumeCall{Run: id, Token: token, Input: fixture.Body(`"x"`)}), domain.Conflict, "expired")
	d.Same([]run.ID{id}, d.RecordedSignals.Since())
	d.WantCode(d.resume(run.ResumeCall{Run: id, Token: token, Input: fixture.Body(`"x"`)}), domain.Conflict, "expired")
	late := runs.NewQuestions(d.Runs).Answer(t.Context(), d.Caller, domain.IdempotencyKey{}, run.NewPauseID(id, d.Get(id).Nodes()[0].Pause.Seq), run.AnswerCall{Input: fixture.Body(`"x"`)})
	d.WantCode(late, domain.Conflict, "expired")
	if r := d.Get(id); r.Status() != run.StatusFailed || r.Failure().Code != "expired" {
		t.Errorf("what fell due is not recorded: it is %s", r.Status())
	}
	if told := d.RecordedSignals.Since(); len(told) > 0 {
		t.Errorf("%v are told of again", told)
	}
}

func TestResumingHasItsEffectOnce(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	id := d.Waiting(d.NewVersion([]string{fixture.InputNode, `b input {"prompt": "Sure?", "inputType": "boolean"}`}, []string{"a -> b"}), "e", 1)[0]
	c := run.ResumeCall{Run: id, Token: d.token(id), Input: fixture.Body(`true`)}
	if err := d.Runs.Resume(t.Context(), d.Caller, fixture.Keyed("k"), c); err != nil {
		t.Fatal(err)
	}
	if got := fixture.Replayed(d.Runs.Resume(t.Context(), d.Caller, fixture.Keyed("k"), c)); got != "<nil>" {
		t.Error(got)
	}
	if r := d.Get(id); r.Status() != run.StatusPaused || len(r.Executed()) != 1 {
		t.Errorf("%s, %v", r.Status(), r.Executed())
	}
}

func TestAWorkflowIsStartedByHand(t *testing.T) {
	onEachStore(t, func(d *env) {
		ver := d.NewVersion([]string{`a transform {"expression": "payload.n"}`}, nil)
		c := run.ManualCall{Call: run.Call{EventData: fixture.Body(`{"n":1}`), Entity: fixture.Text("e")}}
		r, err := d.Firing.Start(d.Context(), d.Caller, fixture.Keyed("k"), ver.Workflow(), c)
		if err != nil {
			t.Fatal(err)
		}
		want := run.New(r.ID(), run.Start{
			Tenant: d.Owner, Workflow: ver.Workflow(), Version: ver.ID(), Entity: "e", DedupeKey: "k", Cause: run.CauseManual, Payload: fixture.Body(`{"n":1}`),
		}, d.Clock.Now())
		want.BeginOn(run.EngineTable)
		d.Same(want.State(), d.Get(r.ID()).State())
		d.Same([]run.ID{r.ID()}, d.RecordedSignals.Since())
		_, err = d.Firing.Start(d.Context(), d.Caller, fixture.Keyed("k"), ver.Workflow(), c)
		if got := fixture.Replayed(err); got == "" || len(d.RunsOf(d.Owner)) != 1 {
			t.Errorf("the repeat gets %s", got)
		}
		if done := d.Begin(r.ID()); done.Status() != run.StatusCompleted {
			t.Errorf("it is %s", done.Status())
		}
	})
}

func TestWhatCannotBeStartedByHandSaysWhy(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	ver, off, unpublished := d.NewVersion(nil, nil), d.NewVersion(nil, nil), d.NewVersion(nil, nil)
	d.Do(func(ctx context.Context, st outbound.Stores) error {
		wf, err := st.Workflows.Get(ctx, tenant.All(d.Owner), off.Workflow())
		if err != nil {
			return err
		}
		wf.Toggle(d.Clock.Now())
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
		_, err := d.Firing.Start(t.Context(), d.Caller, fixture.Keyed("k"), c.of, run.ManualCall{Version: c.version})
		d.WantCode(err, c.kind, c.code)
	}
	_, err := d.Firing.Start(t.Context(), fixture.SecretCaller(d.NewTenant()), domain.IdempotencyKey{}, ver.Workflow(), run.ManualCall{})
	d.WantCode(err, domain.NotFound, "workflow_not_found")
	state := ver.State()
	state.Active = false
	d.Do(func(ctx context.Context, st outbound.Stores) error {
		return st.Versions.Update(ctx, workflow.RestoreVersion(state))
	})
	if _, err := d.Firing.Start(t.Context(), d.Caller, domain.IdempotencyKey{}, ver.Workflow(), run.ManualCall{Version: ver.ID()}); err != nil {
		t.Errorf("one that was published before: %v", err)
	}
}

func TestARunIsCancelledOnce(t *testing.T) {
	onEachStore(t, func(d *env) {
		ver := d.NewVersion([]string{fixture.InputNode}, nil)
		paused := d.Waiting(ver, "e", 1)[0]
		pending, err := d.Firing.Start(d.Context(), d.Caller, domain.IdempotencyKey{}, ver.Workflow(), run.ManualCall{})
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []run.ID{paused, pending.ID()} {
			d.RecordedSignals.Since()
			changed, err := d.Runs.Cancel(d.Context(), d.Caller, fixture.Keyed(string(id)), id, "not needed")
			if err != nil || changed.Status != run.StatusCancelled {
				t.Fatalf("%v, %v", changed, err)
			}
			d.Same(d.Get(id).Summary(), changed)
			d.Same([]string{"run.cancelled"}, d.Events(id))
			d.Same([]run.ID{id}, d.RecordedSignals.Since())
			_, err = d.Runs.Cancel(d.Context(), d.Caller, fixture.Keyed(string(id)), id, "not needed")
			if fixture.Replayed(err) == "" {
				t.Error(err)
			}
			_, err = d.Runs.Cancel(d.Context(), d.Caller, domain.IdempotencyKey{}, id, "")
			d.WantCode(err, domain.Conflict, "run_finished")
		}
	})
}

func TestARunOfAVersionThatIsGoneCanStillBeCancelledAndNothingElse(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	ver := d.NewVersion([]string{fixture.InputNode}, nil)
	id := d.Waiting(ver, "e", 1)[0]
	token := d.token(id)
	d.Do(func(ctx context.Context, st outbound.Stores) error {
		return st.Versions.Delete(ctx, tenant.All(d.Owner), ver.ID())
	})
	d.WantCode(d.resume(run.ResumeCall{Run: id, Token: token}), domain.Conflict, "not_paused")
	d.WantCode(d.resume(run.ResumeCall{Run: id, Token: token + "x"}), domain.NotFound, "run_not_found")
	d.Same([]run.Skip{{Run: id, Reason: run.SkipNotPaused}}, d.Ingest("e", run.ResumeOptions{}).Skipped)
	_, err := d.Runs.Retry(t.Context(), d.Caller, domain.IdempotencyKey{}, id)
	d.WantCode(err, domain.Conflict, "run_not_failed")
	changed, err := d.Runs.Cancel(t.Context(), d.Caller, domain.IdempotencyKey{}, id, "")
	if err != nil || changed.Status != run.StatusCancelled {
		t.Errorf("%v", err)
	}
}

func TestAFailedRunIsRetried(t *testing.T) {
	onEachStore(t, func(d *env) {
		ver := d.NewVersion([]string{"order " + fixture.CallNode}, nil)
		r, err := d.Firing.Start(d.Context(), d.Caller, domain.IdempotencyKey{}, ver.Workflow(), run.ManualCall{})
		if err != nil {
			t.Fatal(err)
		}
		id := r.ID()
		_, err = d.Runs.Retry(d.Context(), d.Caller, domain.IdempotencyKey{}, id)
		d.WantCode(err, domain.Conflict, "run_not_failed")
		at := d.Begin(id).Nodes()[0]
		d.Advance(id, run.AttemptFailed{Node: at.ID, Attempt: 1, Code: "http_status", Message: "404"})
		changed, err := d.Runs.Retry(d.Context(), d.Caller, fixture.Keyed("k"), id)
		if err != nil || changed.Status != run.StatusRunning {
			t.Fatalf("%v, %v", changed, err)
		}
		retried := d.Get(id)
		d.Same(retried.Summary(), changed)
		d.Same(2, retried.Nodes()[0].Attempts)
		d.Advance(id, run.AttemptFailed{Node: at.ID, Attempt: 2, Code: "http_status", Message: "404"})
		d.Call(d.NewSimpleTrigger("{}"), run.Call{})
		d.SetBudgets(tenant.Budgets{LiveRuns: 1})
		_, err = d.Runs.Retry(d.Context(), d.Caller, domain.IdempotencyKey{}, id)
		d.WantCode(err, domain.RateLimited, tenant.CodeBudgetExceeded)
		d.Same(map[tenant.ID]usage.Refusals{d.Owner: {tenant.LiveRuns: true}}, d.Tally.TakeRefusals())
		d.SetBudgets(tenant.Budgets{})
		d.Do(func(ctx context.Context, st outbound.Stores) error {
			return st.Versions.Delete(ctx, tenant.All(d.Owner), ver.ID())
		})
		fresh := newEnv(t, d.Raw) // whose memory does not hold the version
		_, err = fresh.Runs.Retry(d.Context(), d.Caller, domain.IdempotencyKey{}, id)
		d.WantCode(err, domain.Conflict, "version_not_found")
	})
}

func TestRunsOfAnotherTenantDoNotExist(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	id := d.Waiting(d.NewVersion([]string{fixture.InputNode}, nil), "e", 1)[0]
	other, public := fixture.SecretCaller(d.NewTenant()), tenant.Caller{Scope: tenant.All(d.Owner), KeyType: tenant.Public}
	for name, ask := range map[string]func(who tenant.Caller) error{
		"get": func(who tenant.Caller) error { _, err := d.Runs.Get(t.Context(), who, id); return err },
		"cancel": func(who tenant.Caller) error {
			_, err := d.Runs.Cancel(t.Context(), who, domain.IdempotencyKey{}, id, "")
			return err
		},
		"retry": func(who tenant.Caller) error {
			_, err := d.Runs.Retry(t.Context(), who, domain.IdempotencyKey{}, id)
			return err
		},
		"follow": func(who tenant.Caller) error {
			return d.Runs.Follow(t.Context(), who, id, 0, func([]run.Entry) error { return errors.New("it was told") })
		},
	} {
		if err := ask(other); fixture.Code(err) != "run_not_found" {
			t.Errorf("%s: %v", name, err)
		}
		if err := ask(public); fixture.Code(err) != "key_type_not_allowed" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := d.RunsOf(other.Tenant()); len(got) > 0 {
		t.Errorf("it lists %v", got)
	}
	if r := d.Get(id); r.Status() != run.StatusPaused {
		t.Errorf("it is %s", r.Status())
	}
}

func TestASimulationHasNoEffect(t *testing.T) {
	onEachStore(t, func(d *env) {
		ver := d.NewVersion([]string{"order " + fixture.CallNode, `ok transform {"expression": "input.ok"}`, fixture.InputNode}, []string{"order -> ok", "ok -> a"})
		draft := ver.State()
		draft.Active, draft.PublishedAt = false, nil
		d.Do(func(ctx context.Context, st outbound.Stores) error {
			return st.Versions.Update(ctx, workflow.RestoreVersion(draft))
		})
		begun := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
		c := run.SimulationCall{
			Call: run.Call{EventData: fixture.Body(`{"n":1}`), Entity: fixture.Text("e")}, At: &begun,
			Answers: map[workflow.NodeID][]run.Answer{"order": {{Output: fixture.Body(`{"ok":"yes"}`), After: time.Second}}},
		}
		done, err := d.Runs.Simulate(d.Context(), d.Caller, fixture.Keyed("k"), ver.ID(), c)
		if err != nil {
			t.Fatal(err)
		}
		if len(done.Effects) != 1 || done.Effects[0].Type != node.HTTPRequest || !done.Effects[0].MayRepeat || len(d.NodeRunner.Attempts()) > 0 {
			t.Errorf("the effects are %+v", done.Effects)
		}
		d.Same(map[workflow.NodeID]json.RawMessage{"order": fixture.Body(`{"n":1}`), "ok": fixture.Body(`{"ok":"yes"}`), "a": fixture.Body(`"yes"`)}, done.Inputs)
		d.Same([]workflow.NodeID{"a"}, done.Open)
		if r := done.Run; r.Status() != run.StatusPaused || r.Entity() != "e" || r.Cause() != run.CauseManual || !r.UpdatedAt().Equal(begun.Add(time.Second)) {
			t.Errorf("%+v", r.State())
		}
		_, err = d.Runs.Simulate(d.Context(), d.Caller, fixture.Keyed("k"), ver.ID(), c)
		if fixture.Replayed(err) == "" || len(d.RunsOf(d.Owner)) > 0 {
			t.Errorf("%v", err)
		}
	})
}

func TestWhatASimulationTakesIsFreeWhileItsCodeRuns(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	ver := d.NewVersion([]string{`a code {"source": "return input.n + 1"}`, `b transform {"expression": "input * 2"}`, `c code {"source": "return input + 1"}`}, []string{"a -> b", "b -> c"})
	code := d.Runs.WithNodes(d.NodeRunner, d.NodeRunner)
	asked, broken := 0, errors.New("no code can be run")
	d.NodeRunner.Answer = func(_ context.Context, call outbound.NodeCall) (outbound.NodeOutcome, error) {
		m := d.Memory
		if computing := m.Compute.Used() + m.Processors.Used() + m.Planning.Used(); computing > 0 || m.Calls.Used() < execution.CallMemory {
			t.Errorf("%s: computing holds %d, calls %d", call.NodeID, computing, m.Calls.Used())
		}
		if asked++; asked > 2 {
			return nil, broken
		}
		return outbound.NodeCompleted{Output: float64(asked)}, nil
	}
	simulate := func() (inbound.Simulated, error) {
		return code.Simulate(t.Context(), d.Caller, domain.IdempotencyKey{}, ver.ID(), run.SimulationCall{Call: run.Call{EventData: fixture.Body(`{"n":1}`)}})
	}
	if done, err := simulate(); err != nil || asked != 2 || done.Run.Status() != run.StatusCompleted {
		t.Fatalf("%v, code ran %d times", err, asked)
	}
	if _, err := simulate(); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestASimulationBeginsWhereItsTriggerDoes(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	ver := d.NewVersion([]string{`Paid trigger_webhook`, `other trigger_webhook`, `b transform {"expression": "1"}`, `c transform {"expression": "2"}`}, []string{"Paid -> b", "other -> c"})
	trg, foreign := d.NewTrigger(ver, `{}`), d.NewSimpleTrigger(`{}`)
	done, err := d.Runs.Simulate(t.Context(), d.Caller, domain.IdempotencyKey{}, ver.ID(), run.SimulationCall{Trigger: trg.ID()})
	if err != nil {
		t.Fatal(err)
	}
	d.Same([]workflow.NodeID{"Paid", "b"}, done.Run.Executed())
	if done.Run.Cause() != run.CauseWebhook {
		t.Error(done.Run.Cause())
	}
	for _, id := range []trigger.ID{foreign.ID(), "trg_absent"} {
		_, err = d.Runs.Simulate(t.Context(), d.Caller, domain.IdempotencyKey{}, ver.ID(), run.SimulationCall{Trigger: id})
		d.WantCode(err, domain.Invalid, "call_invalid")
	}
	for _, c := range []run.SimulationCall{{Answers: map[workflow.NodeID][]run.Answer{"nowhere": {{}}}}, {Call: run.Call{Entity: fixture.Text("")}}} {
		_, err = d.Runs.Simulate(t.Context(), d.Caller, domain.IdempotencyKey{}, ver.ID(), c)
		if !errors.Is(err, domain.Invalid) {
			t.Error(err)
		}
	}
	_, err = d.Runs.Simulate(t.Context(), fixture.SecretCaller(d.NewTenant()), domain.IdempotencyKey{}, ver.ID(), run.SimulationCall{})
	d.WantCode(err, domain.NotFound, "version_not_found")
	_, err = d.Runs.Simulate(t.Context(), tenant.Caller{Scope: tenant.All(d.Owner), KeyType: tenant.Public}, domain.IdempotencyKey{}, ver.ID(), run.SimulationCall{})
	d.WantCode(err, domain.Forbidden, "key_type_not_allowed")
}
