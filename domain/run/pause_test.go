package run_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
)

func TestAnInputNodeWaitsForItsAnswer(t *testing.T) {
	for claim, c := range map[string]struct{ config, input, output, refused string }{
		"a text":                              {`{}`, `"yes"`, `{"value":"yes"}`, ""},
		"an object with the value":            {`{}`, `{"value": "yes"}`, `{"value":"yes"}`, ""},
		"an object that names the entity too": {`{}`, `{"entityId": "e", "value": "yes"}`, `{"value":"yes"}`, ""},
		"another object is no text":           {`{}`, `{"answer": "yes"}`, "", "input must be a string, not an object"},
		"more than the value is no text":      {`{}`, `{"value": "yes", "more": 1}`, "", "input must be a string, not an object"},
		"nothing, when nothing is required":   {`{}`, ``, `{"value":null}`, ""},
		"null, when nothing is required":      {`{"inputType": "number"}`, `null`, `{"value":null}`, ""},
		"nothing, when something is":          {`{"required": true}`, ``, "", "input must be given"},
		"an empty text, when one is required": {`{"required": true}`, `""`, "", "input must not be empty"},
		"a number":                            {`{"inputType": "number"}`, `12.50`, `{"value":12.50}`, ""},
		"a text is no number":                 {`{"inputType": "number"}`, `{"value": "12"}`, "", "input.value must be a number, not a string"},
		"an address":                          {`{"inputType": "email"}`, `"a@b.example"`, `{"value":"a@b.example"}`, ""},
		"no address":                          {`{"inputType": "email"}`, `"a@b"`, "", `input must match the pattern ^[^\s@<>]+@[^\s@<>]+\.[^\s@<>]+$`},
		"no web address":                      {`{"inputType": "url"}`, `"ftp://a"`, "", `input must match the pattern ^[hH][tT][tT][pP][sS]?://[^\s/?#]+([/?#]\S*)?$`},
		"a boolean":                           {`{"inputType": "boolean", "required": true}`, `false`, `{"value":false}`, ""},
		"no JSON":                             {`{}`, `{`, "", "input must be a JSON value"},
	} {
		t.Run(claim, func(t *testing.T) {
			w := begin(t, plan(t, nodes("ask input "+c.config), nil), start(`{}`))
			w.want(run.StatusPaused, "ask=waiting")
			w.after(time.Hour).does(run.Resumed{Token: w.tokens["ask"], Input: json.RawMessage(c.input)})
			if c.refused == "" {
				w.want(run.StatusCompleted, "ask=completed")
				if got := w.output("ask"); got != c.output || w.last.Refused != nil {
					t.Errorf("it gave %s, not %s; %v", got, c.output, w.last.Refused)
				}
				return
			}
			w.want(run.StatusPaused, "ask=waiting")
			if e := w.last.Refused; e == nil || e.Kind != domain.Invalid || e.Code != "input_invalid" || e.Violations[0].String() != c.refused {
				t.Errorf("the answer was refused with %v, not %q", e, c.refused)
			}
		})
	}
}

func TestATokenWorksOnce(t *testing.T) {
	p := plan(t, nodes(`ask input {"timeoutMs": 60000}`, `next input {}`), edges("ask -> next"))
	w := begin(t, p, start(`{}`))
	token := w.tokens["ask"]
	if len(token) != 43 || token != run.Token(secret, runID, "ask", 2) {
		t.Errorf("the token is %q", token)
	}
	for _, s := range w.run.Nodes() {
		if s.Pause != nil && s.Pause.TokenHash == token {
			t.Error("the token is stored as it is")
		}
	}
	for _, step := range []struct {
		token, want string
	}{{"", "run_not_found"}, {token + "x", "run_not_found"}, {token, ""}, {token, "not_paused"}} {
		if w.does(run.Resumed{Token: step.token}); w.refusal() != step.want {
			t.Errorf("the token %q is answered with %q, not %q", step.token, w.refusal(), step.want)
		}
	}
	w.want(run.StatusPaused, "ask=completed next=waiting")

	w = begin(t, p, start(`{}`)).after(time.Minute).does(run.Resumed{Token: token})
	if w.refusal() != "expired" {
		t.Errorf("the token of a pause that is over is answered with %q", w.refusal())
	}
	w.want(run.StatusFailed, "ask=failed(expired) next=pending")
	if w.does(run.Resumed{Token: token}); w.refusal() != "expired" {
		t.Errorf("later it is answered with %q", w.refusal())
	}
	w.does(run.RetryRequested{}).does(run.Resumed{Token: token})
	if w.refusal() != "run_not_found" || w.tokens["ask"] == token {
		t.Errorf("the token of an earlier pause of the node is answered with %q", w.refusal())
	}
}

func TestWithoutASecretNoTokenResumes(t *testing.T) {
	p := plan(t, nodes("ask input"), nil)
	r := run.New(runID, start(`{}`), noon)
	if _, err := r.Advance(p, run.Event{At: noon, Fact: run.Started{}}); err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{"", run.Token(run.Secret{1}, runID, "ask", 2), run.Token(run.Secret{}, runID, "ask", 2)} {
		step, err := r.Advance(p, run.Event{At: noon, Fact: run.Resumed{Token: token}})
		if err != nil || step.Refused == nil || step.Refused.Code != "run_not_found" {
			t.Errorf("the token %q is answered with %v, %v", token, step.Refused, err)
		}
	}
}

func TestAnExpiredPauseIsAFailureThatAnEdgeCanTake(t *testing.T) {
	p := plan(t, nodes(`ask input {"timeoutMs": 60000}`, expr("late", "input.error.code"), expr("fine", "1")), edges("ask.onError -> late", "ask -> fine"))
	w := begin(t, p, start(`{}`))
	if want := noon.Add(time.Minute); !w.last.WakeAt.Equal(want) {
		t.Errorf("it wants to be woken at %v, not %v", w.last.WakeAt, want)
	}
	w.after(time.Minute-time.Millisecond).does(run.TimeReached{}).want(run.StatusPaused, "ask=waiting late=pending fine=pending")
	w.after(time.Millisecond).does(run.TimeReached{}).want(run.StatusCompleted, "ask=failed(expired) late=completed fine=skipped")
}

func TestAWait(t *testing.T) {
	for claim, c := range map[string]struct {
		config string
		wake   time.Time // zero when it does not wait
	}{
		"waits for its delay":                   {`{"delayMs": 1500}`, noon.Add(1500 * time.Millisecond)},
		"waits until a time in any zone":        {`{"until": "2026-03-01T14:00:00+01:00"}`, noon.Add(time.Hour)},
		"is never early":                        {`{"until": "2026-03-01T12:00:00.0001Z"}`, noon.Add(time.Millisecond)},
		"does not wait for a time that is past": {`{"until": "2026-03-01T12:00:00Z"}`, time.Time{}},
		"waits until a time of the payload":     {`{"until": "input.due"}`, noon.Add(time.Hour)},
		"waits until a computed instant":        {`{"until": "now() + 500.5"}`, noon.Add(501 * time.Millisecond)},
		"waits until milliseconds since 1970":   {`{"until": 1772370000000}`, noon.Add(time.Hour)},
		"also as text":                          {`{"until": "1772370000000"}`, noon.Add(time.Hour)},
		"waits for a delay that is text":        {`{"delayMs": "1500", "until": ""}`, noon.Add(1500 * time.Millisecond)},
		"does not wait for what is past":        {`{"until": "now() - 1"}`, time.Time{}},
		"waits until a day in UTC":              {`{"until": "2026-03-02"}`, noon.Add(12 * time.Hour)},
		"does not wait for no delay":            {`{"delayMs": 0}`, time.Time{}},
	} {
		t.Run(claim, func(t *testing.T) {
			p := plan(t, nodes("w wait "+c.config, expr("z", "input.n + now()")), edges("w -> z"))
			w := begin(t, p, start(`{"n": 1, "due": "2026-03-01T13:00:00Z"}`))
			if c.wake.IsZero() {
				w.want(run.StatusCompleted, "w=completed z=completed")
				return
			}
			w.want(run.StatusPaused, "w=waiting z=pending")
			if w.tokens["w"] != "" {
				t.Error("a wait has a token")
			}
			w.does(run.EventArrived{Event: "any"})
			if w.refusal() != "not_paused" || !w.last.WakeAt.Equal(c.wake) {
				t.Errorf("an event is answered with %q; it wakes at %v, not %v", w.refusal(), w.last.WakeAt, c.wake)
			}
			w.wakes().want(run.StatusCompleted, "w=completed z=completed")
			if got, want := w.output("z"), text(1+c.wake.UnixMilli()); got != want {
				t.Errorf("the next node computed %s, not %s", got, want)
			}
		})
	}
}

func TestEventsResumeWhatWaitsForThem(t *testing.T) {
	three := nodes(`a waitForEvent {"event": "paid", "timeoutMs": 60000}`, `b waitForEvent {"event": "paid"}`, `c waitForEvent {"event": "sent"}`)
	asking := nodes(`x input {"inputType": "number"}`, `y input {}`, `c waitForEvent {"event": "sent"}`)
	w := begin(t, plan(t, three, nil), start(`{}`))
	w.does(run.EventArrived{Event: "paid", Data: json.RawMessage(`{"n":1}}`)})
	if e := w.last.Refused; e == nil || e.Kind != domain.Invalid || e.Code != "input_invalid" || e.Violations[0].String() != "eventData must be a JSON value" {
		t.Errorf("data that is no JSON is answered with %v", e)
	}
	w.does(run.EventArrived{Event: "paid", Data: json.RawMessage(`{"n":1}`)})
	w.want(run.StatusPaused, "a=completed b=completed c=waiting")
	if got, want := w.output("a"), `{"event":"paid","eventData":{"n":1}}`; got != want || w.output("b") != want {
		t.Errorf("the event arrived as %s and %s, not %s", got, w.output("b"), want)
	}
	if w.does(run.EventArrived{Event: "paid"}); w.refusal() != "wrong_event" {
		t.Errorf("the event comes again: %q", w.refusal())
	}
	w.does(run.EventArrived{Event: "sent"}).want(run.StatusCompleted, "a=completed b=completed c=completed")
	if got := w.output("c"); got != `{"event":"sent","eventData":null}` {
		t.Errorf("an event without data arrived as %s", got)
	}
	if w.does(run.EventArrived{Event: "sent"}); w.refusal() != "not_paused" {
		t.Errorf("after the end it is answered with %q", w.refusal())
	}

	w = begin(t, plan(t, three[:1], nil), start(`{}`)).after(time.Hour).does(run.EventArrived{Event: "paid"})
	if w.refusal() != "expired" {
		t.Errorf("too late it is answered with %q", w.refusal())
	}

	w = begin(t, plan(t, asking, nil), start(`{}`))
	w.does(run.EventArrived{Event: "sent"}).want(run.StatusPaused, "x=waiting y=waiting c=completed")
	w.does(run.EventArrived{Event: "other", Data: json.RawMessage(`"seven"`)})
	if e := w.last.Refused; e == nil || e.Code != "input_invalid" || e.Violations[0].Field != "eventData" {
		t.Errorf("data that is no answer is answered with %v", e)
	}
	w.does(run.EventArrived{Event: "other", Data: json.RawMessage(`7`)}).want(run.StatusPaused, "x=completed y=waiting c=completed")
}

// One of two nodes that wait for the same event cannot take what it brings: the other one
// goes on all the same, whichever comes first.
func TestAnEventIsTakenByThoseItFits(t *testing.T) {
	for _, order := range [][]string{{"pick score", `any waitForEvent {"event": "paid"}`}, {`any waitForEvent {"event": "paid"}`, "pick score"}} {
		w := begin(t, plan(t, nodes(order...), nil), start(`{}`))
		w.does(run.AttemptPaused{Node: "pick", Attempt: 1, Event: "paid"})
		w.does(run.EventArrived{Event: "paid", Data: json.RawMessage(`{"no":1}`)})
		if w.last.Refused != nil {
			t.Errorf("%v: it was refused with %v", order, w.last.Refused)
		}
		if got, ok := w.run.Output("any"); !ok {
			t.Errorf("%v: the node that takes anything gave %s", order, got)
		}
	}
}

func TestACustomNodePauses(t *testing.T) {
	p := plan(t, nodes(`a approve`, `b call`, expr("z", "input")), edges("a -> z"))
	w := begin(t, p, start(`{}`)).succeeds("b", "1")
	w.does(run.AttemptPaused{Node: "a", Attempt: 1, Event: "approved", Timeout: time.Minute}).want(run.StatusPaused, "a=waiting b=completed z=pending")
	if w.does(run.AttemptCompleted{Node: "a", Attempt: 1}); w.refusal() != "attempt_stale" {
		t.Errorf("a second result is answered with %q", w.refusal())
	}
	w.does(run.EventArrived{Event: "approved", Data: json.RawMessage(`{"by": "Ana"}`)})
	w.want(run.StatusCompleted, "a=completed b=completed z=completed")
	if got := w.output("z"); got != `{"by":"Ana"}` {
		t.Errorf("what resumed the node arrived as %s", got)
	}
	begin(t, p, start(`{}`)).does(run.AttemptPaused{Node: "b", Attempt: 1}).want(run.StatusFailed, "a=cancelled b=failed(pause_not_allowed) z=pending")

	w = begin(t, p, start(`{}`)).does(run.AttemptPaused{Node: "a", Attempt: 1})
	w.want(run.StatusRunning, "a=waiting b=running z=pending")
	w.does(run.EventArrived{Event: "whatever"}).succeeds("b", "1").want(run.StatusCompleted, "a=completed b=completed z=completed")
}

func TestARunIsPausedWhenNothingRuns(t *testing.T) {
	w := begin(t, plan(t, nodes(`ask input`, `b call`), nil), start(`{}`))
	w.want(run.StatusRunning, "ask=waiting b=running")
	w.after(time.Second).succeeds("b", "1").want(run.StatusPaused, "ask=waiting b=completed")
	w.after(time.Second).does(run.Resumed{Token: w.tokens["ask"], Input: json.RawMessage(`"x"`)})
	type line struct {
		Seq  int64
		Type run.EntryType
		Node string
	}
	var got []line
	for _, e := range w.history {
		got = append(got, line{e.Seq, e.Type, string(e.Node)})
	}
	want := []line{
		{1, "run.started", ""}, {2, "node.waiting", "ask"}, {3, "node.started", "b"}, {4, "node.completed", "b"}, {5, "run.paused", ""},
		{6, "run.resumed", ""}, {7, "node.completed", "ask"}, {8, "run.completed", ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var told []string
	for _, h := range w.told {
		told = append(told, string(h.Type)+" "+string(h.Node))
	}
	if diff := cmp.Diff([]string{"run.started ", "run.paused ask", "run.resumed ask", "run.completed "}, told); diff != "" {
		t.Error(diff)
	}
}

func TestTheNodeThatHasWaitedLongestTakesTheAnswer(t *testing.T) {
	w := begin(t, plan(t, nodes("late input", "first call", "early input"), edges("first -> late")), start(`{}`)).after(time.Second).succeeds("first", "1")
	w.does(run.EventArrived{Event: "any"}).want(run.StatusPaused, "late=waiting first=completed early=completed")
}
