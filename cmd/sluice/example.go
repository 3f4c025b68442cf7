package main

import (
	"context"
	"fmt"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
)

// exampleIDs names what createExample made.
type exampleIDs struct {
	WorkflowID workflow.ID        `json:"workflowId"`
	VersionID  workflow.VersionID `json:"workflowVersionId"`
	TriggerID  trigger.ID         `json:"triggerId"`
}

// createExample gives a tenant a published workflow with a trigger to try things with:
// an order is looked at, and a large one is reported.
func (op operatorPorts) createExample(ctx context.Context, owner tenant.ID) (*exampleIDs, error) {
	who := tenant.Operator(owner)
	about := "Looks at each order and prepares a notice for the large ones."
	wf, err := op.Workflows.Create(ctx, who, domain.IdempotencyKey{}, inbound.WorkflowDraft{
		Draft: workflow.Draft{Name: "Example: notice large orders", Description: &about},
	})
	if err != nil {
		return nil, fmt.Errorf("create the example workflow: %w", err)
	}
	nodes := []workflow.NodeDraft{
		exampleNode("is-large", node.Condition, "Is the order large?", workflow.Position{Y: 80}, `{"condition":"input.amount >= 1000"}`),
		exampleNode("notice", node.Transform, "Write the notice", workflow.Position{X: 320},
			"{\"transformType\":\"expression\",\"expression\":\"{ text: `Order ${payload.id} is worth ${payload.amount}` }\"}"),
		exampleNode("ignore", node.Transform, "Nothing to do", workflow.Position{X: 320, Y: 160}, `{"transformType":"expression","expression":"{ ignored: true }"}`),
	}
	yes, no := node.BranchTrue, node.BranchFalse
	edges := []workflow.EdgeDraft{
		{SourceNodeID: "is-large", TargetNodeID: "notice", SourceOutputKey: &yes},
		{SourceNodeID: "is-large", TargetNodeID: "ignore", SourceOutputKey: &no},
	}
	ver, err := op.Versions.Create(ctx, who, domain.IdempotencyKey{}, inbound.VersionDraft{
		Workflow: wf.ID(), VersionDraft: workflow.VersionDraft{Nodes: nodes, Edges: edges},
	})
	if err != nil {
		return nil, fmt.Errorf("create a version of the example workflow: %w", err)
	}
	if _, err := op.Publishing.Publish(ctx, who, domain.IdempotencyKey{}, ver.ID(), trigger.PublishOptions{}); err != nil {
		return nil, fmt.Errorf("publish the example workflow: %w", err)
	}
	config := domain.RestoreDocument(`{"webhookConfig":{"event":"order.placed"}}`)
	trg, err := op.Triggers.Create(ctx, who, domain.IdempotencyKey{}, trigger.Draft{
		Version: ver.ID(), Name: "Order placed", Type: trigger.Webhook, Config: &config,
	})
	if err != nil {
		return nil, fmt.Errorf("create a trigger of the example workflow: %w", err)
	}
	return &exampleIDs{WorkflowID: wf.ID(), VersionID: ver.ID(), TriggerID: trg.ID()}, nil
}

func exampleNode(id workflow.NodeID, t node.Type, name string, at workflow.Position, config string) workflow.NodeDraft {
	return workflow.NodeDraft{
		ID: id, Type: string(t), Version: "1.0.0", Name: name, Config: domain.RestoreDocument(config), Position: at,
	}
}
