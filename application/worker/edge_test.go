package worker_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// undecided is a version in which a payment, which is made next to another call, leads on by
// an edge that cannot be decided before the time in the payload. Should the payment fail,
// it is refunded.
func (d *env) undecided() *workflow.Version {
	d.Helper()
	return d.NewVersion(
		[]string{"charge " + fixture.CallNode, "beside " + fixture.CallNode, "ship " + fixture.CallNode, "refund " + fixture.CallNode},
		[]string{"charge -> ship now() >= payload.from || result.order.id > 0", "charge.onError -> refund"},
	)
}

// retriedAt retries a run at another time than the database's.
func (d *env) retriedAt(ver *workflow.Version, id run.ID, at time.Time) {
	d.Helper()
	plan := d.Plan(ver)
	d.Do(func(ctx context.Context, st outbound.Stores) error {
		r, err := st.Runs.Runs.Get(ctx, tenant.All(d.Owner), id)
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
	d.Signals.Notify(id)
}

// bare is a history without the entries of the node that runs next to the one it is about.
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
	onEachStore(t, func(d *env) {
		ver := d.undecided()
		from := time.Now().Add(48 * time.Hour).Truncate(time.Millisecond)
		stays, first := make(chan struct{}), true
		d.NodeRunner.Answer = func(ctx context.Context, call outbound.NodeCall) (outbound.NodeOutcome, error) {
			d.NodeRunner.Mu.Lock()
			waits := first && call.NodeID == "beside"
			first = first && !waits
			d.NodeRunner.Mu.Unlock()
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
		d.StartWorker()
		id := d.Accept(ver, 1, fixture.RunOptions{Payload: fmt.Sprintf(`{"from": %d}`, from.UnixMilli())})[0]
		r := d.Until(id, "the run fails", fixture.Finished)
		edge := ver.Graph().Edges()[0].ID
		why := &run.Failure{Code: "edge_condition_failed", Node: "charge", Edge: edge, Message: fmt.Sprintf("The condition of edge %s (charge -> ship) cannot be computed: "+
			"edges[0].condition: line 1, column 39: result.order is undefined; cannot read \"id\"; write ?. before it where it may be missing", edge)}
		d.Same(why, r.Failure())
		d.Same(`{"of":"charge"}`, gave(r, "charge"))

		changed, err := d.Runs.Retry(t.Context(), d.Caller, domain.IdempotencyKey{}, id) // too early
		if err != nil {
			t.Fatal(err)
		}
		d.Same(why.Message, changed.Failure.Message)
		d.Same("run.started, node.started charge, node.completed charge, edge.failed charge, run.failed charge, run.retried, edge.failed charge, run.failed charge",
			bare(d.History(id)))
		d.Same([]run.Failure{{Code: why.Code, Message: why.Message, Node: why.Node}}, []run.Failure{*d.RunsOf(d.Owner)[0].Failure})

		d.retriedAt(ver, id, from)
		r = d.Until(id, "the run ends", fixture.Finished)
		d.Same(run.StatusCompleted, r.Status())
		d.Same(`{"of":"charge"} {"of":"ship"}  {"of":"beside"}`, strings.Join([]string{gave(r, "charge"), gave(r, "ship"), gave(r, "refund"), gave(r, "beside")}, " "))
		made := map[string]int{}
		for _, attempt := range d.NodeRunner.Attempts() {
			made[attempt]++
		}
		d.Same(map[string]int{"charge 1": 1, "beside 1": 1, "beside 2": 1, "ship 1": 1}, made)
		if err := d.Errors(); err != nil {
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
	d := newEnv(t, fixture.OpenSQLite(t))
	ver := d.NewVersion([]string{`a transform {"expression": "({ total: 1 })"}`, `b transform {"expression": "1"}`}, []string{"a -> b result.order.id > 0"})
	d.StartWorker()
	id := d.Accept(ver, 1, fixture.RunOptions{})[0]
	r := d.Until(id, "the run fails", fixture.Finished)
	edge := string(ver.Graph().Edges()[0].ID)
	var told []string
	d.Do(func(ctx context.Context, st outbound.Stores) error {
		waiting, err := st.Webhooks.Events.PendingFanOut(ctx, 100, "")
		for _, e := range waiting {
			if _, why, failed := strings.Cut(e.Data().String(), `"error":`); failed {
				told = append(told, string(e.Type())+" "+why)
			}
		}
		return err
	})
	d.Same([]string{`run.failed {"code":"edge_condition_failed","message":` + strconv.Quote(r.Failure().Message) +
		`,"nodeId":"a","edgeId":"` + edge + `"}}`}, told)
	var followed []string
	err := d.Runs.Follow(t.Context(), d.Caller, id, 0, func(entries []run.Entry) error {
		for _, e := range entries {
			followed = append(followed, strings.TrimSpace(fmt.Sprint(e.Type, " ", e.Node, " ", e.Edge, " ", e.Code)))
		}
		return nil
	})
	d.Same([]string{
		"run.started", "node.completed a", "edge.failed a " + edge + " edge_condition_failed", "run.failed a " + edge + " edge_condition_failed",
	}, followed)
	if err != nil {
		t.Error(err)
	}
}
