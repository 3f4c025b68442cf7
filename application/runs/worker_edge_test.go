package runs_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// undecided is a version in which a payment, which is made beside another call, leads on by
// an edge that cannot be decided before the time in the payload. Should the payment fail,
// it is refunded.
func (w *workshop) undecided() *workflow.Version {
	w.Helper()
	return w.version(
		[]string{"charge " + call, "beside " + call, "ship " + call, "refund " + call},
		[]string{"charge -> ship now() >= payload.from || result.order.id > 0", "charge.onError -> refund"},
	)
}

// retriedAt retries a run at another time than the database's.
func (d *desk) retriedAt(ver *workflow.Version, id run.ID, at time.Time) {
	d.Helper()
	plan := d.plan(ver, nil)
	d.do(func(ctx context.Context, st outbound.Stores) error {
		r, err := st.Runs.Runs.Get(ctx, d.owner, id)
		if err != nil {
			return err
		}
		from := r.Seq()
		step, err := r.Advance(plan, run.Event{At: at, Fact: run.RetryRequested{}})
		if err != nil {
			return err
		}
		return st.Runs.Runs.Record(ctx, outbound.RunStep{Run: r, From: from, History: step.History})
	})
	d.signals.Tell(id)
}

// bare is a history without the entries of the node that runs beside the one it is about.
func bare(history []string) string {
	var left []string
	for _, line := range history {
		if !strings.HasSuffix(line, " beside") {
			left = append(left, line)
		}
	}
	return strings.Join(left, ", ")
}

func TestACallThatWasMadeIsNotMadeAgainForTheSakeOfItsEdge(t *testing.T) {
	t.Parallel()
	atDesk(t, func(d *desk) {
		ver := d.undecided()
		from := time.Now().Add(48 * time.Hour).Truncate(time.Millisecond)
		stays, first := make(chan struct{}), true
		d.outside.answer = func(ctx context.Context, call outbound.NodeCall) (outbound.NodeOutcome, error) {
			d.outside.mu.Lock()
			waits := first && call.NodeID == "beside"
			first = first && !waits
			d.outside.mu.Unlock()
			switch {
			case waits: // until it is cut off
				close(stays)
				<-ctx.Done()
				return nil, context.Cause(ctx)
			case call.NodeID == "charge":
				<-stays
			}
			return outbound.NodeCompleted{Output: map[string]any{"of": call.NodeID}}, nil
		}
		d.start()
		id := d.accept(ver, 1, accepted{payload: fmt.Sprintf(`{"from": %d}`, from.UnixMilli())})[0]
		r := d.until(id, "the run fails", finished)
		edge := ver.Graph().Edges()[0].ID
		why := &run.Failure{Code: "edge_condition_failed", Node: "charge", Edge: edge, Message: fmt.Sprintf("The condition of edge %s (charge -> ship) cannot be computed: "+
			"edges[0].condition: line 1, column 39: result.order is undefined; cannot read \"id\"; write ?. before it where it may be missing", edge)}
		d.same(why, r.Failure())
		d.same(`{"of":"charge"}`, gave(r, "charge"))

		changed, err := d.runs.Retry(t.Context(), d.who, domain.Once{}, id) // too early
		if err != nil {
			t.Fatal(err)
		}
		d.same(why.Message, changed.Failure.Message)
		d.same("run.started, node.started charge, node.completed charge, edge.failed charge, run.failed charge, run.retried, edge.failed charge, run.failed charge",
			bare(d.history(id)))
		d.same([]run.Failure{{Code: why.Code, Message: why.Message, Node: why.Node}}, []run.Failure{*d.of(d.owner)[0].Failure})

		d.retriedAt(ver, id, from)
		r = d.until(id, "the run ends", finished)
		d.same(run.StatusCompleted, r.Status())
		d.same(`{"of":"charge"} {"of":"ship"}  {"of":"beside"}`, strings.Join([]string{gave(r, "charge"), gave(r, "ship"), gave(r, "refund"), gave(r, "beside")}, " "))
		made := map[string]int{}
		for _, attempt := range d.outside.made() {
			made[attempt]++
		}
		d.same(map[string]int{"charge 1": 1, "beside 1": 1, "beside 2": 1, "ship 1": 1}, made)
		if err := d.errors(); err != nil {
			t.Error(err)
		}
	})
}

// gave is the text of what a node gave, empty for nothing.
func gave(r *run.Run, id workflow.NodeID) string {
	output, _ := r.Output(id)
	return string(output)
}

func TestThoseWhoAreToldOfAFailureLearnTheEdge(t *testing.T) {
	t.Parallel()
	d := newDesk(t, openSQLite(t))
	ver := d.version([]string{`a transform {"expression": "({ total: 1 })"}`, `b transform {"expression": "1"}`}, []string{"a -> b result.order.id > 0"})
	d.start()
	id := d.accept(ver, 1, accepted{})[0]
	r := d.until(id, "the run fails", finished)
	edge := string(ver.Graph().Edges()[0].ID)
	var told []string
	d.do(func(ctx context.Context, st outbound.Stores) error {
		waiting, err := st.Webhooks.Events.Waiting(ctx, 100)
		for _, e := range waiting {
			if _, why, failed := strings.Cut(e.Data().String(), `"error":`); failed {
				told = append(told, string(e.Type())+" "+why)
			}
		}
		return err
	})
	d.same([]string{`run.failed {"code":"edge_condition_failed","message":` + strconv.Quote(r.Failure().Message) +
		`,"nodeId":"a","edgeId":"` + edge + `"}}`}, told)
	var followed []string
	err := d.runs.Follow(t.Context(), d.who, id, 0, func(entries []run.Entry) error {
		for _, e := range entries {
			followed = append(followed, strings.TrimSpace(fmt.Sprint(e.Type, " ", e.Node, " ", e.Edge, " ", e.Code)))
		}
		return nil
	})
	d.same([]string{
		"run.started", "node.completed a", "edge.failed a " + edge + " edge_condition_failed", "run.failed a " + edge + " edge_condition_failed",
	}, followed)
	if err != nil {
		t.Error(err)
	}
}

// TestASimulationFailsAtTheEdgeThatItsRunFailsAt compares the two as far as that.
func TestASimulationFailsAtTheEdgeThatItsRunFailsAt(t *testing.T) {
	t.Parallel()
	d := newDesk(t, openSQLite(t))
	ver := d.version([]string{"charge " + call, "refund " + call, `next transform {"expression": "1"}`},
		[]string{"charge -> next result.order.id > 0", "charge -> next 2 > 1 && result.none.none", "charge.onError -> refund"})
	trg := d.trigger(ver, `{}`)
	begin := run.Call{EventData: body(`{}`), Entity: text("order-7")}
	answers := map[workflow.NodeID][]run.Answer{"charge": {{Output: body(`{"status":200}`)}}}
	simulated, err := d.runs.Simulate(t.Context(), d.who, domain.Once{}, ver.ID(), run.SimulationCall{Call: begin, Trigger: trg.ID(), Answers: answers})
	if err != nil {
		t.Fatal(err)
	}
	d.outside.answer = played(answers)
	d.start()
	id := d.call(trg, begin).Run
	made := d.until(id, "the run ends", finished)
	d.same(whatHappened(simulated.History), whatHappened(d.entries(id)))
	d.same(outcomes(simulated.Run), outcomes(made))
	d.same(simulated.Run.Failure(), made.Failure())
	d.same(simulated.Run.Nodes()[0].Undecided, made.Nodes()[0].Undecided)
	if f := made.Failure(); f == nil || f.Edge != ver.Graph().Edges()[0].ID || len(simulated.Open) != 0 {
		t.Errorf("the run failed with %+v, open in the simulation is %v", f, simulated.Open)
	}
}
