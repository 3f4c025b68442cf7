package workflow_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/adapters/expression"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
)

// wide is an object of many members.
func wide(members int, name string) string {
	var text strings.Builder
	for i := range members {
		fmt.Fprintf(&text, "%s%d: '%s', ", name, i, name)
	}
	return "{" + text.String() + "}"
}

// shapes is a choice of several objects.
func shapes(of, members int) string {
	text := wide(members, "m")
	for i := range of - 1 {
		text = fmt.Sprintf("payload.c === %d ? %s : %s", i, wide(members, fmt.Sprintf("m%d_", i)), text)
	}
	return text
}

// TestACheckTakesMemoryThatGrowsWithTheGraph has each node make something of what the one before
// it gives, such that it is twice as much if nothing is shared. A short row shows the growth
// before a long one would take all memory.
func TestACheckTakesMemoryThatGrowsWithTheGraph(t *testing.T) {
	const short, perNode = 18, 1 << 20
	long := strings.Repeat("x", 20_000)
	for claim, c := range map[string]struct{ first, then string }{
		"arrays in a choice":         {"1", "payload.a ? [input] : [input]"},
		"arrays in choices":          {"1", "payload.a ? [[input]] : payload.b ? [input, [input]] : [input, 1]"},
		"arrays in each other":       {"1", strings.Repeat("[", 150) + "input" + strings.Repeat("]", 150)},
		"an object twice":            {"1", "{a: input, b: input}"},
		"an array and an object":     {"1", "payload.a ? [{a: input, b: [input]}] : [{a: [input], b: input}]"},
		"choices of objects":         {"{a: 1}", "payload.a ? {a: input, b: input.b} : payload.b ? {a: input.a, c: input} : input"},
		"lists that are joined":      {"[1]", "[input, input].concat(input, [[input]])"},
		"what a function gives":      {"[1]", "[input, [input]].map(x => payload.a ? [x] : [x, [x]])"},
		"many objects":               {shapes(6, 90), "payload.a ? [input] : input"},
		"many objects, spread":       {shapes(6, 90), "payload.a ? {...input, z: input} : {...input, y: [input]}"},
		"long values that are wrong": {"{a: '" + long + "', " + long + ": {b: '" + long + "'}}", "input.zzz ? {a: input.a} : input"},
		"taken apart":                {"[1]", "((a, [b, ...c] = [a, [a]]) => payload.a ? [a, b] : [b, c])(input)"},
	} {
		t.Run(claim, func(t *testing.T) {
			for _, n := range []int{short, workflow.MaxNodes} {
				var drafts []workflow.NodeDraft
				var rows []workflow.EdgeDraft
				for i := range n {
					source := c.then
					if i == 0 {
						source = c.first
					} else {
						rows = append(rows, edge(fmt.Sprint("t", i-1), fmt.Sprint("t", i)))
					}
					config, err := json.Marshal(map[string]string{"transformType": "expression", "expression": source})
					if err != nil {
						t.Fatal(err)
					}
					drafts = append(drafts, step(fmt.Sprint("t", i), "transform", string(config)))
				}
				checkWithin(t, drafts, rows, int64(n)*perNode)
			}
		})
	}
}

// TestManyEdgesToANodeTakeLittleMemory merges what is large, as often as there may be edges.
func TestManyEdgesToANodeTakeLittleMemory(t *testing.T) {
	const between = 300
	config, err := json.Marshal(map[string]string{"transformType": "expression", "expression": shapes(7, 99)})
	if err != nil {
		t.Fatal(err)
	}
	drafts := nodes(step("first", "transform", string(config)), step("last", "transform", `{"transformType": "expression", "expression": "input.m1"}`))
	var rows []workflow.EdgeDraft
	for i := range between {
		id := fmt.Sprint("w", i)
		drafts = append(drafts, step(id, "condition", `{"condition": "payload.a"}`))
		rows = append(rows, edge("first", id), on(id, "true", "last"), on(id, "false", "last"))
	}
	checkWithin(t, drafts, rows, 200<<20)
}

// checkWithin checks a graph, which must find nothing against it that does not compile, and
// compares what that allocated with a bound.
func checkWithin(t *testing.T, drafts []workflow.NodeDraft, rows []workflow.EdgeDraft, most int64) {
	t.Helper()
	g := graph(t, drafts, rows)
	env := workflow.Environment{Registry: node.RegistryFor(owner, tenant.English, nil, nil), Expressions: expression.Checker{}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	found := workflow.Check(g, env)
	runtime.ReadMemStats(&after)
	for _, f := range found.Details {
		if f.Code == workflow.BadExpression || f.Code == workflow.UnknownNodeType {
			t.Fatal(f)
		}
	}
	if used := int64(after.TotalAlloc - before.TotalAlloc); used > most {
		t.Fatalf("a check of %d nodes allocated %d bytes, more than %d", len(drafts), used, most)
	}
	for _, f := range append(found.Details, found.Warnings...) {
		if len(f.Message) > 10_000 {
			t.Fatalf("a message of %d bytes: %.300s", len(f.Message), f.Message)
		}
	}
}
