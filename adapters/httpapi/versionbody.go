package httpapi

import (
	"encoding/json"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/adapters/httpapi/stream"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
)

// versionBody is a version of a workflow as clients see it.
type versionBody struct {
	versionHead
	Nodes []nodeBody      `json:"nodes"`
	Edges []edgeBody      `json:"edges"`
	Pins  json.RawMessage `json:"pins,omitempty"`
	versionTail
}

// versionHead and versionTail are what stands before and behind its graph.
type versionHead struct {
	ID          string `json:"id"`
	WorkflowID  string `json:"workflowId"`
	TenantID    string `json:"tenantId"`
	SubTenantID string `json:"subTenantId,omitempty"`
	Version     int    `json:"version"`
}

type versionTail struct {
	Metadata    json.RawMessage `json:"metadata"`
	IsActive    bool            `json:"isActive"`
	PublishedAt string          `json:"publishedAt,omitempty"`
	CreatedAt   string          `json:"createdAt"`
}

type nodeBody struct {
	nodeHead
	Config       json.RawMessage `json:"config"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	nodeTail
}

// nodeHead and nodeTail are what stands before and behind its documents.
type nodeHead struct {
	ID          string  `json:"id"`
	ParentID    string  `json:"parentId,omitempty"`
	Type        string  `json:"type"`
	Version     string  `json:"version"`
	Name        string  `json:"name"`
	Description *string `json:"description,omitempty"`
}

type nodeTail struct {
	Position positionBody `json:"position"`
	CanPause bool         `json:"canPause"`
	Retry    *retryBody   `json:"retryPolicy,omitempty"`
	Timeout  int64        `json:"timeoutMs,omitempty"`
}

type retryBody struct {
	MaxRetries int   `json:"maxRetries"`
	Backoff    int64 `json:"backoffMs"`
	MaxBackoff int64 `json:"maxBackoffMs"`
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

func headOfVersion(ver inbound.CheckedVersion) versionHead {
	return versionHead{
		ID: string(ver.ID()), WorkflowID: string(ver.Workflow()), TenantID: string(ver.Tenant()), SubTenantID: string(ver.SubTenant()),
		Version: ver.Number(),
	}
}

func tailOfVersion(ver inbound.CheckedVersion) versionTail {
	return versionTail{Metadata: exchange.RenderMetadata(ver.Metadata()), IsActive: ver.Active(), PublishedAt: exchange.OptionalTimestamp(ver.PublishedAt()), CreatedAt: exchange.Timestamp(ver.CreatedAt())}
}

func headOfNode(n workflow.Node) nodeHead {
	return nodeHead{ID: string(n.ID), ParentID: string(n.Parent), Type: n.Type, Version: n.Version, Name: n.Name, Description: n.Description}
}

func tailOfNode(n workflow.Node, canPause bool) nodeTail {
	tail := nodeTail{Position: positionBody(n.Position), CanPause: canPause}
	if p := n.Retry; p != nil {
		tail.Retry = &retryBody{MaxRetries: p.MaxRetries, Backoff: p.Backoff.Milliseconds(), MaxBackoff: p.MaxBackoff.Milliseconds()}
	}
	if n.Timeout != nil {
		tail.Timeout = n.Timeout.Milliseconds()
	}
	return tail
}

func renderVersion(ver inbound.CheckedVersion) any {
	body := versionBody{versionHead: headOfVersion(ver), Nodes: []nodeBody{}, Edges: []edgeBody{}, versionTail: tailOfVersion(ver)}
	for _, n := range ver.Graph().Nodes() {
		body.Nodes = append(body.Nodes, nodeBody{
			nodeHead: headOfNode(n), Config: json.RawMessage(n.Config.String()), InputSchema: json.RawMessage(n.InputSchema.String()),
			OutputSchema: json.RawMessage(n.OutputSchema.String()), nodeTail: tailOfNode(n, ver.CanPause[n.ID]),
		})
	}
	for _, e := range ver.Graph().Edges() {
		body.Edges = append(body.Edges, renderEdge(e))
	}
	if pins := ver.ShownPins; !pins.Empty() {
		body.Pins = json.RawMessage(pins.String())
	}
	return body
}

func renderEdge(e workflow.Edge) edgeBody {
	return edgeBody{
		ID: string(e.ID), SourceNodeID: string(e.SourceNodeID), TargetNodeID: string(e.TargetNodeID), Condition: e.Condition,
		Label: e.Label, SourceOutputKey: e.SourceOutputKey, TargetInputKey: e.TargetInputKey,
	}
}

// writeVersion writes what renderVersion makes of a version.
func writeVersion(e *stream.Encoder, ver inbound.CheckedVersion) {
	head, tail := headOfVersion(ver), tailOfVersion(ver)
	nodes, edges := ver.Graph().Nodes(), ver.Graph().Edges()
	e.Open(&head)
	e.List("nodes", len(nodes), func(i int) { writeNode(e, nodes[i], ver.CanPause[nodes[i].ID]) })
	e.List("edges", len(edges), func(i int) { e.Value(renderEdge(edges[i])) })
	if pins := ver.ShownPins; !pins.Empty() {
		e.Compact("pins", pins.String())
	}
	e.Members(&tail)
	e.Close()
}

func writeNode(e *stream.Encoder, n workflow.Node, canPause bool) {
	head, tail := headOfNode(n), tailOfNode(n, canPause)
	e.Open(&head)
	e.Compact("config", n.Config.String())
	e.Compact("inputSchema", n.InputSchema.String())
	e.Compact("outputSchema", n.OutputSchema.String())
	e.Members(&tail)
	e.Close()
}
