package run_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/workflow"
)

// bareTree renders an output for comparison: of errors only their codes, wherever they are.
func bareTree(output json.RawMessage) string {
	var tree any
	if err := json.Unmarshal(output, &tree); err != nil {
		return "not JSON: " + err.Error()
	}
	return text(onlyCodes(tree))
}

func onlyCodes(tree any) any {
	switch v := tree.(type) {
	case []any:
		for i := range v {
			v[i] = onlyCodes(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = onlyCodes(v[key])
		}
		if problem, ok := v["error"].(map[string]any); ok && problem["code"] != nil {
			v["error"] = problem["code"]
		}
	}
	return tree
}

// loopLevel is a chain of nodes: the version's, or the body of a loop.
type loopLevel struct {
	name  string // of the loop
	steps []loopStep
}

// loopStep is a node of a chain.
type loopStep struct {
	id       string
	kind     string // compute, boom, wait, call, loop
	reads    string // a node that leads here, empty for none
	fails    bool   // a call
	rescued  bool   // an edge for failures leads to a node that gives their code, and the chain ends
	modulus  int    // of boom: it fails for items that it divides
	items    int    // of a loop: how many, or as the item says
	byItem   bool
	onward   bool // of a loop: an item that fails does not end it
	parallel int
	body     *loopLevel
}

// drawLevel draws a chain. visible are the nodes that lead to it.
func drawLevel(t *rapid.T, name string, depth int, visible []string) *loopLevel {
	l := &loopLevel{name: name}
	for i := range rapid.IntRange(1, 3).Draw(t, "steps") {
		kinds := []string{"compute", "compute", "wait", "call"}
		if depth > 0 {
			kinds = append(kinds, "boom", "boom")
		}
		if depth < workflow.MaxNesting {
			kinds = append(kinds, "loop", "loop")
		}
		s := loopStep{id: fmt.Sprintf("%s_%d", name, i), kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
		s.reads = rapid.SampledFrom(append([]string{""}, visible...)).Draw(t, "reads")
		s.fails = rapid.IntRange(0, 4).Draw(t, "fails") == 0
		s.rescued = rapid.IntRange(0, 2).Draw(t, "rescued") == 0
		s.modulus = rapid.IntRange(2, 4).Draw(t, "modulus")
		if s.kind == "loop" {
			s.items, s.byItem = rapid.IntRange(0, 4).Draw(t, "items"), depth > 0 && rapid.Bool().Draw(t, "items of the item")
			s.onward, s.parallel = rapid.Bool().Draw(t, "continue"), rapid.SampledFrom([]int{1, 2, 10}).Draw(t, "concurrency")
			s.body = drawLevel(t, s.id, depth+1, slices.Clone(visible))
		}
		visible = append(visible, s.id)
		l.steps = append(l.steps, s)
	}
	return l
}

// write adds the nodes and edges of a level, as a client would write them.
func (l *loopLevel) write(nodes, edges *[]string) {
	within := ""
	if l.name != "n" {
		within = l.name + "/"
	}
	for i, s := range l.steps {
		id := within + s.id
		seen := "{ in: input"
		if l.name != "n" {
			seen += ", item, index"
		}
		if s.reads != "" {
			seen += ", read: nodes." + s.reads
		}
		seen += " }"
		line := ""
		switch s.kind {
		case "compute":
			line = expr(id, "("+seen+")")
		case "boom":
			line = expr(id, fmt.Sprintf("item %% %d === 0 ? input.none.none : %s", s.modulus, seen))
		case "wait":
			line = fmt.Sprintf(`%s wait {"delayMs": %d}`, id, 1000*s.modulus)
		case "call":
			line = id + " call"
		case "loop":
			items := fmt.Sprintf("[1, 2, 3, 4].slice(0, %d)", s.items)
			if s.byItem {
				items += ".map(n => n + item)"
			}
			onError := map[bool]string{true: "continue", false: "fail"}[s.onward]
			line = fmt.Sprintf(`%s forEach {"items": %q, "concurrency": %d, "onItemError": %q}`, id, items, s.parallel, onError)
			s.body.write(nodes, edges)
		}
		*nodes = append(*nodes, line)
		if i > 0 {
			*edges = append(*edges, l.steps[i-1].id+" -> "+s.id)
		}
		if s.rescued {
			*nodes = append(*nodes, expr(within+s.id+"r", "({ rescued: input.error.code })"))
			*edges = append(*edges, s.id+".onError -> "+s.id+"r")
		}
	}
}

// place is where the rules are worked out: in which item, and what is seen there.
type loopPlace struct {
	input, item any
	index       int
	seen        map[string]any
}

// outcome works out by the rules what a run of the level gives, or with which code it fails.
func (l *loopLevel) outcome(at loopPlace, inBody bool, gave map[string]any) (output any, failure string) {
	seen := map[string]any{}
	for id, v := range at.seen {
		seen[id] = v
	}
	input := at.input
	for _, s := range l.steps {
		found := map[string]any{"in": input}
		if inBody {
			found["item"], found["index"] = at.item, float64(at.index)
		}
		if s.reads != "" {
			if found["read"] = seen[s.reads]; found["read"] == nil {
				found["read"] = nil
			}
		}
		var given any
		code := ""
		switch s.kind {
		case "compute":
			given = found
		case "boom":
			if given = found; int(at.item.(float64))%s.modulus == 0 {
				code = "expression_failed"
			}
		case "wait":
			given = input
		case "call":
			if given = map[string]any{"by": s.id}; s.fails {
				code = "broken"
			}
		case "loop":
			given, code = s.outcome(at, seen)
		}
		if code != "" {
			if !s.rescued {
				return nil, code
			}
			if output = map[string]any{"rescued": code}; gave != nil {
				gave[s.id+"r"] = output
			}
			return output, ""
		}
		if gave != nil {
			gave[s.id] = given
		}
		seen[s.id], input, output = given, given, given
	}
	return output, ""
}

// outcome is that of a node that runs its body.
func (s loopStep) outcome(at loopPlace, seen map[string]any) (any, string) {
	results, failed := []any{}, []any{}
	for index := range s.items {
		item := float64(index + 1)
		if s.byItem {
			item += at.item.(float64)
		}
		given, code := s.body.outcome(loopPlace{input: item, item: item, index: index, seen: seen}, true, nil)
		if code != "" && !s.onward {
			return nil, run.CodeItemFailed
		}
		if code != "" {
			failed = append(failed, map[string]any{"index": float64(index), "error": code})
		}
		results = append(results, given)
	}
	return map[string]any{"count": float64(s.items), "results": results, "failed": failed}, ""
}

// callsOf lists the calls of a level and of those in it, and whether they fail.
func (l *loopLevel) callsOf(all map[workflow.NodeID]bool) {
	for _, s := range l.steps {
		if s.kind == "call" {
			all[workflow.NodeID(s.id)] = s.fails
		}
		if s.body != nil {
			s.body.callsOf(all)
		}
	}
}

// A simulation, a family of runs whose members go on in any order, and the rules themselves come to
// the same.
func TestLoopsGiveWhatTheRulesSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		top := drawLevel(t, "n", 0, nil)
		var nodeLines, edgeLines []string
		top.write(&nodeLines, &edgeLines)
		p := plan(t, nodes(nodeLines...), edges(edgeLines...))
		started := start(`{"p": 1}`)
		started.Trigger = fired(t, "trg_1", "t", `{"timeoutMs": 999999999999}`)
		gave := map[string]any{}
		_, code := top.outcome(loopPlace{input: map[string]any{"p": 1.0}}, false, gave)

		calls, given := map[workflow.NodeID]bool{}, answers{}
		top.callsOf(calls)
		for id, fails := range calls {
			a := run.Answer{Output: json.RawMessage(text(map[string]any{"by": id}))}
			if fails {
				a = run.Answer{Failure: &run.AttemptFailed{Code: "broken", Message: "No."}}
			}
			given[id] = slices.Repeat([]run.Answer{a}, 64)
		}
		trace, err := run.Simulate(p, runID, started, noon, run.Outside{Answers: given, Body: bodies(t)})
		if err != nil {
			t.Fatal(err)
		}
		f := &family{t: t, now: noon, fails: calls}
		f.join(p, run.New(runID, started, noon), nil)
		for range 3000 {
			choices := f.choices()
			if len(choices) == 0 {
				break
			}
			rapid.SampledFrom(choices).Draw(t, "next")()
		}
		for _, m := range f.members {
			if !m.run.Status().Finished() {
				t.Fatalf("%s is %s, and nothing moves it", m.run.ID(), m.run.Status())
			}
		}
		for which, r := range map[string]*run.Run{"the simulation": trace.Run, "the family": f.members[0].run} {
			got := map[string]string{}
			for id, output := range r.Data() {
				if id != "input" {
					got[string(id)] = bareTree(output)
				}
			}
			for id, output := range gave {
				if want := text(output); got[id] != want {
					t.Fatalf("%s: %s gave %s, not %s", which, id, got[id], want)
				}
			}
			if failed := r.Failure(); (failed != nil) != (code != "") || failed != nil && failed.Code != code {
				t.Fatalf("%s: it is %s with %+v, not with %q", which, r.Status(), failed, code)
			}
		}
	})
}
