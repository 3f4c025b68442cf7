package sqlstore

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/workflow"
)

// graphJSON is how a version's graph is kept.
type graphJSON struct {
	Nodes []nodeJSON `json:"nodes"`
	Edges []edgeJSON `json:"edges"`
}

type nodeJSON struct {
	ID          string          `json:"id"`
	Parent      string          `json:"parent,omitempty"`
	Type        string          `json:"type"`
	Version     string          `json:"version"`
	Name        string          `json:"name"`
	Description *string         `json:"description,omitempty"`
	Config      json.RawMessage `json:"config"`
	Input       json.RawMessage `json:"input"`
	Output      json.RawMessage `json:"output"`
	Retry       *retryJSON      `json:"retry,omitempty"`
	Timeout     int64           `json:"timeoutMs,omitempty"`
	X           float64         `json:"x"`
	Y           float64         `json:"y"`
}

type retryJSON struct {
	MaxRetries int   `json:"maxRetries"`
	Backoff    int64 `json:"backoffMs"`
	MaxBackoff int64 `json:"maxBackoffMs"`
}

type edgeJSON struct {
	ID        string  `json:"id"`
	Source    string  `json:"source"`
	Target    string  `json:"target"`
	Condition *string `json:"condition,omitempty"`
	Label     *string `json:"label,omitempty"`
	OutputKey *string `json:"outputKey,omitempty"`
	InputKey  *string `json:"inputKey,omitempty"`
}

func encodeGraph(g workflow.Graph) (string, error) {
	kept := graphJSON{Nodes: []nodeJSON{}, Edges: []edgeJSON{}}
	for _, n := range g.Nodes() {
		one := nodeJSON{
			ID: string(n.ID), Parent: string(n.Parent), Type: n.Type, Version: n.Version, Name: n.Name, Description: n.Description,
			Config: json.RawMessage(n.Config.String()), Input: json.RawMessage(n.InputSchema.String()),
			Output: json.RawMessage(n.OutputSchema.String()), X: n.Position.X, Y: n.Position.Y,
		}
		if p := n.Retry; p != nil {
			one.Retry = &retryJSON{MaxRetries: p.MaxRetries, Backoff: p.Backoff.Milliseconds(), MaxBackoff: p.MaxBackoff.Milliseconds()}
		}
		if n.Timeout != nil {
			one.Timeout = n.Timeout.Milliseconds()
		}
		kept.Nodes = append(kept.Nodes, one)
	}
	for _, e := range g.Edges() {
		kept.Edges = append(kept.Edges, edgeJSON{
			ID: string(e.ID), Source: string(e.SourceNodeID), Target: string(e.TargetNodeID), Condition: e.Condition,
			Label: e.Label, OutputKey: e.SourceOutputKey, InputKey: e.TargetInputKey,
		})
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // documents keep their spelling
	err := enc.Encode(kept)
	return b.String(), err
}

func decodeGraph(text string) (workflow.Graph, error) {
	var kept graphJSON
	if err := json.Unmarshal([]byte(text), &kept); err != nil {
		return workflow.Graph{}, err
	}
	nodes := make([]workflow.Node, len(kept.Nodes))
	for i, n := range kept.Nodes {
		nodes[i] = workflow.Node{
			ID: workflow.NodeID(n.ID), Parent: workflow.NodeID(n.Parent), Type: n.Type, Version: n.Version, Name: n.Name, Description: n.Description,
			Config: domain.RestoreDocument(string(n.Config)), InputSchema: domain.RestoreDocument(string(n.Input)),
			OutputSchema: domain.RestoreDocument(string(n.Output)), Position: workflow.Position{X: n.X, Y: n.Y},
		}
		if p := n.Retry; p != nil {
			nodes[i].Retry = &workflow.RetryPolicy{MaxRetries: p.MaxRetries, Backoff: fromMillis(p.Backoff), MaxBackoff: fromMillis(p.MaxBackoff)}
		}
		if n.Timeout > 0 {
			nodes[i].Timeout = new(fromMillis(n.Timeout))
		}
	}
	edges := make([]workflow.Edge, len(kept.Edges))
	for i, e := range kept.Edges {
		edges[i] = workflow.Edge{
			ID: workflow.EdgeID(e.ID), SourceNodeID: workflow.NodeID(e.Source), TargetNodeID: workflow.NodeID(e.Target),
			Condition: e.Condition, Label: e.Label, SourceOutputKey: e.OutputKey, TargetInputKey: e.InputKey,
		}
	}
	return workflow.RestoreGraph(nodes, edges), nil
}

func fromMillis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
