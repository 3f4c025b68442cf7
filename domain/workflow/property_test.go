package workflow_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/workflow"
)

// soundNode is a node of any type whose configuration has nothing wrong with it
// and whose branches may end.
func soundNode(t *rapid.T, id string) workflow.NodeDraft {
	configs := map[string]string{
		"input":       `{"inputType": "number"}`,
		"wait":        `{"delayMs": 5}`,
		"condition":   `{"condition": "input.x > 1", "trueBranch": "", "falseBranch": null}`,
		"switch":      `{"expression": "payload.x", "cases": [{"value": 1, "nodeId": ""}, {"value": "1", "nodeId": null}], "defaultNode": ""}`,
		"transform":   `{"transformType": "map", "source": "payload.list", "expression": "item * 2"}`,
		"httpRequest": `{"url": "https://x.test/{{ input.id }}"}`,
		"person":      `{}`,
		"forEach":     `{"items": "payload.list", "concurrency": "", "onItemError": "continue"}`,
	}
	kind := rapid.SampledFrom([]string{"input", "wait", "condition", "switch", "transform", "httpRequest", "person", "forEach"}).Draw(t, "kind")
	return step(id, kind, configs[kind])
}

func soundKey(t *rapid.T, kind string) string {
	keys := map[string][]string{
		"input":       {"value"},
		"condition":   {"true", "false"},
		"switch":      {"case-0", "case-1", "default"},
		"httpRequest": {"status", "headers", "body"},
		"person":      {"name", "address"},
		"forEach":     {"count", "results", "failed"},
	}
	return rapid.SampledFrom(append(keys[kind], "", "onSuccess", "onError")).Draw(t, "key")
}

func TestASoundGraphHasNoFindings(t *testing.T) {
	env := environment(t)
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 30).Draw(t, "size")
		var n []workflow.NodeDraft
		var e []workflow.EdgeDraft
		for i := range size {
			n = append(n, soundNode(t, fmt.Sprint("n", i)))
		}
		if rapid.Bool().Draw(t, "starts at a trigger node") {
			n[0] = step("n0", "trigger_webhook", "{}")
		}
		putIntoBodies(t, n)
		seen := map[string]bool{}
		for target := 1; target < size; target++ {
			var before []int
			for i := range target {
				if n[i].Parent == n[target].Parent {
					before = append(before, i)
				}
			}
			for range rapid.IntRange(min(1, len(before)), 3*min(1, len(before))).Draw(t, "edges") {
				source := rapid.SampledFrom(before).Draw(t, "source")
				one := when(on(string(n[source].ID), soundKey(t, n[source].Type), string(n[target].ID)), "")
				if identity := fmt.Sprint(source, target, *one.SourceOutputKey); !seen[identity] {
					seen[identity] = true
					e = append(e, one)
				}
			}
		}
		order := rapid.Permutation(n).Draw(t, "order") // what a client writes first does not matter
		g, err := newGraph(order, e, counted())
		if err != nil {
			t.Fatal(err)
		}
		if found := workflow.Check(g, env).Details; len(found) > 0 {
			t.Fatalf("found %v", found)
		}
	})
}

// putIntoBodies gives each node that runs others some of those behind it, and makes another one of
// it where there is none.
func putIntoBodies(t *rapid.T, n []workflow.NodeDraft) {
	depth := make([]int, len(n))
	filled := make([]bool, len(n))
	for i := 1; i < len(n); i++ {
		if parent := rapid.IntRange(0, i-1).Draw(t, "parent"); n[parent].Type == "forEach" && depth[parent] < workflow.MaxNesting {
			n[i].Parent, depth[i], filled[parent] = n[parent].ID, depth[parent]+1, true
		}
	}
	for i := range n {
		if n[i].Type == "forEach" && !filled[i] {
			body := n[i].Parent
			n[i] = step(string(n[i].ID), "wait", `{"delayMs": 5}`)
			n[i].Parent = body
		}
	}
}

func TestAGraphIsRefusedForCyclesExactlyWhenItHasOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(2, 12).Draw(t, "size")
		n, _ := chainOf(size)
		leads := make([][]bool, size) // leads[a][b]: by one edge or several
		for i := range leads {
			leads[i] = make([]bool, size)
		}
		var e []workflow.EdgeDraft
		for range rapid.IntRange(0, 20).Draw(t, "edges") {
			a, b := rapid.IntRange(0, size-1).Draw(t, "a"), rapid.IntRange(0, size-1).Draw(t, "b")
			if a != b && !leads[a][b] {
				leads[a][b] = true
				e = append(e, edge(string(n[a].ID), string(n[b].ID)))
			}
		}
		for via := range size { // Warshall's closure
			for a := range size {
				for b := range size {
					leads[a][b] = leads[a][b] || leads[a][via] && leads[via][b]
				}
			}
		}
		groups := map[string]bool{} // nodes that lead back to themselves, by whom they share that with
		for a := range size {
			if leads[a][a] {
				key := ""
				for b := range size {
					if leads[a][b] && leads[b][a] {
						key += fmt.Sprint(" ", b)
					}
				}
				groups[key] = true
			}
		}
		g, err := newGraph(n, e, counted())
		if len(groups) > 0 {
			var violations []domain.Violation
			var failure *domain.Error
			if errors.As(err, &failure) {
				violations = failure.Violations
			}
			if len(violations) != len(groups) || slices.ContainsFunc(violations, func(v domain.Violation) bool { return v.Code != workflow.Cycle }) {
				t.Fatalf("%d groups of nodes lead to one another, and the error is %v", len(groups), err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		order := g.TopologicalOrder()
		if len(order) != size {
			t.Fatalf("%d of %d nodes are in order", len(order), size)
		}
		for _, one := range e {
			if slices.Index(order, one.SourceNodeID) >= slices.Index(order, one.TargetNodeID) {
				t.Fatalf("%s comes after %s in %v", one.SourceNodeID, one.TargetNodeID, order)
			}
		}
	})
}

// anyGraph is a graph as a store might hold it, with anything wrong in it.
func anyGraph(t *rapid.T) workflow.Graph {
	ids := rapid.SampledFrom([]workflow.NodeID{"a", "b", "c", "d", "", "é"})
	kinds := rapid.SampledFrom([]string{
		"input", "wait", "condition", "switch", "transform", "httpRequest", "person", "charge", "trigger_webhook", "trigger_schedule", "waitForEvent", "forEach", "", "x",
	})
	documents := rapid.SampledFrom([]string{
		"", "{}", "[", "null", `{"a": 1}`, `{"amount": {"type": "string"}}`, `{"x": {"type": "object", "properties": {"y": {}}}}`,
		`{"condition": 5, "trueBranch": "b", "falseBranch": 1}`, `{"expression": "input", "cases": [1, null, {"value": 1}, {"value": 1}, {"nodeId": "c"}]}`,
		`{"cases": {}, "defaultNode": "z"}`, `{"url": "{{ input }} {{", "body": [null, {"a": "{{}}"}], "method": 1}`, `{"_triggerId": "t1"}`, `{"_triggerId": 5}`,
		`{"expression": ")", "mapping": {"a": [")", {}]}, "source": ""}`, `{"delayMs": 1e999}`, `{"items": "input.x"}`,
	})
	document := rapid.Map(documents, domain.RestoreDocument)
	keys := rapid.SampledFrom([]*string{nil, pointer(""), pointer("true"), pointer("case-0"), pointer("onError"), pointer("amount"), pointer("name"), pointer("x")})
	var n []workflow.Node
	for range rapid.IntRange(0, 6).Draw(t, "nodes") {
		n = append(n, workflow.Node{
			ID: ids.Draw(t, "id"), Parent: rapid.SampledFrom([]workflow.NodeID{"", "", "a", "b", "c", "z"}).Draw(t, "parent"), Type: kinds.Draw(t, "kind"), Version: rapid.SampledFrom([]string{"1.0.0", "1.1.0", "1", ""}).Draw(t, "version"),
			Config: document.Draw(t, "config"), InputSchema: document.Draw(t, "input"), OutputSchema: document.Draw(t, "output"),
		})
	}
	var e []workflow.Edge
	for i := range rapid.IntRange(0, 10).Draw(t, "edges") {
		e = append(e, workflow.Edge{
			ID: workflow.EdgeID(fmt.Sprint("edge_", i)), SourceNodeID: ids.Draw(t, "source"), TargetNodeID: ids.Draw(t, "target"),
			Condition: keys.Draw(t, "condition"), SourceOutputKey: keys.Draw(t, "output key"), TargetInputKey: keys.Draw(t, "input key"),
		})
	}
	return workflow.RestoreGraph(n, e)
}

func TestCheckOfAnyGraph(t *testing.T) {
	env := environment(t, workflow.AttachedTrigger{ID: "t1", Name: "", Type: "webhook"}, workflow.AttachedTrigger{ID: "t2", Name: "", Type: "schedule"})
	rapid.Check(t, func(t *rapid.T) {
		g := anyGraph(t)
		found := workflow.Check(g, env).Details
		if diff := cmp.Diff(found, workflow.Check(g, env).Details); diff != "" {
			t.Fatalf("the same graph has other findings the second time: %s", diff)
		}
		fields := map[string]bool{}
		for _, f := range found {
			if f.Field == "" || f.Code == "" || f.Message == "" || fields[f.Field] {
				t.Fatalf("a finding without a place, a code or a message, or about a place a second time: %+v", f)
			}
			fields[f.Field] = true
		}
	})
}

func FuzzCheckDocuments(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"condition": "input.x > 1", "trueBranch": "b"}`, `{"cases": [{"value": 1}, {"value": 1e400}], "expression": "x"}`,
		`{"url": "{{ a }}{{"}`, `{"mapping": {"a": ["b"]}}`, `{"a": {"type": "array", "items": {"type": "enum", "enum": [1]}}}`, `[`, `null`, `{"_triggerId": ""}`,
	} {
		f.Add("condition", seed, seed)
		f.Add("switch", seed, "{}")
		f.Add("transform", seed, "{}")
		f.Add("httpRequest", seed, seed)
		f.Add("trigger_webhook", seed, seed)
	}
	env := environment(f)
	f.Fuzz(func(t *testing.T, kind, config, schema string) {
		n := workflow.Node{ID: "a", Type: kind, Version: "1.0.0", Config: domain.RestoreDocument(config), InputSchema: domain.RestoreDocument(schema), OutputSchema: domain.RestoreDocument(schema)}
		b := n
		b.ID = "b"
		g := workflow.RestoreGraph([]workflow.Node{n, b}, []workflow.Edge{{ID: "edge_1", SourceNodeID: "a", TargetNodeID: "b", Condition: &config}})
		for _, finding := range workflow.Check(g, env).Details {
			if finding.Field == "" || finding.Message == "" {
				t.Errorf("a finding without a place or a message: %+v", finding)
			}
		}
	})
}
