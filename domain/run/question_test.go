package run_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
)

const askInFull = `ask input@1.1.0 {"title": "Order {{ payload.id }}", "prompt": "May {{ payload.amount }} be paid back?", "assignee": "{{ payload.team }}",
	"timeoutMs": 60000, "form": {"note": {"type": "string", "order": 2}, "ok": {"type": "boolean", "required": true, "order": 1}}}`

var ana = tenant.Actor{Kind: tenant.ByKey, ID: "key_1", Subject: "ana"}

func waitingSeq(w *harness, id string) int64 {
	for _, n := range w.run.Nodes() {
		if string(n.ID) == id {
			return n.Pause.Seq
		}
	}
	return 0
}

func TestAQuestionIsWhatItWasWhenItWasAsked(t *testing.T) {
	w := begin(t, plan(t, nodes(askInFull), nil), start(`{"id": 7, "amount": 12.5, "team": "finance"}`))
	w.want(run.StatusPaused, "ask=waiting")
	pause := w.run.Nodes()[0].Pause
	want := &run.Question{Title: "Order 7", Prompt: "May 12.5 be paid back?", Assignee: "finance", Form: pause.Question.Form}
	if diff := cmp.Diff(want, pause.Question); diff != "" {
		t.Error(diff)
	}
	if f := pause.Question.Form; len(f) != 2 || f[0].Name != "ok" || f[1].Name != "note" {
		t.Errorf("the fields are %v", f)
	}
	if last := w.history[1]; last.Type != run.EntryNodeWaiting || last.Question == nil {
		t.Errorf("the history says %+v", last)
	}
	w.after(time.Second).does(run.Answered{Seq: pause.Seq, Input: json.RawMessage(`{"ok": true, "note": null}`), By: ana})
	w.want(run.StatusCompleted, "ask=completed")
	if got := w.output("ask"); got != `{"value":{"ok":true}}` {
		t.Errorf("it gave %s", got)
	}
	if by := w.run.Nodes()[0].Pause.AnsweredBy; by == nil || *by != ana {
		t.Errorf("%v answered", by)
	}
	noted := 0
	for _, e := range w.history {
		if e.By != nil {
			noted++
			if e.Type != run.EntryNodeCompleted || *e.By != ana {
				t.Errorf("the history says %+v", e)
			}
		}
	}
	if noted != 1 {
		t.Errorf("%d entries say who answered", noted)
	}
}

func TestOnlyTheFirstAnswerCounts(t *testing.T) {
	w := begin(t, plan(t, nodes(`ask input {"inputType": "boolean"}`, "next input {}"), edges("ask -> next")), start(`{}`))
	seq := waitingSeq(w, "ask")
	answer := func(seq int64) *domain.Error {
		w.after(time.Second).does(run.Answered{Seq: seq, Input: json.RawMessage(`true`), By: ana})
		return w.last.Refused
	}
	if e := answer(seq + 99); e == nil || e.Kind != domain.NotFound || e.Code != "pause_not_found" {
		t.Errorf("an unknown question: %v", e)
	}
	if e := answer(seq); e != nil {
		t.Fatal(e)
	}
	e := answer(seq)
	if e == nil || e.Kind != domain.Conflict || e.Code != "already_answered" || !strings.Contains(e.Message, `the key key_1 for "ana"`) {
		t.Errorf("the second answer: %v", e)
	}
	w.does(run.CancelRequested{})
	if e := answer(waitingSeq(w, "next")); e == nil || e.Code != "not_paused" {
		t.Errorf("an answer after the end: %v", e)
	}
}

func TestAnswersToAForm(t *testing.T) {
	for claim, c := range map[string]struct{ input, output, refused string }{
		"all fields":                   {`{"ok": false, "note": "no"}`, `{"value":{"note":"no","ok":false}}`, ""},
		"within value":                 {`{"value": {"ok": true}}`, `{"value":{"ok":true}}`, ""},
		"besides the entity":           {`{"entityId": "e", "ok": true}`, `{"value":{"ok":true}}`, ""},
		"without what is required":     {`{"note": "no"}`, "", "input.ok must be given: true or false"},
		"with null for what is needed": {`{"ok": null}`, "", "input.ok must be given: true or false"},
		"with another kind":            {`{"ok": "yes"}`, "", "input.ok must be true or false, not a string"},
		"with another field":           {`{"ok": true, "more": 1}`, "", "input.more must be left out: the question has no such field"},
		"no object":                    {`true`, "", "input must be an object with the answers by the names of their fields, not a boolean"},
	} {
		t.Run(claim, func(t *testing.T) {
			w := begin(t, plan(t, nodes(askInFull), nil), start(`{}`))
			w.does(run.Resumed{Token: w.tokens["ask"], Input: json.RawMessage(c.input), By: &ana})
			if c.refused == "" {
				if got := w.output("ask"); got != c.output || w.last.Refused != nil {
					t.Errorf("it gave %s; %v", got, w.last.Refused)
				}
			} else if e := w.last.Refused; e == nil || e.Code != "input_invalid" || e.Violations[0].String() != c.refused {
				t.Errorf("it was refused with %v", e)
			}
		})
	}
}

func TestAnAssigneeIsNotCut(t *testing.T) {
	w := begin(t, plan(t, nodes(`ask input@1.1.0 {"assignee": "{{ payload.who }}"}`), nil), start(`{"who": "`+strings.Repeat("x", 256)+`"}`))
	w.want(run.StatusFailed, "ask=failed(config_invalid)")
}

func TestTheFirstVersionOfInputsTakesItsPromptAsItIs(t *testing.T) {
	w := begin(t, plan(t, nodes(`ask input {"prompt": "{{ payload.id }}", "form": {"a": {"type": "nonsense"}}}`), nil), start(`{"id": 7}`))
	p := w.run.Nodes()[0].Pause
	if p.Guarded || p.Question.Prompt != "{{ payload.id }}" || !p.Question.Single || p.Question.Form[0].Name != node.SingleAnswer {
		t.Errorf("it asks %+v", p.Question)
	}
}

func TestAPauseIdentifierNamesRunAndEntry(t *testing.T) {
	const of = run.ID("run_01kg2m8y5yfd6b0m2c4n6p8r1t")
	id := run.NewPauseID(of, 42)
	if got, seq, ok := id.Question(); id != "pau_01kg2m8y5yfd6b0m2c4n6p8r1t42" || got != of || seq != 42 || !ok {
		t.Errorf("%s is %s, %d, %v", id, got, seq, ok)
	}
	for _, wrong := range []run.PauseID{"", "pau_", "run_01kg2m8y5yfd6b0m2c4n6p8r1t42", "pau_01kg2m8y5yfd6b0m2c4n6p8r1t", "pau_01kg2m8y5yfd6b0m2c4n6p8r1t042", "pau_01kg2m8y5yfd6b0m2c4n6p8r1t-1", "pau_01kg2m8y5yfd6b0m2c4n6p8r1t1x", "pau_01kg2m8y5yfd6b0m2c4n6p8r!t42"} {
		if _, _, ok := wrong.Question(); ok {
			t.Errorf("%s is taken", wrong)
		}
	}
}

func TestALinkOpensOnlyWhatItWasMadeFor(t *testing.T) {
	key, other := run.Key{1}, run.Key{2}
	l := run.Link{Tenant: "tenant_1", Run: "run_1", Node: "ask"}
	token := key.LinkToken(l)
	simulated := l
	simulated.Simulated = true
	for _, want := range []run.Link{l, simulated} {
		if got, ok := key.ReadLink(key.LinkToken(want)); !ok || got != want {
			t.Errorf("it opens %v, %v", got, ok)
		}
	}
	for claim, wrong := range map[string]string{
		"nothing": "", "another key": other.LinkToken(l), "no signature": strings.Split(token, ".")[0] + ".", "another signature": strings.Split(token, ".")[0] + "." + strings.Split(key.LinkToken(run.Link{Tenant: "tenant_1", Run: "run_1", Node: "b"}), ".")[1],
		"more": token + "A", "a resume token": run.Token(key.Secret("run_1"), "run_1", "ask", 1),
	} {
		if _, ok := key.ReadLink(wrong); ok {
			t.Errorf("%s opens it", claim)
		}
	}
	kept := run.Link{Tenant: "tenant_01kg2kzz8we7n9a5xq3r0t6v1c", Run: "run_1", Node: "ask"}
	s := everything()
	s.Nodes[0].Output = json.RawMessage(`{"url": "https://a.example/a/` + key.LinkToken(kept) + `", "n": 1}`)
	if got := string(run.Restore(s).WithoutLinks().State().Nodes[0].Output); got != `{"url": "https://a.example/a/[redacted]", "n": 1}` {
		t.Errorf("who may not answer sees %s", got)
	}
	if _, ok := (run.Key{}).ReadLink(token); ok || (run.Key{}).LinkToken(l) != "" {
		t.Error("without a key there are links")
	}
}

func TestAQuestionIsAskedInASimulationAndATestOfItsNode(t *testing.T) {
	p := plan(t, nodes(askInFull, expr("act", "input.value.ok")), edges("ask -> act"))
	trace, err := run.Simulate(p, runID, start(`{"id": 7, "amount": 1}`), noon, run.Outside{Answers: answers{"ask": {output(`{"ok": true}`)}}})
	if err != nil || trace.Run.Status() != run.StatusCompleted || string(trace.Run.Nodes()[1].Output) != "true" {
		t.Errorf("%+v, %v", trace, err)
	}
	if asked := trace.Run.Nodes()[0].Pause.Question; asked == nil || asked.Title != "Order 7" {
		t.Errorf("it was asked %+v", asked)
	}
	_, err = run.Simulate(p, runID, start(`{}`), noon, run.Outside{Answers: answers{"ask": {output(`true`)}}})
	if err == nil || !strings.Contains(err.Error(), "answers.ask[0] does not fit what the node waits for: input must be an object") {
		t.Errorf("an answer that does not fit: %v", err)
	}
	test, _, _ := tested(t, workflow.RestoreGraph(nodes(askInFull), nil), "ask", run.NodeTestCall{Payload: json.RawMessage(`{"id": 8}`)})
	if n := test.Run.Nodes()[0]; n.Status != run.NodeWaiting || n.Pause.Question.Title != "Order 8" {
		t.Errorf("the node that is tested asks %+v", n)
	}
}
