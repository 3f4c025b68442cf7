package runs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// everything is a graph with each kind of node, in which one thing comes after another.
var everything = struct{ nodes, edges []string }{
	[]string{
		"Paid trigger_webhook",
		`get httpRequest {"url": "https://example.com/{{ input.id }}?q={{ input.q }}", "headers": {"X-A": "{{ run.entityId }}"}}`,
		`big condition {"condition": "input.body.n > 2"}`,
		`small transform {"expression": "'small'"}`,
		`rest wait {"delayMs": 30}`,
		`ask input {"inputType": "number", "required": true}`,
		`kind switch {"expression": "input.value", "cases": [{"value": 7}, {"value": 8}]}`,
		`other transform {"expression": "1"}`,
		`paid waitForEvent {"event": "paid"}`,
		`approve approve {"level": 2}`,
		`post httpRequest {"url": "{{ payload.base }}/orders", "method": "POST", "body": "{{ nodes.paid.eventData }}"}`,
		`mend transform {"expression": "({ code: input.error.code, attempts: input.error.attempts })"}`,
		`sum transform {"transformType": "reduce", "source": "[1, 2]", "expression": "(a, x) => a + x * nodes.ask.value", "initial": 0}`,
	},
	[]string{
		"Paid -> get", "get -> big", "big.true -> rest", "big.false -> small", "rest -> ask", "ask -> kind", "kind.case-0 -> paid", "kind.default -> other",
		"paid -> approve", "approve -> post", "post.onError -> mend", "post.onSuccess -> other", "mend -> sum",
	},
}

// TestARunGoesAsItsSimulationSaid simulates a version, lets a real run of it meet the same
// answers, and compares all that happened, in its order, what flowed into each node, what
// each gave and what was called outside.
func TestARunGoesAsItsSimulationSaid(t *testing.T) {
	t.Parallel()
	d := newDesk(t, openSQLite(t))
	d.withNodes("approve")
	ver := d.version(everything.nodes, everything.edges)
	trg := d.trigger(ver, `{"retryPolicy": {"maxRetries": 2, "backoffMs": 5, "maxBackoffMs": 10}}`)
	begin := run.Call{EventData: body(`{"id": "a/b?", "q": "x&y=é", "base": "https://shop.example"}`), Entity: text("order-7")}
	broken := &run.AttemptFailed{Code: "unexpected_status", Message: "example.com answered 503", Retryable: true}
	gone := &run.AttemptFailed{Code: "unexpected_status", Message: "shop.example answered 410"}
	answers := map[workflow.NodeID][]run.Answer{
		"get":     {{Failure: broken, After: time.Second}, {Failure: broken}, {Output: body(`{"status":200,"headers":{},"body":{"n":3}}`)}},
		"ask":     {{Output: body(`7`), After: time.Hour}},
		"paid":    {{Output: body(`{"sum":12.5}`)}},
		"approve": {{Pause: &run.AttemptPaused{Timeout: time.Hour}}, {Output: body(`{"by":"Ana"}`), After: time.Minute}},
		"post":    {{Failure: broken}, {Failure: gone}},
	}
	simulated, err := d.runs.Simulate(t.Context(), d.who, domain.Once{}, ver.ID(), run.SimulationCall{Call: begin, Trigger: trg.ID(), Answers: answers})
	if err != nil {
		t.Fatal(err)
	}
	if len(simulated.Open) > 0 || simulated.Run.Status() != run.StatusCompleted {
		t.Fatalf("the simulation is %s, open is %v: %+v", simulated.Run.Status(), simulated.Open, simulated.Run.Failure())
	}

	d.outside.answer = played(answers)
	d.start()
	id := d.call(trg, begin).Run
	for _, resume := range []func(r *run.Run) error{
		func(r *run.Run) error { return d.resumes(r, "ask", `7`) },
		func(r *run.Run) error {
			c := run.IngestCall{EventCall: run.EventCall{Event: "paid", Call: run.Call{EventData: body(`{"sum":12.5}`), Entity: text("order-7")}}}
			done, err := d.firing.Ingest(t.Context(), d.who, domain.Once{}, c)
			if err == nil && len(done.Resumed) != 1 {
				err = fmt.Errorf("the event resumed %+v", done)
			}
			return err
		},
		func(r *run.Run) error { return d.resumes(r, "approve", `{"by":"Ana"}`) },
	} {
		if err := resume(d.until(id, "the run waits for somebody", waitsForSomebody)); err != nil {
			t.Fatal(err)
		}
	}
	made := d.until(id, "the run ends", finished)

	d.same(whatHappened(simulated.History), whatHappened(d.entries(id)))
	plan := d.plan(ver, []string{"approve"})
	inputs, err := made.Inputs(plan)
	if err != nil {
		t.Fatal(err)
	}
	d.same(texts(simulated.Inputs), texts(inputs))
	d.same(outcomes(simulated.Run), outcomes(made))
	d.same(effectsOf(simulated.Effects, id), callsOf(d.outside.calls))
	if err := d.errors(); err != nil {
		t.Error(err)
	}
}

// played is a world that does what the answers of a simulation say.
func played(answers map[workflow.NodeID][]run.Answer) func(context.Context, outbound.NodeCall) (outbound.NodeOutcome, error) {
	return func(_ context.Context, call outbound.NodeCall) (outbound.NodeOutcome, error) {
		a := answers[workflow.NodeID(call.NodeID)][call.Attempt-1]
		switch {
		case a.Failure != nil:
			return outbound.NodeFailed{Code: a.Failure.Code, Message: a.Failure.Message, Retryable: a.Failure.Retryable}, nil
		case a.Pause != nil:
			return outbound.NodePaused{Event: a.Pause.Event, Timeout: a.Pause.Timeout}, nil
		}
		var output any
		err := json.Unmarshal(a.Output, &output)
		return outbound.NodeCompleted{Output: output}, err
	}
}

// resumes answers a node that waits, with its token.
func (d *desk) resumes(r *run.Run, id workflow.NodeID, input string) error {
	for _, n := range r.Nodes() {
		if n.ID == id && n.Pause != nil {
			token := run.Token(d.key.Secret(r.ID()), r.ID(), id, n.Pause.Seq)
			return d.firing.Resume(d.Context(), d.who, domain.Once{}, run.ResumeCall{Run: r.ID(), Token: token, Input: body(input)})
		}
	}
	return fmt.Errorf("node %s does not wait", id)
}

func waitsForSomebody(r *run.Run) bool {
	for _, n := range r.Nodes() {
		if n.Status == run.NodeWaiting && n.Pause.Kind != run.PauseWait {
			return r.Status() == run.StatusPaused
		}
	}
	return finished(r) // it will not come any more
}

// entries is the history of a run.
func (d *desk) entries(id run.ID) (list []run.Entry) {
	d.Helper()
	d.do(func(ctx context.Context, st outbound.Stores) (err error) {
		list, err = st.Runs.Runs.History(ctx, d.owner, id, 0)
		return err
	})
	return list
}

// whatHappened is a history without its times.
func whatHappened(entries []run.Entry) []string {
	lines := make([]string, len(entries))
	for i, e := range entries {
		lines[i] = fmt.Sprintf("%d %s %s %s %d %s %s %s", e.Seq, e.Type, e.Node, e.Edge, e.Attempt, e.Branch, e.Code, e.Message)
	}
	return lines
}

// outcomes says what became of each node.
func outcomes(r *run.Run) map[workflow.NodeID]string {
	all := make(map[workflow.NodeID]string)
	for _, n := range r.Nodes() {
		output, _ := r.Output(n.ID)
		all[n.ID] = fmt.Sprintf("%s %d %s %v %+v %s", n.Status, n.Attempts, n.Branch, n.Handled, n.Failure, output)
	}
	return all
}

func texts(values map[workflow.NodeID]json.RawMessage) map[workflow.NodeID]string {
	all := make(map[workflow.NodeID]string, len(values))
	for id, value := range values {
		all[id] = string(value)
	}
	return all
}

// effectsOf writes what a simulation would have called as [callsOf] does, for the run that
// really did.
func effectsOf(effects []run.Effect, id run.ID) []string {
	lines := make([]string, len(effects))
	for i, e := range effects {
		lines[i] = written(e.Node, e.Type, e.Attempt, e.Input, e.Config, string(id)+":"+string(e.Node))
	}
	return lines
}

func callsOf(calls []outbound.NodeCall) []string {
	lines := make([]string, len(calls))
	for i, c := range calls {
		lines[i] = written(c.NodeID, c.Type, c.Attempt, c.Inputs, c.Config, c.IdempotencyKey)
	}
	return lines
}

func written(parts ...any) string {
	line, err := json.Marshal(parts)
	if err != nil {
		return err.Error()
	}
	return string(line)
}
