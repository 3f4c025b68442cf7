package httpapi

import (
	"encoding/json"

	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
)

// versionBody is a version of a workflow as clients see it.
type versionBody struct {
	ID          string     `json:"id"`
	WorkflowID  string     `json:"workflowId"`
	TenantID    string     `json:"tenantId"`
	SubTenantID string     `json:"subTenantId,omitempty"`
	Version     int        `json:"version"`
	Nodes       []nodeBody `json:"nodes"`
	Edges       []edgeBody `json:"edges"`
	IsActive    bool       `json:"isActive"`
	PublishedAt string     `json:"publishedAt,omitempty"`
	CreatedAt   string     `json:"createdAt"`
}

type nodeBody struct {
	ID           string          `json:"id"`
	Type         string          `json:"type"`
	Version      string          `json:"version"`
	Name         string          `json:"name"`
	Description  *string         `json:"description,omitempty"`
	Config       json.RawMessage `json:"config"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Position     positionBody    `json:"position"`
	CanPause     bool            `json:"canPause"`
}

type positionBody struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

type edgeBody struct {
	ID              string  `json:"id"`
	SourceNodeID    string  `json:"sourceNodeId"`
	TargetNodeID    string  `json:"targetNodeId"`
	Condition       *string `json:"condition,omitempty"`
	Label           *string `json:"label,omitempty"`
	SourceOutputKey *string `json:"sourceOutputKey,omitempty"`
	TargetInputKey  *string `json:"targetInputKey,omitempty"`
}

func renderVersion(ver inbound.CheckedVersion) any {
	body := versionBody{
		ID: string(ver.ID()), WorkflowID: string(ver.Workflow()), TenantID: string(ver.Tenant()), SubTenantID: string(ver.SubTenant()),
		Version: ver.Number(), Nodes: []nodeBody{}, Edges: []edgeBody{}, IsActive: ver.Active(), CreatedAt: timestamp(ver.CreatedAt()),
	}
	if at := ver.PublishedAt(); at != nil {
		body.PublishedAt = timestamp(*at)
	}
	for _, n := range ver.Graph().Nodes() {
		body.Nodes = append(body.Nodes, renderNode(n, ver.CanPause[n.ID]))
	}
	for _, e := range ver.Graph().Edges() {
		body.Edges = append(body.Edges, edgeBody{
			ID: string(e.ID), SourceNodeID: string(e.SourceNodeID), TargetNodeID: string(e.TargetNodeID), Condition: e.Condition,
			Label: e.Label, SourceOutputKey: e.SourceOutputKey, TargetInputKey: e.TargetInputKey,
		})
	}
	return body
}

func renderNode(n workflow.Node, canPause bool) nodeBody {
	return nodeBody{
		ID: string(n.ID), Type: n.Type, Version: n.Version, Name: n.Name, Description: n.Description,
		Config: json.RawMessage(n.Config.String()), InputSchema: json.RawMessage(n.InputSchema.String()),
		OutputSchema: json.RawMessage(n.OutputSchema.String()), Position: positionBody(n.Position), CanPause: canPause,
	}
}
