package workflow_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
)

func TestTheNameOfAnEventIsNoTemplate(t *testing.T) {
	env := environment(t)
	env.Registry = node.RegistryFor(owner, tenant.English, nil, nil)
	g := graph(t, nodes(step("a", "waitForEvent", `{"event": "paid-{{ input.id }}"}`), step("b", "waitForEvent", `{"event": "paid }} {x}"}`)), nil)
	expected := findings(want("nodes[0].config.event", "a", domain.NotAllowed, "must be the name of an event itself: {{ expressions }} are not resolved here"))
	if diff := cmp.Diff(expected, workflow.Check(g, env).Details); diff != "" {
		t.Error(diff)
	}
}

func TestTheURLOfARequestIsCheckedAsAURL(t *testing.T) {
	const text = `https://api.example.com{{ input.path }}`
	g := graph(t, nodes(step("a", "httpRequest", `{"url": "`+text+`", "headers": {"X-Referer": "`+text+`"}}`)), nil)
	expected := findings(want("nodes[0].config.url", "a", workflow.BadExpression, "must be a template that compiles: the host is written out"))
	if diff := cmp.Diff(expected, workflow.Check(g, environment(t)).Details); diff != "" {
		t.Error(diff)
	}
}

func TestCodeThatDoesNotCompileSaysWhere(t *testing.T) {
	env := environment(t)
	env.CompileCode = func(source string) (problem string, at workflow.Place) {
		return "line 2, column 1: no " + source, workflow.Place{Line: 2, Column: 1}
	}
	got := workflow.Check(graph(t, nodes(step("a", "code", `{"source": "code"}`)), nil), env)
	want := []workflow.Finding{{
		Field: "nodes[0].config.source", NodeID: "a", Code: workflow.BadCode, At: workflow.Place{Line: 2, Column: 1},
		Message: "must be the body of a function that compiles: line 2, column 1: no code",
	}}
	if diff := cmp.Diff(want, got.Details); diff != "" {
		t.Error(diff)
	}
}
