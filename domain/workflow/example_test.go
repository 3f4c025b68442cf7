package workflow_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
)

// A version is saved as a draft with whatever is missing; publishing it reports
// everything that is.
func ExampleVersion_Publish() {
	now := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	owner := tenant.ID("tenant_01h2xcejqtf2nbrexx3vqjhp41")
	wf, err := workflow.New("wf_01h2xcejqtf2nbrexx3vqjhp41", owner, "", workflow.Draft{Name: "Orders"}, now)
	if err != nil {
		fmt.Println(err)
		return
	}
	draft := workflow.VersionDraft{
		Nodes: []workflow.NodeDraft{
			{ID: "ask", Type: "input", Version: "1.0.0", Config: domain.RestoreDocument(`{"prompt": "How many?"}`)},
			{ID: "big", Type: "condition", Version: "1.0.0", Config: domain.RestoreDocument(`{"condition": "input.value >"}`)},
		},
		Edges: []workflow.EdgeDraft{{SourceNodeID: "ask", TargetNodeID: "big"}},
	}
	newEdgeID := func() workflow.EdgeID { return "edge_01h2xcejqtf2nbrexx3vqjhp41" }
	ver, err := workflow.NewVersion("wfv_01h2xcejqtf2nbrexx3vqjhp41", wf, 1, draft, newEdgeID, now)
	if err != nil {
		fmt.Println(err)
		return
	}
	env := workflow.Environment{
		Registry:    node.RegistryFor(owner, tenant.English, nil, nil),
		Expressions: goExpressions{}, // stands for an adapter of the expression language
	}
	_, err = ver.Publish(env, now)
	var failure *domain.Error
	if errors.As(err, &failure) {
		for _, v := range failure.Violations {
			fmt.Println(v.Field, v.Code)
		}
	}
	fmt.Println(ver.Status())
	// Output:
	// nodes[1].config.condition bad_expression
	// draft
}

// A cycle is refused when a version is made, with the nodes that it goes through.
func ExampleNewVersion() {
	wf := workflow.Restore(workflow.State{ID: "wf_01h2xcejqtf2nbrexx3vqjhp41"})
	_, err := workflow.NewVersion("wfv_01h2xcejqtf2nbrexx3vqjhp41", wf, 1, workflow.VersionDraft{
		Nodes: []workflow.NodeDraft{{ID: "a"}, {ID: "b"}},
		Edges: []workflow.EdgeDraft{{SourceNodeID: "a", TargetNodeID: "b"}, {SourceNodeID: "b", TargetNodeID: "a"}},
	}, func() workflow.EdgeID { return "edge_01h2xcejqtf2nbrexx3vqjhp41" }, time.Time{})
	fmt.Println(err)
	// Output: version_invalid: The workflow version is not valid.; edges[1] closes a cycle: a → b → a; a workflow only runs forward, so one of these edges has to go
}
