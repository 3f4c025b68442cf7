package runs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
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
	d := newEnv(t, fixture.OpenSQLite(t))
	d.InsertNodes("approve")
	ver := d.NewVersion(everything.nodes, everything.edges)
	trg := d.NewTrigger(ver, `{"retryPolicy": {"maxRetries": 2, "backoffMs": 5, "maxBackoffMs": 10}}`)
	begin := run.Call{EventData: fixture.Body(`{"id": "a/b?", "q": "x&y=é", "base": "https://shop.example"}`), Entity: fixture.Text("order-7")}
	broken := &run.AttemptFailed{Code: "unexpected_status", Message: "example.com answered 503", Retryable: true}
	gone := &run.AttemptFailed{Code: "unexpected_status", Message: "shop.example answered 410"}
	answers := map[workflow.NodeID][]run.Answer{
		"get":     {{Failure: broken, After: time.Second}, {Failure: broken}, {Output: fixture.Body(`{"status":200,"headers":{},"body":{"n":3}}`)}},
		"ask":     {{Output: fixture.Body(`7`), After: time.Hour}},
		"paid":    {{Output: fixture.Body(`{"sum":12.5}`)}},
		"approve": {{Pause: &run.AttemptPaused{Timeout: time.Hour}}, {Output: fixture.Body(`{"by":"Ana"}`), After: time.Minute}},
		"post":    {{Failure: broken}, {Failure: gone}},
	}
	simulated, err := d.Runs.Simulate(t.Context(), d.Caller, domain.IdempotencyKey{}, ver.ID(), run.SimulationCall{Call: begin, Trigger: trg.ID(), Answers: answers})
	if err != nil {
		t.Fatal(err)
	}
	if len(simulated.Open) > 0 || simulated.Run.Status() != run.StatusCompleted {
		t.Fatalf("the simulation is %s, open is %v: %+v", simulated.Run.Status(), simulated.Open, simulated.Run.Failure())
	}

	d.NodeRunner.Answer = played(answers)
	d.StartWorker()
	id := d.Call(trg, begin).Run
	for _, resume := range []func(r *run.Run) error{
		func(r *run.Run) error { return d.resumes(r, "ask", `7`) },
		func(r *run.Run) error {
			c := run.IngestCall{EventCall: run.EventCall{Event: "paid", Call: run.Call{EventData: fixture.Body(`{"sum":12.5}`), Entity: fixture.Text("order-7")}}}
			done, err := d.Firing.Ingest(t.Context(), d.Caller, domain.IdempotencyKey{}, c)
			if err == nil && len(done.Resumed) != 1 {
				err = fmt.Errorf("the event resumed %+v", done)
			}
			return err
		},
		func(r *run.Run) error { return d.resumes(r, "approve", `{"by":"Ana"}`) },
	} {
		if err := resume(d.Until(id, "the run waits for somebody", waitsForSomebody)); err != nil {
			t.Fatal(err)
		}
	}
	made := d.Until(id, "the run ends", fixture.Finished)

	d.Same(whatHappened(simulated.History), whatHappened(d.entries(id)))
	plan := d.Plan(ver, "approve")
	inputs, err := made.Inputs(plan)
	if err != nil {
		t.Fatal(err)
	}
	d.Same(texts(simulated.Inputs), texts(inputs))
	d.Same(outcomes(simulated.Run), outcomes(made))
	d.Same(effectsOf(simulated.Effects, id), callsOf(d.NodeRunner.Calls))
	if err := d.Errors(); err != nil {
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
func (d *env) resumes(r *run.Run, id workflow.NodeID, input string) error {
	for _, n := range r.Nodes() {
		if n.ID == id && n.Pause != nil {
			token := run.Token(d.Key.Secret(r.ID()), r.ID(), id, n.Pause.Seq)
			return d.Runs.Resume(d.Context(), d.Caller, domain.IdempotencyKey{}, run.ResumeCall{Run: r.ID(), Token: token, Input: fixture.Body(input)})
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
	return fixture.Finished(r) // it will not come any more
}

// entries is the history of a run.
func (d *env) entries(id run.ID) (list []run.Entry) {
	d.Helper()
	d.Do(func(ctx context.Context, st outbound.Stores) (err error) {
		list, _, err = st.Runs.Runs.History(ctx, tenant.All(d.Owner), id, 0)
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

// TestASimulationFailsAtTheEdgeThatItsRunFailsAt compares the two as far as that.
func TestASimulationFailsAtTheEdgeThatItsRunFailsAt(t *testing.T) {
	t.Parallel()
	d := newEnv(t, fixture.OpenSQLite(t))
	ver := d.NewVersion([]string{"charge " + fixture.CallNode, "refund " + fixture.CallNode, `next transform {"expression": "1"}`},
		[]string{"charge -> next result.order.id > 0", "charge -> next 2 > 1 && result.none.none", "charge.onError -> refund"})
	trg := d.NewTrigger(ver, `{}`)
	begin := run.Call{EventData: fixture.Body(`{}`), Entity: fixture.Text("order-7")}
	answers := map[workflow.NodeID][]run.Answer{"charge": {{Output: fixture.Body(`{"status":200}`)}}}
	simulated, err := d.Runs.Simulate(t.Context(), d.Caller, domain.IdempotencyKey{}, ver.ID(), run.SimulationCall{Call: begin, Trigger: trg.ID(), Answers: answers})
	if err != nil {
		t.Fatal(err)
	}
	d.NodeRunner.Answer = played(answers)
	d.StartWorker()
	id := d.Call(trg, begin).Run
	made := d.Until(id, "the run ends", fixture.Finished)
	d.Same(whatHappened(simulated.History), whatHappened(d.entries(id)))
	d.Same(outcomes(simulated.Run), outcomes(made))
	d.Same(simulated.Run.Failure(), made.Failure())
	d.Same(simulated.Run.Nodes()[0].Undecided, made.Nodes()[0].Undecided)
	if f := made.Failure(); f == nil || f.Edge != ver.Graph().Edges()[0].ID || len(simulated.Open) != 0 {
		t.Errorf("the run failed with %+v, open in the simulation is %v", f, simulated.Open)
	}
}
