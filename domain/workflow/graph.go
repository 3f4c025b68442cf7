package workflow

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sluicehq/sluice/domain"
)

// Bounds of a graph and of the texts in it; lengths in characters.
const (
	MaxNodes      = 500
	MaxEdges      = 2000
	MaxNesting    = 3 // bodies around a node
	MaxNodeID     = 255
	MaxNodeType   = 255
	MaxKey        = 255       // sourceOutputKey, targetInputKey
	MaxLabel      = 255       // of an edge
	MaxExpression = 64 * 1024 // condition of an edge
)

// Position is where an editor draws a node, in units of its own; both are finite.
type Position struct{ X, Y float64 }

// Node is one step. Everything in it comes back as the client sent it.
type Node struct {
	ID           NodeID
	Parent       NodeID // the node in whose body it is; empty for none
	Type         string // names an entry of the node registry
	Version      string // of that entry
	Name         string // for people
	Description  *string
	Config       domain.Document
	InputSchema  domain.Document // narrows what the type takes; empty adds nothing
	OutputSchema domain.Document // narrows what the type gives; empty adds nothing
	Retry        *RetryPolicy    // nil where the run's holds
	Timeout      *time.Duration  // of one attempt; nil where the configuration or the gateway says
	Position     Position
}

// Edge leads from a node to one that runs after it. An empty text means the same
// as an absent one.
type Edge struct {
	ID              EdgeID
	SourceNodeID    NodeID
	TargetNodeID    NodeID
	Condition       *string // an expression; the edge is taken only when it is true
	Label           *string // for people
	SourceOutputKey *string // a branch, an outcome or a member of the source's output
	TargetInputKey  *string // the member of the target's input that receives the value
}

// The outcomes of a node that an edge may have as its sourceOutputKey, whatever the
// node's type.
const (
	OnSuccess = "onSuccess"
	OnError   = "onError"
)

// Guard is the expression that decides whether the edge is taken, empty for none.
func (e Edge) Guard() string { return strings.TrimSpace(orEmpty(e.Condition)) }

// OutputKey is the branch, outcome or member of the source's output that the edge
// takes, empty for the whole output.
func (e Edge) OutputKey() string { return orEmpty(e.SourceOutputKey) }

// InputKey is the member of the target's input that receives the value, empty for
// the whole input.
func (e Edge) InputKey() string { return orEmpty(e.TargetInputKey) }

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Graph is what a version does: nodes and the edges between them, without cycles.
// It never changes. The zero value has no nodes. [NewVersion] makes one, and
// [RestoreGraph] rebuilds it.
type Graph struct {
	nodes    []Node
	edges    []Edge
	index    map[NodeID]int // the place of each node; of the first when an id repeats
	incoming [][]int        // for each node the places of the edges that lead to it, ascending
	outgoing [][]int
	bodies   map[int][]int // for each node that is the parent of others their places, ascending
	whole    *Graph        // what this is a body of; nil for none
}

// NodeDraft is a node as a client sends it. It may be incomplete: a type that the
// registry does not have and configuration that is missing are found when the
// version is published.
type NodeDraft struct {
	ID           NodeID // 1 to [MaxNodeID] characters, unique in the graph
	Parent       NodeID // a node that runs others; empty for none
	Type         string // at most [MaxNodeType] characters
	Version      string // at most [MaxNodeType] characters
	Name         string // at most [MaxName] characters
	Description  *string
	Config       domain.Document
	InputSchema  domain.Document
	OutputSchema domain.Document
	Retry        *RetryPolicy
	Timeout      *time.Duration // from [MinAttemptTimeout] to [MaxAttemptTimeout]
	Position     Position
}

// EdgeDraft is an edge as a client sends it; the server gives it its id.
type EdgeDraft struct {
	SourceNodeID    NodeID
	TargetNodeID    NodeID
	Condition       *string // at most [MaxExpression] characters
	Label           *string // at most [MaxLabel] characters
	SourceOutputKey *string // at most [MaxKey] characters
	TargetInputKey  *string // at most [MaxKey] characters
}

// RestoreGraph rebuilds a graph from what a store kept, without applying any rule.
func RestoreGraph(nodes []Node, edges []Edge) Graph {
	return indexed(cloneNodes(nodes), cloneEdges(edges))
}

const versionInvalid, versionInvalidMessage = "version_invalid", "The workflow version is not valid."

// buildGraph checks and indexes nodes and edges and calls newEdgeID for each edge that has
// no id. Every violation is reported at once, malformed first, with the code version_invalid:
// ids that are missing or repeat, edges that dangle, repeat another or lead back to where
// they start, cycles, parents that are not there or lie within themselves, bodies that nest
// deeper than [MaxNesting], edges that cross the border of one, more than [MaxNodes] nodes or
// [MaxEdges] edges (the elements of a list that is too long are not looked at), and texts that
// are too long.
func buildGraph(malformed []domain.Violation, nodes []Node, edges []Edge, newEdgeID func() EdgeID) (Graph, error) {
	g := indexed(nodes, edges)
	found := g.defects(idsRead(malformed))
	if err := invalid(versionInvalid, versionInvalidMessage, malformed, found); err != nil {
		return Graph{}, err
	}
	for i := range g.edges {
		if g.edges[i].ID == "" {
			g.edges[i].ID = newEdgeID()
		}
	}
	return g, nil
}

// idsRead says whether every node's id could be read. Where one could not, an edge
// to a node that is not there may well be right.
func idsRead(malformed []domain.Violation) bool {
	return !slices.ContainsFunc(malformed, func(v domain.Violation) bool {
		element, isNode := strings.CutPrefix(v.Field, "nodes")
		return isNode && (element == "" || strings.HasSuffix(element, "]") && strings.Count(element, "[") == 1 ||
			strings.HasSuffix(element, "].id") && strings.Count(element, ".") == 1)
	})
}

// indexed takes ownership of the slices.
func indexed(nodes []Node, edges []Edge) Graph {
	g := Graph{
		nodes: nodes, edges: edges, index: make(map[NodeID]int, len(nodes)),
		incoming: make([][]int, len(nodes)), outgoing: make([][]int, len(nodes)),
	}
	for i, n := range nodes {
		if _, repeats := g.index[n.ID]; !repeats {
			g.index[n.ID] = i
		}
	}
	for i := range nodes {
		if parent, nested := g.parent(i); nested {
			if g.bodies == nil {
				g.bodies = map[int][]int{}
			}
			g.bodies[parent] = append(g.bodies[parent], i)
		}
	}
	for i := range edges {
		if source, target, ok := g.ends(i); ok {
			g.outgoing[source] = append(g.outgoing[source], i)
			g.incoming[target] = append(g.incoming[target], i)
		}
	}
	return g
}

// ends returns the places of the nodes that edge i joins; ok is false when one of
// them does not exist.
func (g Graph) ends(i int) (source, target int, ok bool) {
	source, hasSource := g.index[g.edges[i].SourceNodeID]
	target, hasTarget := g.index[g.edges[i].TargetNodeID]
	return source, target, hasSource && hasTarget
}

func nodesOf(drafts []NodeDraft) []Node {
	nodes := make([]Node, len(drafts))
	for i, d := range drafts {
		nodes[i] = Node(d).clone()
	}
	return nodes
}

func edgesOf(drafts []EdgeDraft) []Edge {
	edges := make([]Edge, len(drafts))
	for i, d := range drafts {
		edges[i] = Edge{
			SourceNodeID: d.SourceNodeID, TargetNodeID: d.TargetNodeID,
			Condition: domain.CopyOf(d.Condition), Label: domain.CopyOf(d.Label),
			SourceOutputKey: domain.CopyOf(d.SourceOutputKey), TargetInputKey: domain.CopyOf(d.TargetInputKey),
		}
	}
	return edges
}

func cloneNodes(nodes []Node) []Node {
	nodes = slices.Clone(nodes)
	for i := range nodes {
		nodes[i] = nodes[i].clone()
	}
	return nodes
}

func (n Node) clone() Node {
	n.Description, n.Retry, n.Timeout = domain.CopyOf(n.Description), domain.CopyOf(n.Retry), domain.CopyOf(n.Timeout)
	return n
}

func cloneEdges(edges []Edge) []Edge {
	edges = slices.Clone(edges)
	for i := range edges {
		edges[i] = edges[i].clone()
	}
	return edges
}

func (e Edge) clone() Edge {
	e.Condition, e.Label = domain.CopyOf(e.Condition), domain.CopyOf(e.Label)
	e.SourceOutputKey, e.TargetInputKey = domain.CopyOf(e.SourceOutputKey), domain.CopyOf(e.TargetInputKey)
	return e
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// facts is a text that differs where graphs do.
func (g Graph) facts() string {
	text, _ := json.Marshal(domain.FactTree(struct { // it has no cycles and no numbers that JSON does not know
		Nodes []Node
		Edges []Edge
	}{g.nodes, g.edges}))
	return string(text)
}
