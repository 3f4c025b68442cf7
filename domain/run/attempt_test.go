package run_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/expression"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/workflow"
)

func TestAnAttemptGetsEverythingItNeeds(t *testing.T) {
	p := plan(t, nodes(
		expr("a", "({amount: 5})"),
		`pay charge {"account": "x"}`,
		`get httpRequest {"url": "https://example.com/{{ input.amount }}?r={{ run.id }}", "method": "POST", "body": {"at": "{{ now() }}", "n": "{{ nodes.a.amount }}", "none": "{{ input.none }}"}}`,
		`plain httpRequest {"url": "https://example.com/", "timeoutMs": 1000}`,
	), edges("a -> pay", "a -> get", "a -> plain"))
	s := start(`{}`)
	s.SubTenant, s.Trigger = "sub", fired(t, "trg_1", "t", `{"timeoutMs": 5000}`)
	w := begin(t, p, s)
	common := run.Execute{
		Run: runID, Tenant: owner, SubTenant: "sub", Entity: "order-7", Attempt: 1, Version: "1.0.0", Deadline: noon.Add(5 * time.Second), ReachedAt: noon,
	}
	pay, get, plain := common, common, common
	pay.Node, pay.Type, pay.IdempotencyKey = "pay", "charge", string(runID)+":pay"
	pay.Input = map[string]any{"amount": json.Number("5"), "currency": "EUR"}
	pay.Config = map[string]any{"account": "x"}
	get.Node, get.Type, get.IdempotencyKey, get.BuiltIn, get.Timeout = "get", "httpRequest", string(runID)+":get", true, 30*time.Second
	get.Input = map[string]any{"amount": json.Number("5")}
	get.Config = map[string]any{
		"url": "https://example.com/5?r=" + string(runID), "method": "POST", "timeoutMs": float64(30000),
		"body": map[string]any{"at": float64(noon.UnixMilli()), "n": float64(5)},
	}
	plain.Node, plain.Type, plain.IdempotencyKey, plain.BuiltIn, plain.Timeout = "plain", "httpRequest", string(runID)+":plain", true, time.Second
	plain.Input = get.Input
	plain.Config = map[string]any{"url": "https://example.com/", "method": "GET", "timeoutMs": json.Number("1000")}
	want := []run.Execute{pay, get, plain}
	for i := range want { // about what the values take
		want[i].Weight = w.last.Execute[i].Weight
		if want[i].Weight < 100 || want[i].Weight > 2000 {
			t.Errorf("%s is said to take %d bytes", want[i].Node, want[i].Weight)
		}
	}
	get, plain = want[1], want[2]
	if diff := cmp.Diff(want, w.last.Execute); diff != "" {
		t.Error(diff)
	}
	got, err := w.run.Outstanding(p)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("who takes the run over: %s", diff)
	}
	w.after(time.Second).succeeds("pay", `{"ok": true}`).fails("get", "http_503", true).wakes()
	get.Attempt = 2
	if diff := cmp.Diff([]run.Execute{get}, w.last.Execute); diff != "" {
		t.Errorf("the second attempt: %s", diff)
	}
	if got, err = w.run.Outstanding(p); err != nil || !cmp.Equal([]run.Execute{get, plain}, got) {
		t.Errorf("who takes the run over later: %v, %v", got, err)
	}
}

func TestWhatCannotBeAskedForFailsTheNode(t *testing.T) {
	for claim, c := range map[string]struct{ node, payload, code, message string }{
		"an input that is missing":      {`x charge`, `{}`, "input_invalid", "input.amount must be given: a number"},
		"an input out of bounds":        {`x charge`, `{"amount": 0, "currency": 1}`, "input_invalid", "input.amount must be at least 1, not 0; input.currency must be a string, not a number"},
		"an input that is no object":    {`x charge`, `[]`, "input_invalid", "input must be an object, not an array"},
		"a setting that is too long":    {`x charge {"note": "long"}`, `{"amount": 1}`, "config_invalid", "config.note must be at most 3 characters long, not 4"},
		"a type that is gone":           {`x gone`, `{}`, "node_type_unavailable", `There is no node type "gone" in version "1.0.0" any more.`},
		"a setting that is missing":     {`x httpRequest`, `{}`, "config_invalid", "config.url must be given: a string"},
		"a template of a wrong type":    {`x httpRequest {"url": "{{ input.n }}"}`, `{"n": 5}`, "config_invalid", "config.url must be a string, not a number"},
		"a template without a value":    {`x httpRequest {"url": "u{{ input.a.b }}"}`, `{}`, "expression_failed", `config: url, line 1, column 13: input.a is undefined; cannot read "b"; write ?. before it where it may be missing`},
		"a template that is not right":  {`x httpRequest {"url": "{{ input. }}"}`, `{}`, "expression_failed", "config: url, line 1, column"},
		"a condition that is not right": {`x condition {"condition": "input ="}`, `{}`, "expression_failed", "config.condition: line 1, column"},
		"a branch to what is no node":   {`x condition {"condition": "1", "trueBranch": 5, "falseBranch": null}`, `{}`, "config_invalid", "config.trueBranch must be a string, not a number"},
		"a case to what is no node":     {`x switch {"expression": "1", "cases": [{"value": 1, "nodeId": null}, {"value": 2, "nodeId": 5}]}`, `{}`, "config_invalid", "config.cases[1].nodeId must be a string, not a number"},
		"a switch without a value":      {`x switch {"expression": "input.a.b", "cases": [{"value": 1}]}`, `{}`, "expression_failed", "config.expression: line 1, column 9"},
		"a wait for no time":            {`x wait {"until": "tomorrow"}`, `{}`, "expression_failed", "config.until: line 1, column 1: tomorrow is not known"},
		"a wait for what is no time":    {`x wait {"until": "input.due"}`, `{"due": true}`, "expression_failed", "config.until: must give a time in ISO 8601, such as 2026-01-31T09:00:00Z, or milliseconds since 1970; this is true"},
		"a wait beyond all calendars":   {`x wait {"until": "input.due"}`, `{"due": 253402300800000}`, "expression_failed", "config.until: must give a time in ISO 8601, such as 2026-01-31T09:00:00Z, or milliseconds since 1970; this is 253402300800000, which is out of range: a year has at most four digits"},
		"a configuration that is none":  {`x call []`, `{}`, "config_invalid", "config must be a JSON object"},
	} {
		t.Run(claim, func(t *testing.T) {
			w := begin(t, plan(t, nodes(c.node), nil), start(c.payload))
			f := w.run.Failure()
			if f == nil || f.Code != c.code || !strings.HasPrefix(f.Message, c.message) || f.Node != "x" || len(w.last.Execute) != 0 {
				t.Errorf("the run is %s with %+v", w.run.Status(), f)
			}
		})
	}
}

func TestANodesOwnSchemaNarrowsItsInput(t *testing.T) {
	list := nodes("x call", "noted call")
	list[0].InputSchema = domain.RestoreDocument(`{"n": {"type": "number", "max": 3, "required": true}, "d": {"type": "string", "default": "x"}}`)
	list[1].InputSchema = domain.RestoreDocument(`{"type": "object", "properties": {}}`)
	w := begin(t, plan(t, list, nil), start(`{"n": 3}`))
	w.want(run.StatusRunning, "x=running noted=running")
	if got := text(w.open["x"].Input) + text(w.open["noted"].Input); got != `{"d":"x","n":3}{"n":3}` {
		t.Errorf("the inputs are %s", got)
	}
	begin(t, plan(t, list, nil), start(`{"n": 4}`)).want(run.StatusFailed, "x=failed(input_invalid) noted=pending")
}

func TestAttemptsAreRepeatedAsThePolicySays(t *testing.T) {
	p := plan(t, nodes("a call"), nil)
	s := start(`{}`)
	s.Trigger = fired(t, "trg_1", "t", `{"retryPolicy": {"maxRetries": 4, "backoffMs": 1000, "maxBackoffMs": 5000}}`)
	w := begin(t, p, s)
	var waits []time.Duration
	for attempt := 1; attempt <= 4; attempt++ {
		w.fails("a", "http_503", true)
		waits = append(waits, w.last.WakeAt.Sub(w.now))
		if len(w.last.Execute) != 0 {
			t.Error("the next attempt is made at once")
		}
		if w.does(run.AttemptCompleted{Node: "a", Attempt: attempt + 1}); w.refusal() != "attempt_stale" {
			t.Errorf("the result of an attempt that was not made yet is answered with %q", w.refusal())
		}
		w.wakes()
		if w.open["a"].Attempt != attempt+1 || w.open["a"].IdempotencyKey != string(runID)+":a" {
			t.Errorf("the next attempt is %+v", w.open["a"])
		}
	}
	for i, longest := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second} {
		if waits[i] < longest/2 || waits[i] > longest {
			t.Errorf("before attempt %d it waits for %v, not %v to %v", i+2, waits[i], longest/2, longest)
		}
	}
	w.fails("a", "http_503", true).want(run.StatusFailed, "a=failed(http_503)")
	if got := w.run.Nodes()[0].Attempts; got != 5 {
		t.Errorf("there were %d attempts", got)
	}
}

func TestBackoffsOfRunsThatFailTogetherSpread(t *testing.T) {
	p := plan(t, nodes("a call"), nil)
	seen := map[time.Duration]bool{}
	for i := range 100 {
		r := run.New(run.ID("run_"+text(i)), start(`{}`), noon)
		for _, f := range []run.Fact{run.Started{}, run.AttemptFailed{Node: "a", Attempt: 1, Retryable: true}} {
			if _, err := r.Advance(p, run.Event{At: noon, Fact: f}); err != nil {
				t.Fatal(err)
			}
		}
		wait := r.WakeAt().Sub(noon)
		if wait < 500*time.Millisecond || wait > time.Second {
			t.Errorf("a run waits for %v", wait)
		}
		seen[wait/(50*time.Millisecond)] = true
	}
	if len(seen) < 9 {
		t.Errorf("100 runs come back in %d of 10 parts of the time", len(seen))
	}
}

func TestWhichFailuresAreRepeated(t *testing.T) {
	p := plan(t, nodes("a call", expr("b", "1")), edges("a.onError -> b"))
	w := begin(t, p, start(`{}`)).fails("a", "http_400", false)
	w.want(run.StatusCompleted, "a=failed(http_400) b=completed")

	w = begin(t, p, start(`{}`)).does(run.AttemptFailed{Node: "a", Attempt: 1, Code: "http_429", Retryable: true, RetryAfter: 90 * time.Second})
	w.want(run.StatusRunning, "a=running(http_429) b=pending")
	if got := w.last.WakeAt.Sub(noon); got != 90*time.Second {
		t.Errorf("it waits for %v although it was asked to wait for 90 s", got)
	}
	w.wakes().succeeds("a", "1").want(run.StatusCompleted, "a=completed b=skipped")

	w = begin(t, p, start(`{}`)).does(run.AttemptFailed{Node: "a", Attempt: 1, Code: "http_429", Retryable: true, RetryAfter: 30 * time.Minute})
	w.want(run.StatusCompleted, "a=failed(http_429) b=completed") // the next attempt would come too late

	w = begin(t, p, start(`{}`)).does(run.AttemptCompleted{Node: "a", Attempt: 1, Output: make(chan int)})
	w.want(run.StatusCompleted, "a=failed(output_invalid) b=completed")
}

func TestANodeSaysItselfHowItIsAttempted(t *testing.T) {
	two := nodes("a call", `b httpRequest {"url": "https://example.com/", "timeoutMs": 1000}`, expr("end", "1"))
	two[0].Retry = &workflow.RetryPolicy{MaxRetries: 1, Backoff: 10 * time.Minute, MaxBackoff: 10 * time.Minute}
	two[1].Timeout = new(45 * time.Second)
	s := start(`{}`)
	s.Trigger = fired(t, "trg_1", "t", `{"retryPolicy": {"maxRetries": 0, "backoffMs": 100, "maxBackoffMs": 1000}}`)
	w := begin(t, plan(t, two, edges("a.onError -> end", "b.onError -> end")), s)
	if a, b := w.open["a"].Timeout, w.open["b"].Timeout; a != 0 || b != 45*time.Second {
		t.Errorf("attempts at a may take %s, and at b %s", a, b)
	}
	w.fails("a", "http_503", true).fails("b", "http_503", true)
	w.want(run.StatusRunning, "a=running(http_503) b=failed(http_503) end=pending")
	if got := w.last.WakeAt.Sub(noon); got < 5*time.Minute || got > 10*time.Minute {
		t.Errorf("the next attempt at a comes after %s", got)
	}
	w.wakes().fails("a", "http_503", true).want(run.StatusCompleted, "a=failed(http_503) b=failed(http_503) end=completed")
}

func TestTheTimeOfARun(t *testing.T) {
	p := plan(t, nodes("a call", "ask input", "b call"), edges("a -> ask", "ask -> b"))
	s := start(`{}`)
	s.Trigger = fired(t, "trg_1", "t", `{"timeoutMs": 10000}`)
	w := begin(t, p, s)
	if got := w.last.WakeAt.Sub(noon); got != 10*time.Second {
		t.Errorf("it wakes after %v", got)
	}
	w.after(4*time.Second).succeeds("a", "1").want(run.StatusPaused, "a=completed ask=waiting b=pending")
	if !w.last.WakeAt.IsZero() {
		t.Errorf("a paused run wakes at %v", w.last.WakeAt)
	}
	w.after(time.Hour).does(run.TimeReached{}).does(run.Resumed{Token: w.tokens["ask"]})
	if got := w.last.WakeAt.Sub(w.now); got != 6*time.Second || !w.open["b"].Deadline.Equal(w.last.WakeAt) {
		t.Errorf("after the pause it has %v", got)
	}
	late := *w
	late.after(6*time.Second).succeeds("b", "1").want(run.StatusFailed, "a=completed ask=completed b=cancelled")
	if f := late.run.Failure(); f.Code != "timeout" || f.Node != "" || late.refusal() != "attempt_stale" {
		t.Errorf("the run failed with %+v; the late result was answered with %q", f, late.refusal())
	}
}

func TestATimeThatGoesBackCountsAsTheLastOne(t *testing.T) {
	w := begin(t, plan(t, nodes("a call", "b wait {\"delayMs\": 1000}"), edges("a -> b")), start(`{}`))
	w.after(-time.Hour).succeeds("a", "1")
	if got := w.last.WakeAt.Sub(noon); got != time.Second || !w.run.UpdatedAt().Equal(noon) {
		t.Errorf("it wakes after %v", got)
	}
}

func TestARunIsCancelled(t *testing.T) {
	p := plan(t, nodes("a call", "ask input", expr("b", "1")), edges("a -> b"))
	w := begin(t, p, start(`{}`)).does(run.CancelRequested{Reason: "no more"})
	w.want(run.StatusCancelled, "a=cancelled ask=cancelled b=pending")
	if !w.last.Finished || !w.last.WakeAt.IsZero() || w.history[len(w.history)-1].Message != "no more" {
		t.Errorf("the step is %+v", w.last)
	}
	var ended []string
	for _, e := range w.last.History {
		ended = append(ended, string(e.Type)+" "+string(e.Node))
	}
	if diff := cmp.Diff([]string{"node.cancelled a", "node.cancelled ask", "run.cancelled "}, ended); diff != "" {
		t.Error(diff)
	}
	for want, f := range map[string]run.Fact{
		"run_finished": run.CancelRequested{}, "attempt_stale": run.AttemptCompleted{Node: "a", Attempt: 1},
		"run_not_failed": run.RetryRequested{}, "not_paused": run.Resumed{Token: w.tokens["ask"]}, "run_started": run.Started{}, "": run.TimeReached{},
	} {
		if w.does(f); w.refusal() != want || w.last.Changed() {
			t.Errorf("after the end %T is answered with %q", f, w.refusal())
		}
	}
	r := run.New(runID, start(`{}`), noon)
	step, err := r.Advance(p, run.Event{At: noon, Fact: run.CancelRequested{}})
	if err != nil || !step.Finished || r.Status() != run.StatusCancelled {
		t.Errorf("a pending run: %+v, %v", step, err)
	}
}

func TestAFailedRunIsContinued(t *testing.T) {
	p := plan(t, nodes("a call", "b call", "beside call", `ask input {"timeoutMs": 60000}`, "handled call", expr("c", "input"), expr("d", "1"), expr("e", "2")),
		edges("a -> b", "b -> c", "handled.onError -> d", "beside -> e"))
	w := begin(t, p, start(`{}`)).succeeds("a", `"kept"`).fails("handled", "x", false).fails("b", "http_400", false)
	w.want(run.StatusFailed, "a=completed b=failed(http_400) beside=cancelled ask=cancelled handled=failed(x) c=pending d=completed e=pending")
	if f := w.run.Failure(); f.Node != "b" || f.Code != "http_400" {
		t.Errorf("the run failed with %+v", f)
	}
	w.after(time.Hour).does(run.RetryRequested{})
	w.want(run.StatusRunning, "a=completed b=running beside=running ask=waiting handled=failed(x) c=pending d=completed e=pending")
	if w.run.Failure() != nil || w.run.FinishedAt() != nil || w.run.Retries() != 1 || w.last.WakeAt.Sub(w.now) != time.Minute {
		t.Errorf("the run goes on with %+v", w.run.State())
	}
	if e := w.open["b"]; e.Attempt != 2 || text(e.Input) != `"kept"` || e.IdempotencyKey != string(runID)+":b" || e.Deadline.Sub(w.now) != 30*time.Minute {
		t.Errorf("the attempt is %+v", e)
	}
	for range 3 { // attempts count anew
		w.fails("b", "http_500", true).want(run.StatusRunning, "a=completed b=running(http_500) beside=running ask=waiting handled=failed(x) c=pending d=completed e=pending")
		w.wakes()
	}
	w.succeeds("b", `"done"`).succeeds("beside", "1").does(run.Resumed{Token: w.tokens["ask"]})
	w.want(run.StatusCompleted, "a=completed b=completed beside=completed ask=completed handled=failed(x) c=completed d=completed e=completed")
}

func TestARunIsContinuedWhereItWasCutOff(t *testing.T) {
	// The switch settles both edges before either node begins; the first one ends the run.
	p := plan(t, nodes(`s condition {"condition": "true"}`, expr("bad", "input.x.y"), "good call", "root call"), edges("s -> bad", "s -> good"))
	w := begin(t, p, start(`{}`))
	w.want(run.StatusFailed, "s=completed bad=failed(expression_failed) good=pending root=cancelled")
	w.does(run.RetryRequested{}).want(run.StatusFailed, "s=completed bad=failed(expression_failed) good=pending root=pending")

	p = plan(t, nodes(expr("bad", "input.x.y"), "root call"), nil)
	begin(t, p, start(`{}`)).want(run.StatusFailed, "bad=failed(expression_failed) root=pending")
	flaky := plan(t, nodes(expr("bad", "1"), "root call"), nil)
	w = begin(t, p, start(`{}`))
	w.plan = flaky
	w.does(run.RetryRequested{}).want(run.StatusRunning, "bad=completed root=running")
}

func TestAPlanOfAnotherVersionIsADefect(t *testing.T) {
	w := begin(t, plan(t, nodes("a call"), nil), start(`{}`))
	for _, p := range []*run.Plan{
		plan(t, nodes("b call"), nil), plan(t, nodes("a call", "b call"), nil),
		run.NewPlan("wfv_other", workflow.RestoreGraph(nodes("a call"), nil), registry(t), expression.Compiler{}),
	} {
		if _, err := w.run.Advance(p, run.Event{At: noon, Fact: run.TimeReached{}}); err == nil {
			t.Error("the run went on by it")
		}
		if _, err := w.run.Outstanding(p); err == nil {
			t.Error("attempts were asked for by it")
		}
	}
}
