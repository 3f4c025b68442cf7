package run_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/expression"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
)

// inBody are nodes in the body of another one.
func inBody(of workflow.NodeID, nodes []workflow.Node) []workflow.Node {
	for i := range nodes {
		nodes[i].Parent = of
	}
	return nodes
}

func each(config string) string { return `each forEach {"items": "payload.list"` + config + `}` }

// looping is a run of a node with a body, and what follows.
func looping(t *testing.T, config, payload string, body ...string) *harness {
	t.Helper()
	if body == nil {
		body = []string{expr("in", "item")}
	}
	all := append(nodes(expr("before", "({ n: 1 })"), expr("unused", "2"), each(config), expr("after", "({ got: input })")), inBody("each", nodes(body...))...)
	return begin(t, plan(t, all, edges("before -> each", "unused -> each", "each -> after", "each.onError -> after")), start(payload))
}

func (w *harness) ended(items ...run.Outcome) *harness {
	w.t.Helper()
	return w.does(run.ItemsEnded{Node: "each", Count: 3, Items: items})
}

func item(i int, output string) run.Outcome {
	return run.Outcome{Index: i, Status: run.StatusCompleted, Output: json.RawMessage(output)}
}

var failedItem = run.Outcome{Index: 1, Status: run.StatusFailed, Failure: &run.Failure{Code: "boom", Message: "No.", Node: "in"}}

func TestANodeBeginsToRunItsBodyWithTheStep(t *testing.T) {
	w := looping(t, `, "concurrency": 4, "onItemError": "continue"`, `{"list": [1, {"b": 2, "a": 1.50}, null]}`, expr("in", "item + nodes.before.n"))
	w.want(run.StatusRunning, "before=completed unused=completed each=waiting after=pending")
	want := []run.LoopStart{{
		Node: "each", Items: []json.RawMessage{json.RawMessage(`1`), json.RawMessage(`{"a":1.50,"b":2}`), json.RawMessage(`null`)}, Outer: json.RawMessage(`{"before":{"n":1}}`),
		Concurrency: 4,
	}}
	if diff := cmp.Diff(want, w.last.Loops); diff != "" {
		t.Error(diff)
	}
	if len(w.last.Happened) != 1 || len(w.run.Awaits()) > 0 || len(w.run.Loops()) != 1 {
		t.Errorf("it tells %v, waits for %v and %v", w.last.Happened, w.run.Awaits(), w.run.Loops())
	}
}

func TestWhatANodeMakesOfItsItems(t *testing.T) {
	const three = `{"list": [1, 2, 3]}`
	for claim, c := range map[string]struct {
		config, payload string
		items           []run.Outcome
		want            string
	}{
		"none":                      {``, `{"list": []}`, nil, `{"got":{"count":0,"failed":[],"results":[]}}`},
		"their outputs":             {``, three, []run.Outcome{item(0, `1`), item(1, `{"a":2}`), {Index: 2, Status: run.StatusCompleted}}, `{"got":{"count":3,"failed":[],"results":[1,{"a":2},null]}}`},
		"the first failure":         {``, three, []run.Outcome{failedItem}, `item_failed","message":"Item 1 failed with boom: No."`},
		"those that failed":         {`, "onItemError": "continue"`, three, []run.Outcome{item(0, `1`), failedItem, {Index: 2, Status: run.StatusCancelled}}, `"failed":[{"error":{"code":"boom","message":"No.","nodeId":"in"},"index":1},{"error":{"code":"call_cancelled","message":"The run of the item was cancelled."},"index":2}],"results":[1,null,null]`},
		"too large an output":       {`, "onItemError": "continue"`, three, []run.Outcome{item(0, `1`), {Index: 1, Status: run.StatusCompleted, Omitted: true}}, `"code":"result_too_large"`},
		"too large outputs":         {``, three, []run.Outcome{item(0, text(strings.Repeat("x", 1<<19))), item(1, text(strings.Repeat("x", 1<<19)))}, `"code":"result_too_large"`},
		"no array":                  {``, `{"list": {"a": 1}}`, nil, `"code":"source_not_array"`},
		"an expression that fails":  {``, `1`, nil, `"code":"source_not_array"`},
		"too many":                  {``, `{"list": [` + strings.Repeat("1,", run.MaxItems) + `1]}`, nil, `"code":"too_many_items"`},
		"more bytes than there may": {``, `{"list": [` + strings.Repeat(text(strings.Repeat("x", 1000))+",", 8999) + `1]}`, nil, `"code":"items_too_large"`},
	} {
		w := looping(t, c.config, c.payload)
		if c.items != nil {
			w.ended(c.items...)
			if len(w.last.Left) == 0 {
				t.Errorf("%s: the node still waits", claim)
			}
		}
		if got := w.output("after"); !strings.Contains(got, c.want) || w.run.Status() != run.StatusCompleted {
			t.Errorf("%s: %s, %s", claim, w.run.Status(), got)
		}
	}
}

func TestTheTimeOfARunStandsStillWhileAllItsItemsArePaused(t *testing.T) {
	w := looping(t, ``, `{"list": [1]}`).after(time.Minute).does(run.ItemsPaused{Node: "each", Paused: true})
	w.want(run.StatusPaused, "before=completed unused=completed each=waiting after=pending")
	if w.does(run.ItemsPaused{Node: "each", Paused: true}); w.last.Changed() {
		t.Error("the same again changes something")
	}
	w.after(time.Hour).does(run.ItemsPaused{Node: "each"})
	if used := w.run.State().Used; used != time.Minute || w.run.Status() != run.StatusRunning {
		t.Errorf("it is %s and has used %s", w.run.Status(), used)
	}
}

func TestARunThatEndsLeavesItsItems(t *testing.T) {
	w := looping(t, ``, `{"list": [1]}`).does(run.CancelRequested{})
	if diff := cmp.Diff([]workflow.NodeID{"each"}, w.last.Left); diff != "" {
		t.Error(diff)
	}
	if w.ended(item(0, "1")); w.last.Changed() {
		t.Error("items that end change it")
	}
	given := looping(t, ``, `{"list": [1]}`)
	if step := given.run.Abandon(noon, "gone"); len(step.Left) != 1 {
		t.Errorf("one that is given up leaves %v", step.Left)
	}
}

func TestARetryGoesOnWithTheItemsThatThereAre(t *testing.T) {
	all := append(nodes(each("")), inBody("each", nodes(expr("in", "item")))...)
	w := begin(t, plan(t, all, nil), start(`{"list": [1, 2, 3]}`)).ended(failedItem)
	w.want(run.StatusFailed, "each=failed(item_failed)")
	w.does(run.RetryRequested{})
	if diff := cmp.Diff([]run.LoopStart{{Node: "each", Again: true}}, w.last.Loops); diff != "" {
		t.Error(diff)
	}
	w.ended(item(0, "1"), item(1, "2"), item(2, "3")).want(run.StatusCompleted, "each=completed")
}

func TestTheRunOfAnItem(t *testing.T) {
	all := append(nodes(expr("far", "1"), each("")), inBody("each", nodes(`first wait {"delayMs": 0}`, expr("seen", "({ item, index, input, payload, nodes, twice: [1].map((item, index) => item + index) })")))...)
	all = append(all, inBody("each", nodes(`deep forEach {"items": "[item, item]"}`))...)
	all = append(all, inBody("deep", nodes(expr("low", "nodes.far + nodes.first + item")))...)
	g := workflow.RestoreGraph(all, edges("first -> seen", "far -> each"))
	parent := begin(t, plan(t, all, edges("first -> seen", "far -> each")), start(`{"list": [7]}`)).after(time.Minute)
	began := parent.last.Loops[0]
	if string(began.Outer) != `{"far":1}` {
		t.Errorf("it brings %s", began.Outer)
	}
	of := parent.run.Item("each", "run_2", 0, parent.now)
	st := of.State()
	if st.Parent != runID || st.ParentNode != "each" || !st.ParentWaits || st.Depth != 0 || st.Cause != run.CauseItem || st.Entity != "order-7" || st.DedupeKey != "" ||
		st.Timeout != parent.run.State().Timeout || st.Used != time.Minute || string(st.Payload) != `{"list": [7]}` {
		t.Errorf("it is %+v", st.Origin)
	}
	body := run.NewBodyPlan(version, g, "each", registry(t), expression.Compiler{})
	w := &harness{t: t, plan: body, run: of.WithGiven(began.Items[0], began.Outer), now: parent.now, open: map[workflow.NodeID]run.Execute{}, tokens: map[workflow.NodeID]string{}}
	w.does(run.Started{})
	w.want(run.StatusRunning, "first=completed seen=completed deep=waiting")
	if got := w.output("seen"); got != `{"index":0,"input":7,"item":7,"nodes":{"far":1,"first":7},"payload":{"list":[7]},"twice":[1]}` {
		t.Errorf("it sees %s", got)
	}
	shown, _, err := w.run.ShownInputs(body, 1<<20)
	if err != nil || string(shown["first"].Input) != `7` || string(shown["seen"].Input) != `7` {
		t.Errorf("shown is %+v, %v", shown, err)
	}
	if deep := w.last.Loops[0]; string(deep.Outer) != `{"far":1}` || len(deep.Items) != 2 { // first does not lead to it
		t.Errorf("the inner one brings %s", deep.Outer)
	}
	if _, err := of.Advance(parent.plan, run.Event{At: noon, Fact: run.Started{}}); domain.KindOf(err) != domain.Internal {
		t.Errorf("with the plan of its parent: %v", err)
	}
	if _, err := of.Rerun(nil, "run_3", run.Again{}, noon); domain.KindOf(err) != domain.Conflict {
		t.Errorf("it is repeated: %v", err)
	}
	sibling := of.Sibling("run_4", 5, noon).State()
	if sibling.Used != 0 || sibling.Index != 5 || sibling.ID != "run_4" || sibling.Parent != runID || sibling.Status != run.StatusPending {
		t.Errorf("the next is %+v", sibling)
	}
}

func TestARunOfAnItemThatEndedGoesOnWhenItsLoopDoes(t *testing.T) {
	all := inBody("each", nodes(expr("a", "1"), expr("boom", "input.none.none")))
	body := run.NewBodyPlan(version, workflow.RestoreGraph(append(nodes(each("")), all...), edges("a -> boom")), "each", registry(t), expression.Compiler{})
	parent := run.New(runID, start(`{}`), noon)
	w := &harness{t: t, plan: body, run: parent.Item("each", "run_2", 0, noon).WithGiven(json.RawMessage(`1`), nil), now: noon, open: map[workflow.NodeID]run.Execute{}, tokens: map[workflow.NodeID]string{}}
	w.does(run.Started{}).want(run.StatusFailed, "a=completed boom=failed(expression_failed)")
	st := w.run.State()
	st.Status, st.Failure, st.FinishedAt = run.StatusPending, nil, nil // as a store has it
	w.run = run.Restore(st)
	w.does(run.Started{})
	if w.last.Was != run.StatusPending || w.run.Retries() != 1 {
		t.Errorf("it was %s, retried %d times", w.last.Was, w.run.Retries())
	}
}

// The run of a loop that is retried has all of its time again, and so have its items.
func TestAnItemThatGoesOnHasTheTimeThatItsLoopHas(t *testing.T) {
	all := append(nodes(each("")), inBody("each", nodes(`call httpRequest {"url": "https://example.com"}`))...)
	parent := begin(t, plan(t, all, nil), start(`{"list": [1]}`)).after(trigger.DefaultTimeout - time.Second)
	body := run.NewBodyPlan(version, workflow.RestoreGraph(all, nil), "each", registry(t), expression.Compiler{})
	item := parent.run.Item("each", "run_2", 0, parent.now).WithGiven(json.RawMessage(`1`), nil)
	w := &harness{t: t, plan: body, run: item, now: parent.now, open: map[workflow.NodeID]run.Execute{}, tokens: map[workflow.NodeID]string{}}
	w.does(run.Started{}).after(time.Second).does(run.TimeReached{}).want(run.StatusFailed, "call=cancelled")
	st := w.run.State()
	st.Status, st.Failure, st.FinishedAt = run.StatusPending, nil, nil // as a store has it
	w.run = run.Restore(st)
	w.does(run.Started{}).after(time.Minute).does(run.TimeReached{}).want(run.StatusRunning, "call=running")
}

func TestTheOuterNodesThatABodyLooksAtAreFound(t *testing.T) {
	for source, want := range map[string]string{
		"1": "", "nodes.a + nodes['b']": `{"a":1,"b":2}`, `nodes["a"]`: `{"a":1}`, "nodes[item]": `{"a":1,"b":2}`, "Object.keys(nodes)": `{"a":1,"b":2}`,
		"mynodes + nodesX": "", "nodes?.a": `{"a":1,"b":2}`, "nodes.other": "", "nodes.a.nodes.b": `{"a":1,"b":2}`,
		"1 +\nnodes.a": `{"a":1}`, "1 +\tnodes.b": `{"b":2}`, "\r\nnodes['a']": `{"a":1}`, "'é' + nodes.a": `{"a":1}`, "'\\n'+nodes.b": `{"b":2}`,
		`nodes["\u0061"]`: `{"a":1,"b":2}`, `n\u006fdes.a`: `{"a":1,"b":2}`,
	} {
		all := append(nodes(expr("a", "1"), expr("b", "2"), each("")), inBody("each", nodes(`in transform {"expression": `+text(source)+`}`))...)
		w := begin(t, plan(t, all, edges("a -> each", "b -> each")), start(`{"list": [1]}`))
		if got := string(w.last.Loops[0].Outer); got != want {
			t.Errorf("%s: %s, not %s", source, got, want)
		}
	}
}

func TestALoopCountsItsItems(t *testing.T) {
	l := run.Loop{Count: 3, Next: 2, Live: 2, Concurrency: 2, FailFast: true}
	for _, c := range []struct {
		was, is run.Status
		want    string
	}{
		{run.StatusPending, run.StatusRunning, "2 live, 0 paused, room 0"},
		{run.StatusRunning, run.StatusPaused, "2 live, 1 paused, room 0"},
		{run.StatusRunning, run.StatusPaused, "2 live, 2 paused, room 0 all paused"},
		{run.StatusPaused, run.StatusCompleted, "1 live, 1 paused, room 1 all paused"},
		{run.StatusPaused, run.StatusFailed, "0 live, 0 paused, room 0 over"},
		{run.StatusFailed, run.StatusRunning, "1 live, 0 paused, room 1"},
		{run.StatusRunning, run.StatusCompleted, "0 live, 0 paused, room 1"},
	} {
		l.Move(c.was, c.is)
		got := fmt.Sprintf("%d live, %d paused, room %d", l.Live, l.Paused, l.Room())
		if l.AllPaused() {
			got += " all paused"
		}
		if l.Over() {
			got += " over"
		}
		if got != c.want {
			t.Errorf("%s to %s: %s, not %s", c.was, c.is, got, c.want)
		}
	}
	if l.Left = true; l.Room() != 0 {
		t.Error("nobody waits for it, and there is room")
	}
}
