package workflow_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/workflow"
)

func TestANodeCallsAWorkflowThatIsThere(t *testing.T) {
	env := environment(t)
	env.Called = map[workflow.ID]workflow.Callee{"wf_here": {}}
	for config, want := range map[string]string{
		`{"workflowId": "wf_here", "input": {"a": 1}}`: "",
		`{"workflowId": "wf_gone"}`:                    `nodes[0].config.workflowId unknown`,
		`{"workflowId": "{{ payload.id }}"}`:           `nodes[0].config.workflowId not_allowed`,
		`{}`:                                           `nodes[0].config.workflowId required`,
	} {
		g := workflow.RestoreGraph([]workflow.Node{workflow.Node(step("call", "callWorkflow", config))}, nil)
		got := ""
		for _, f := range workflow.Check(g, env).Details {
			got += f.Field + " " + string(f.Code)
		}
		if got != want {
			t.Errorf("%s: %q, not %q", config, got, want)
		}
	}
}

func TestAGraphListsTheWorkflowsThatItCallsOnce(t *testing.T) {
	g := workflow.RestoreGraph([]workflow.Node{
		workflow.Node(step("a", "callWorkflow", `{"workflowId": "wf_2"}`)), workflow.Node(step("b", "transform", `{"workflowId": "wf_3"}`)),
		workflow.Node(step("c", "callWorkflow", `{"workflowId": "wf_1"}`)), workflow.Node(step("d", "callWorkflow", `{"workflowId": "wf_2"}`)),
		workflow.Node(step("e", "callWorkflow", `{"workflowId": 7}`)),
	}, nil)
	if diff := cmp.Diff([]workflow.ID{"wf_2", "wf_1"}, g.Calls()); diff != "" {
		t.Error(diff)
	}
}
