package run_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/workflow"
)

// edgeClaims are graphs that run through without anything outside.
var edgeClaims = map[string]struct {
	nodes   []workflow.Node
	edges   []workflow.Edge
	payload string
	status  run.Status
	states  string
	outputs map[workflow.NodeID]string
}{
	"a condition takes the edge of its branch and the other path dies": {
		nodes("if condition {\"condition\": \"input.n > 1\"}", expr("yes", "'y'"), expr("no", "'n'"), expr("after", "'a'")),
		edges("if.true -> yes", "if.false -> no", "no -> after"),
		`{"n": 2}`, run.StatusCompleted, "if=completed yes=completed no=skipped after=skipped",
		map[workflow.NodeID]string{"if": `{"n": 2}`, "yes": `"y"`, "no": "-"},
	},
	"targets in the configuration decide where an edge bears no key": {
		nodes(`if condition {"condition": "false", "trueBranch": "yes", "falseBranch": "no"}`, expr("yes", "1"), expr("no", "2"), expr("both", "3")),
		edges("if -> yes", "if -> no", "if -> both"),
		`{}`, run.StatusCompleted, "if=completed yes=skipped no=completed both=completed", nil,
	},
	"and so they do for the other branch": {
		nodes(`if condition {"condition": "1", "trueBranch": "yes", "falseBranch": "no"}`, expr("yes", "1"), expr("no", "2"), expr("both", "3")),
		edges("if -> yes", "if -> no", "if.onSuccess -> both"),
		`{}`, run.StatusCompleted, "if=completed yes=completed no=skipped both=completed", nil,
	},
	"a key on the edge outweighs the target in the configuration": {
		nodes(`if condition {"condition": "true", "trueBranch": "b", "falseBranch": null}`, expr("a", "1"), expr("b", "2")),
		edges("if.true -> a", "if.false -> b"),
		`{}`, run.StatusCompleted, "if=completed a=completed b=skipped", nil,
	},
	"a switch takes the first case that equals": {
		nodes(`s switch {"expression": "input", "cases": [{"value": "1.0"}, {"value": 1.0}, {"value": 1, "nodeId": ""}]}`, expr("a", "1"), expr("b", "2"), expr("c", "3"), expr("d", "4")),
		edges("s.case-0 -> a", "s.case-1 -> b", "s.case-2 -> c", "s.default -> d"),
		`1`, run.StatusCompleted, "s=completed a=skipped b=completed c=skipped d=skipped", nil,
	},
	"a case of text matches the number that is spelled so": {
		nodes(`s switch {"expression": "input.n", "cases": [{"value": "05"}, {"value": "5", "nodeId": ""}]}`, expr("a", "1"), expr("b", "2")),
		edges("s.case-0 -> a", "s.case-1 -> b"),
		`{"n": 5.0}`, run.StatusCompleted, "s=completed a=skipped b=completed", nil,
	},
	"and the boolean": {
		nodes(`s switch {"expression": "input.n > 1", "cases": [{"value": "false"}, {"value": "true"}]}`, expr("a", "1"), expr("b", "2")),
		edges("s.case-0 -> a", "s.case-1 -> b"),
		`{"n": 5}`, run.StatusCompleted, "s=completed a=skipped b=completed", nil,
	},
	"a case of a number matches no text, nor does one of text match null": {
		nodes(`s switch {"expression": "input.n", "cases": [{"value": 5}]}`, `z switch {"expression": "input.z", "cases": [{"value": "null"}, {"value": ""}]}`, expr("d", "1")),
		edges("s.default -> d", "z.case-0 -> d", "z.case-1 -> d"),
		`{"n": "5", "z": null}`, run.StatusCompleted, "s=completed z=completed d=completed", nil,
	},
	"a branch that leads nowhere ends there": {
		nodes(`if condition {"condition": "input.n > 1"}`, expr("a", "1")),
		edges("if.true -> a"),
		`{"n": 1}`, run.StatusCompleted, "if=completed a=skipped", nil,
	},
	"a switch compares objects by what they hold": {
		nodes(`s switch {"expression": "input", "cases": [{"value": {"a": [1, null]}}]}`, expr("a", "1"), expr("d", "4")),
		edges("s.case-0 -> a", "s.default -> d"),
		`{"a": [1.0, null]}`, run.StatusCompleted, "s=completed a=completed d=skipped", nil,
	},
	"a switch without a case that equals takes the default, by its target too": {
		nodes(`s switch {"expression": "input.kind", "cases": [{"value": "x", "nodeId": "a"}], "defaultNode": "d"}`, expr("a", "1"), expr("d", "4")),
		edges("s -> a", "s -> d"),
		`{}`, run.StatusCompleted, "s=completed a=skipped d=completed", nil,
	},
	"a condition on an edge sees the result of its source": {
		nodes(expr("a", "({n: input.n * 2})"), expr("big", "1"), expr("small", "2")),
		edges("a -> big result.n > 5", "a -> small result.n <= 5 && nodes.a.n === result.n && input.n < 3"),
		`{"n": 2}`, run.StatusCompleted, "a=completed big=skipped small=completed", nil,
	},
	"an edge whose condition cannot be computed fails the run, and its source has completed": {
		nodes(expr("a", "1"), expr("b", "1")), edges("a -> b result.x.y"),
		`{}`, run.StatusFailed, "a=completed b=pending", map[workflow.NodeID]string{"a": "1"},
	},
	"no edge for failures takes that, since no node has failed": {
		nodes(expr("a", "1"), expr("b", "1"), expr("c", "1")), edges("a.onError -> c", "a -> b result.x.y", "b.onError -> c"),
		`{}`, run.StatusFailed, "a=completed b=pending c=pending", nil,
	},
	"beside such an edge no other one of its node is followed, wherever it stands": {
		nodes(expr("a", "1"), expr("b", "1"), expr("c", "1"), expr("d", "1")), edges("a -> b", "a -> c result.x.y", "a -> d true"),
		`{}`, run.StatusFailed, "a=completed b=pending c=pending d=pending", nil,
	},
	"the condition of an edge of another branch is not looked at": {
		nodes(`if condition {"condition": "true"}`, expr("b", "1"), expr("c", "1")), edges("if.false -> b result.x.y", "if.true -> c", "if.onError -> b result.x.y"),
		`{}`, run.StatusCompleted, "if=completed b=skipped c=completed", nil,
	},
	"a condition that cannot decide has failed itself, and an edge for failures may take that": {
		nodes(`if condition {"condition": "input.x.y"}`, expr("b", "1"), expr("c", "input.error.code")), edges("if.true -> b", "if.onError -> c"),
		`{}`, run.StatusCompleted, "if=failed(expression_failed) b=skipped c=completed", map[workflow.NodeID]string{"c": `"expression_failed"`},
	},
	"and so has a switch": {
		nodes(`s switch {"expression": "input.x.y", "cases": [{"value": 1}]}`, expr("b", "1")), edges("s.default -> b"),
		`{}`, run.StatusFailed, "s=failed(expression_failed) b=pending", nil,
	},
	"a condition on an edge holds as JavaScript says, whatever its type": {
		nodes(expr("a", "({n: 0, text: 'x', none: null})"), expr("b", "1"), expr("c", "1"), expr("d", "1"), expr("e", "1")),
		edges("a -> b result.n", "a -> c result.text", "a -> d result.none", "a -> e result.gone"),
		`{}`, run.StatusCompleted, "a=completed b=skipped c=completed d=skipped e=skipped", nil,
	},
	"a failure takes the edges for errors and no others": {
		nodes(expr("a", "input.x.y"), expr("b", "1"), expr("c", "input.error"), expr("d", "1")),
		edges("a -> b", "a.onSuccess -> d", "a.onError -> c"),
		`{}`, run.StatusCompleted, "a=failed(expression_failed) b=skipped c=completed d=skipped",
		map[workflow.NodeID]string{"c": `{"attempts":0,"code":"expression_failed","message":"config.expression: line 1, column 9: input.x is undefined; cannot read \"y\"; write ?. before it where it may be missing","nodeId":"a"}`},
	},
	"a failure that no edge takes fails the run": {
		nodes(expr("a", "input.x.y"), expr("b", "1")), edges("a.onError -> b result.error.code === 'other'"),
		`{}`, run.StatusFailed, "a=failed(expression_failed) b=pending", nil,
	},
	"success takes its own edges and not those for errors": {
		nodes(expr("a", "1"), expr("b", "1"), expr("c", "1")), edges("a.onSuccess -> b", "a.onError -> c"),
		`{}`, run.StatusCompleted, "a=completed b=completed c=skipped", nil,
	},
	"a join waits for every edge and starts when one is taken": {
		nodes(`if condition {"condition": "true"}`, expr("a", "({a: 1})"), expr("b", "({b: 1})"), expr("join", "input")),
		edges("if.true -> a", "if.false -> b", "a -> join", "b -> join"),
		`{}`, run.StatusCompleted, "if=completed a=completed b=skipped join=completed", map[workflow.NodeID]string{"join": `{"a":1}`},
	},
	"a join whose edges are all dead is skipped, and so is what follows": {
		nodes(`if condition {"condition": "true"}`, expr("a", "1"), expr("b", "1"), expr("join", "1"), expr("end", "1")),
		edges("if.false -> a", "if.false -> b", "a -> join", "b -> join", "join -> end"),
		`{}`, run.StatusCompleted, "if=completed a=skipped b=skipped join=skipped end=skipped", nil,
	},
	"a graph without nodes is done at once": {nil, nil, `{}`, run.StatusCompleted, "", nil},
}

func TestEdgesAreTakenAndDead(t *testing.T) {
	for claim, c := range edgeClaims {
		t.Run(claim, func(t *testing.T) {
			w := begin(t, plan(t, c.nodes, c.edges), start(c.payload))
			w.want(c.status, c.states)
			for id, want := range c.outputs {
				if got := w.output(id); got != want {
					t.Errorf("%s gave %s, not %s", id, got, want)
				}
			}
		})
	}
}

func TestWhatFlowsIntoANode(t *testing.T) {
	for claim, c := range map[string]struct {
		edges []workflow.Edge
		want  string
	}{
		"one output is the whole input":                          {edges("a -> z"), `{"k":1,"m":{"x":1}}`},
		"a member of the output is the whole input":              {edges("a.m -> z"), `{"x":1}`},
		"a member that is not there is null":                     {edges("a.none -> z"), `null`},
		"a value goes under its key":                             {edges("a -> z.from"), `{"from":{"k":1,"m":{"x":1}}}`},
		"a member goes under its key":                            {edges("a.k -> z.n"), `{"n":1}`},
		"a member that is not there is left out under its key":   {edges("a.none -> z.n", "a.k -> z.m"), `{"m":1}`},
		"several are merged in the order of the edges":           {edges("a -> z", "b -> z"), `{"b":true,"k":2,"m":{"x":1}}`},
		"the later edge wins":                                    {edges("b -> z", "a -> z"), `{"b":true,"k":1,"m":{"x":1}}`},
		"keys and merged members stand side by side":             {edges("a -> z.a", "b -> z"), `{"a":{"k":1,"m":{"x":1}},"b":true,"k":2}`},
		"a text cannot be merged and stands under its node's id": {edges("b -> z", "s -> z"), `{"b":true,"k":2,"s":"text"}`},
		"null adds nothing":                                      {edges("n -> z", "b -> z"), `{"b":true,"k":2}`},
		"null alone is null":                                     {edges("n -> z"), `null`},
		"dead edges bring nothing":                               {edges("a -> z false", "b -> z"), `{"b":true,"k":2}`},
		"one live edge among dead ones brings the whole input":   {edges("a -> z false", "s -> z", "b.onError -> z"), `"text"`},
		"dead edges bring nothing to what is merged":             {edges("a -> z false", "b -> z.b", "s -> z"), `{"b":{"b":true,"k":2},"s":"text"}`},
	} {
		t.Run(claim, func(t *testing.T) {
			p := plan(t, nodes(expr("a", "({k: 1, m: {x: 1}})"), expr("b", "({k: 2, b: true})"), expr("s", "'text'"), expr("n", "null"), expr("z", "input")), c.edges)
			w := begin(t, p, start(`{}`))
			if got := w.output("z"); got != c.want {
				t.Errorf("the input is %s, not %s", got, c.want)
			}
			if got, ok, err := w.run.Input(p, "z"); !ok || err != nil || string(got) != c.want {
				t.Errorf("the input is said to be %s, %v, %v", got, ok, err)
			}
		})
	}
}

func TestWhereARunBegins(t *testing.T) {
	p := plan(t, nodes(
		`t1 trigger_webhook {"_triggerId": "trg_1"}`, `t2 trigger_webhook {}`, `a input {}`,
		expr("z", "input"), expr("only1", "input"),
	), edges("t1 -> z", "t2 -> z", "t1 -> only1"))
	for claim, c := range map[string]struct {
		trg  [2]string // id and name
		want string
	}{
		"at the node that names the trigger":                 {[2]string{"trg_1", "x"}, "t1=completed t2=skipped a=skipped z=completed only1=completed"},
		"else at the only trigger node of its name and type": {[2]string{"trg_2", "t2"}, "t1=skipped t2=completed a=skipped z=completed only1=skipped"},
		"else at every node without an incoming edge":        {[2]string{"trg_3", "x"}, "t1=completed t2=completed a=waiting z=completed only1=completed"},
		"without a trigger at every node without incoming":   {[2]string{}, "t1=completed t2=completed a=waiting z=completed only1=completed"},
	} {
		t.Run(claim, func(t *testing.T) {
			s := start(`{"p": 1}`)
			if c.trg[0] != "" {
				s.Trigger = fired(t, c.trg[0], c.trg[1], "{}")
			}
			w := begin(t, p, s)
			if got := w.nodes(); got != c.want {
				t.Errorf("the nodes are %s,\n want %s", got, c.want)
			}
			if got := w.output("z"); got != `{"p":1}` {
				t.Errorf("the payload arrived as %s", got)
			}
		})
	}
}

func TestExpressionsSeeTheNodesBeforeThem(t *testing.T) {
	p := plan(t, nodes(
		expr("a", "({n: payload.n})"), expr("other", "9"),
		expr("z", "({input, nodes, run, now: now(), same: nodes.a === input})"),
	), edges("a -> z"))
	w := begin(t, p, start(`{"n": 12345678901234567890}`))
	const want = `{"input":{"n":12345678901234567000},"nodes":{"a":{"n":12345678901234567000}},"now":1772366400000,` +
		`"run":{"dedupeKey":"key-7","entityId":"order-7","id":"run_01h2xcejqtf2nbrexx3vqjhp41",` +
		`"tenantId":"tenant_01h2xcejqtf2nbrexx3vqjhp41","workflowId":"wf_1","workflowVersionId":"wfv_01h2xcejqtf2nbrexx3vqjhp41"},"same":true}`
	if got := w.output("z"); got != want {
		t.Errorf("it sees\n%s, not\n%s", got, want)
	}
	const data = `input={"n": 12345678901234567890} a={"n":12345678901234567000} other=9 z=` + want
	if got := w.data(); got != data {
		t.Errorf("the context has\n%s, not\n%s", got, data)
	}
}

func TestANodeWithTheIDOfThePayloadRunsAndDoesNotHideIt(t *testing.T) {
	p := plan(t, nodes(expr("input", "({ n: input.n + 1 })"), expr("z", "nodes.input.n + payload.n")), edges("input -> z"))
	w := begin(t, p, start(`{"n": 1}`))
	w.want(run.StatusCompleted, "input=completed z=completed")
	if got, want := w.data(), `input={"n": 1} z=3`; got != want {
		t.Errorf("the context has %s, not %s", got, want)
	}
	for range w.run.Data() { // whoever walks may stop
		break
	}
}

func TestAnOutputThatIsPassedOnIsKeptOnce(t *testing.T) {
	pass := ` condition {"condition": "true"}`
	p := plan(t, nodes("in1"+pass, "in2"+pass, expr("a", "({m: {x: 1}})"), "c1"+pass, "c2"+pass, "m1"+pass, "join"+pass, expr("z", "({same: nodes.c2 === input, other: nodes.a === payload})")),
		edges("in1 -> in2", "in2 -> a", "a -> c1", "c1 -> c2", "a.m -> m1", "a -> join", "in1 -> join", "c2 -> z"))
	w := begin(t, p, start(`{"p":1}`))
	type kept struct {
		Own, Of string
		Input   bool
	}
	got := map[string]kept{}
	for _, n := range w.run.Nodes() {
		got[string(n.ID)] = kept{string(n.Output), string(n.OutputOf), n.OutputIsInput}
	}
	want := map[string]kept{
		"in1": {Input: true}, "in2": {Input: true}, "a": {Own: `{"m":{"x":1}}`}, "c1": {Of: "a"}, "c2": {Of: "a"},
		"m1": {Own: `{"x":1}`}, "join": {Own: `{"m":{"x":1},"p":1}`}, "z": {Own: `{"other":false,"same":true}`},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	const data = `input={"p":1} in1={"p":1} in2={"p":1} a={"m":{"x":1}} c1={"m":{"x":1}} m1={"x":1} join={"m":{"x":1},"p":1} c2={"m":{"x":1}} z={"other":false,"same":true}`
	if got := w.data(); got != data {
		t.Errorf("the context has\n%s, not\n%s", got, data)
	}
	for id, output := range map[workflow.NodeID]string{"in2": `{"p":1}`, "c2": `{"m":{"x":1}}`, "none": "-"} {
		if got := w.output(id); got != output {
			t.Errorf("%s gave %s, not %s", id, got, output)
		}
	}
}

func TestAnEdgeWithoutAnEndIsNone(t *testing.T) {
	p := plan(t, nodes(expr("a", "1"), expr("x", "input.p")), edges("none.onError -> x", "a -> none"))
	begin(t, p, start(`{"p": 1}`)).want(run.StatusCompleted, "a=completed x=completed")
}

func TestTheInputOfANodeThatWasNotReached(t *testing.T) {
	p := plan(t, nodes("a call", expr("x", "1")), edges("a -> x"))
	w := begin(t, p, start(`{"p": 1}`))
	for id, want := range map[workflow.NodeID]string{"a": `{"p":1}`, "x": "", "none": ""} {
		if got, ok, err := w.run.Input(p, id); err != nil || ok != (want != "") || string(got) != want {
			t.Errorf("the input of %s is %s, %v, %v", id, got, ok, err)
		}
	}
	fresh := run.New(runID, start(`{}`), noon)
	if _, ok, err := fresh.Input(p, "a"); ok || err != nil {
		t.Errorf("a node of a pending run has an input: %v, %v", ok, err)
	}
	if _, _, err := w.run.Input(plan(t, nodes("a call"), nil), "a"); err == nil {
		t.Error("the plan of another version says what the input is")
	}
}
