package workflow_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
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

func TestTriggersThatTheSameFiresAreWarnedOf(t *testing.T) {
	env := environment(t,
		workflow.AttachedTrigger{ID: "trg_1", Type: "webhook", FiredBy: `the event "paid"`},
		workflow.AttachedTrigger{ID: "trg_2", Type: "webhook"},
		workflow.AttachedTrigger{ID: "trg_3", Type: "webhook"},
		workflow.AttachedTrigger{ID: "trg_4", Type: "webhook", FiredBy: `the event "paid"`},
		workflow.AttachedTrigger{ID: "trg_5", Type: "webhook", FiredBy: `the event "lost"`},
		workflow.AttachedTrigger{ID: "trg_6", Type: "webhook", FiredBy: `the event "paid"`},
	)
	warnings := findings(
		want("triggers.trg_4", "", workflow.AlikeTriggers, `is fired by the event "paid", and so is "trg_1": each of them starts a run`),
		want("triggers.trg_6", "", workflow.AlikeTriggers, `is fired by the event "paid", and so is "trg_1": each of them starts a run`),
	)
	got := workflow.Check(graph(t, sound().Nodes, sound().Edges), env)
	if diff := cmp.Diff(workflow.Report{Warnings: warnings}, got); diff != "" {
		t.Error(diff)
	}
	ver := version(t, sound())
	if warned, err := ver.Publish(env, noon); err != nil || cmp.Diff(warnings, warned) != "" {
		t.Errorf("publishing warns of %v, %v", warned, err)
	}
	if warned, err := ver.Publish(env, noon); err != nil || cmp.Diff(warnings, warned) != "" {
		t.Errorf("publishing it again warns of %v, %v", warned, err)
	}
	_, err := version(t, workflow.VersionDraft{}).Publish(env, noon)
	var refused *domain.Error
	if !errors.As(err, &refused) || len(refused.Violations) != 1 || len(refused.Warnings) != 2 || refused.Warnings[0] != warnings[0].Violation() {
		t.Errorf("a refusal warns of %+v", refused)
	}
}
