package workflow_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/workflow"
)

func TestStarts(t *testing.T) {
	named := func(d workflow.NodeDraft, name string) workflow.NodeDraft {
		d.Name = name
		return d
	}
	root := step("root", "transform", passing)
	hook := workflow.AttachedTrigger{ID: "trg_hook", Name: "Hook", Type: "webhook"}
	tests := map[string]struct {
		nodes []workflow.NodeDraft
		trg   workflow.AttachedTrigger
		want  []workflow.NodeID
	}{
		"the node that names the trigger, whatever others are called": {
			nodes: nodes(named(step("a", "trigger_webhook", "{}"), "Hook"), step("b", "trigger_webhook", `{"_triggerId": "trg_hook"}`)),
			trg:   hook, want: []workflow.NodeID{"b"},
		},
		"else the only trigger node of its name and type": {
			nodes: nodes(root, named(step("a", "trigger_schedule", "{}"), "Hook"), step("b", "trigger_webhook", "{}"),
				named(step("c", "trigger_webhook", `{"_triggerId": "trg_old"}`), "Hook"), named(root, "Hook")),
			trg: hook, want: []workflow.NodeID{"c"},
		},
		"else, where two bear its name, every node without an incoming edge": {
			nodes: nodes(root, named(step("a", "trigger_webhook", "{}"), "Hook"), named(step("b", "trigger_webhook", "{}"), "Hook")),
			trg:   hook, want: []workflow.NodeID{"root", "a", "b"},
		},
		"else, where none bears its name, every node without an incoming edge": {
			nodes: nodes(root, step("a", "trigger_webhook", "{}")),
			trg:   hook, want: []workflow.NodeID{"root", "a"},
		},
		"without a trigger every node without an incoming edge": {
			nodes: nodes(root, step("", "trigger_webhook", "{}")), want: []workflow.NodeID{"root", ""},
		},
	}
	for claim, tt := range tests {
		t.Run(claim, func(t *testing.T) {
			nodesOf := make([]workflow.Node, len(tt.nodes))
			for i, n := range tt.nodes {
				nodesOf[i] = workflow.Node(n)
			}
			got := workflow.RestoreGraph(nodesOf, nil).Starts(tt.trg)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
