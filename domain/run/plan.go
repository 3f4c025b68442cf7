package run

import (
	"strconv"
	"sync"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/workflow"
)

// Plan is a version made ready to run: its configuration read, its expressions
// compiled, its edges looked up. It never changes and is used by any number of
// runs and goroutines at once. Build one with [NewPlan].
type Plan struct {
	version workflow.VersionID
	loop    workflow.NodeID // whose body it is of; empty for the nodes without a parent
	graph   workflow.Graph
	index   map[workflow.NodeID]int
	nodes   []plannedNode
	edges   []plannedEdge
	starts  sync.Map // workflow.AttachedTrigger to *beginning
	weight  int64
}

// plannedNode is a node that is ready to run.
type plannedNode struct {
	id     workflow.NodeID
	action action
	retry  *workflow.RetryPolicy // nil where the run's holds
	in     []int                 // edges that lead to it, in the client's order
	out    []int
	before nodeSet // the nodes that lead to it
}

// action is what a node does when a run comes to it.
type action interface {
	begin(m *machine, i int)
}

// Types finds node types. [node.Registry] is one.
type Types interface {
	Lookup(t node.Type, v node.SemVer) (node.NodeType, bool)
}

// NewPlan makes a version ready. It does not fail: a node that cannot run, because
// its type is gone or its configuration is not right, fails when a run comes to it.
// A built-in node that the tenant has disabled since still runs.
func NewPlan(id workflow.VersionID, g workflow.Graph, types Types, compiler Compiler) *Plan {
	return NewBodyPlan(id, g, "", types, compiler)
}

// NewBodyPlan is NewPlan for the runs of the items of a node; without one for those of the version.
func NewBodyPlan(id workflow.VersionID, g workflow.Graph, of workflow.NodeID, types Types, compiler Compiler) *Plan {
	whole := g.Whole()
	return newPlan(id, g.Body(of), of, compiler, func(counted *weighing, n workflow.Node) (action, map[string]any) {
		counted.weight += 2*int64(len(n.Config.String())) + weightOf([]byte(n.Config.String()))
		return planner{types: types, compiler: counted, graph: whole, scope: nodeScope(of)}.action(n)
	})
}

// newPlan makes a plan of nodes each of which read makes ready. It returns their configurations,
// too, where these say what branches there are.
func newPlan(id workflow.VersionID, g workflow.Graph, of workflow.NodeID, compiler Compiler, read func(*weighing, workflow.Node) (action, map[string]any)) *Plan {
	nodes, edges := g.Nodes(), g.Edges()
	p := &Plan{version: id, loop: of, graph: g, index: make(map[workflow.NodeID]int, len(nodes)), nodes: make([]plannedNode, len(nodes))}
	configs := make([]map[string]any, len(nodes))
	counted := &weighing{Compiler: compiler, weight: 4096 + int64(256*(len(nodes)+len(edges)))}
	for i, n := range nodes {
		if _, repeats := p.index[n.ID]; !repeats {
			p.index[n.ID] = i
		}
		var act action
		act, configs[i] = read(counted, n)
		p.nodes[i] = plannedNode{id: n.ID, action: act, retry: n.Retry}
	}
	p.edges = make([]plannedEdge, 0, len(edges))
	for at, e := range edges {
		source, hasSource := p.index[e.SourceNodeID]
		target, hasTarget := p.index[e.TargetNodeID]
		if !hasSource || !hasTarget {
			continue // only a graph that was restored from elsewhere holds such an edge
		}
		w := planEdge(e, branching{node.Type(nodes[source].Type), configs[source]}, counted, nodeScope(of), domain.Member(domain.Index("edges", at), "condition"))
		w.source, w.target, w.place = source, target, len(p.nodes[source].out)
		p.nodes[source].out = append(p.nodes[source].out, len(p.edges))
		p.nodes[target].in = append(p.nodes[target].in, len(p.edges))
		p.edges = append(p.edges, w)
	}
	p.trace()
	p.weight = counted.weight
	return p
}

// Body is the plan of the body of one of the plan's nodes.
func (p *Plan) Body(of workflow.NodeID, types Types, compiler Compiler) *Plan {
	return NewBodyPlan(p.version, p.graph, of, types, compiler)
}

// nodeScope lists the roots of expressions in a body, or around all.
func nodeScope(of workflow.NodeID) []string {
	if of == "" {
		return workflow.NodeScope()
	}
	return append(workflow.NodeScope(), workflow.BodyScope()...)
}

// Version is the version that the plan is made of.
func (p *Plan) Version() workflow.VersionID { return p.version }

// Nodes is how many nodes there are.
func (p *Plan) Nodes() int { return len(p.nodes) }

// trace finds the nodes that lead to each node.
func (p *Plan) trace() {
	for i := range p.nodes {
		p.nodes[i].before = newNodeSet(len(p.nodes))
	}
	for _, id := range p.graph.TopologicalOrder() {
		i := p.index[id]
		for _, e := range p.nodes[i].in {
			source := p.edges[e].source
			p.nodes[i].before.addAll(p.nodes[source].before)
			p.nodes[i].before.add(source)
		}
	}
}

// beginning is where the runs of a trigger begin.
type beginning struct {
	starts  []int
	outside []int // the nodes that no run of the trigger comes to
}

// beginning finds where the trigger's runs begin; the zero value stands for runs
// that no trigger starts.
func (p *Plan) beginning(trg workflow.AttachedTrigger) *beginning {
	if known, ok := p.starts.Load(trg); ok {
		return known.(*beginning)
	}
	var b beginning
	ids := p.graph.Starts(trg)
	inside := newNodeSet(len(p.nodes))
	for _, id := range p.graph.Reachable(ids...) {
		inside.add(p.index[id])
	}
	for _, id := range ids {
		b.starts = append(b.starts, p.index[id])
	}
	for i := range p.nodes {
		if !inside.has(i) {
			b.outside = append(b.outside, i)
		}
	}
	p.starts.Store(trg, &b)
	return &b
}

// fits says whether the nodes of a run are those of the plan.
func (p *Plan) fits(nodes []NodeState) bool {
	if len(nodes) != len(p.nodes) {
		return false
	}
	for i := range nodes {
		if nodes[i].ID != p.nodes[i].id {
			return false
		}
	}
	return true
}

// nodeSet is a set of places of nodes.
type nodeSet []uint64

func newNodeSet(n int) nodeSet { return make(nodeSet, (n+63)/64) }

func (b nodeSet) add(i int)      { b[i/64] |= 1 << (i % 64) }
func (b nodeSet) has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }

func (b nodeSet) addAll(other nodeSet) {
	for i := range b {
		b[i] |= other[i]
	}
}

// brokenAction is that of a node that cannot run.
type brokenAction struct{ failure Failure }

func (b brokenAction) begin(m *machine, i int) { m.fail(i, b.failure) }

func brokenf(code, message string) action { return brokenAction{Failure{Code: code, Message: message}} }

// invalid makes a failure of what a check found, nil when it found nothing.
func invalid(code string, found []domain.Violation) *Failure {
	const most = 5
	if len(found) == 0 {
		return nil
	}
	message := ""
	for i, v := range found {
		if i == most {
			message += "; and " + strconv.Itoa(len(found)-most) + " more"
			break
		}
		if i > 0 {
			message += "; "
		}
		message += v.String()
	}
	return &Failure{Code: code, Message: message}
}
