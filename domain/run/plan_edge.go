package run

import (
	"slices"

	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/workflow"
)

// plannedEdge is an edge that is ready to be taken.
type plannedEdge struct {
	id             workflow.EdgeID
	source, target int
	place          int        // among the source's outgoing edges
	onError        bool       // taken when the source failed, else when it completed
	branches       []string   // taken only when one of them was chosen; nil for whatever was
	member         string     // of the source's output, which flows along; empty for the whole
	into           string     // member of the target's input; empty for the whole
	guard          *evaluator // nil for none
}

// branching is what a source's configuration says of its branches.
type branching struct {
	kind   node.Type
	config map[string]any
}

// planEdge makes an edge ready.
func planEdge(e workflow.Edge, source branching, compiler Compiler, scope []string, field string) plannedEdge {
	w := plannedEdge{id: e.ID, into: e.InputKey()}
	if guard := e.Guard(); guard != "" {
		w.guard = newEvaluator(compiler, field, guard, slices.Concat(scope, []string{workflow.RootResult}))
		w.guard.uses.result = true
	}
	branches := node.Branches(source.kind, source.config)
	switch key := e.OutputKey(); {
	case key == workflow.OnError:
		w.onError = true
	case key == workflow.OnSuccess:
	case branches == nil:
		w.member = key
	case key != "":
		w.branches = []string{key}
	default:
		w.branches = source.leadingTo(e.TargetNodeID)
	}
	return w
}

// leadingTo lists the branches whose target in the configuration is the node; nil
// when the configuration does not name it, so that every branch leads there.
func (b branching) leadingTo(target workflow.NodeID) []string {
	var leading []string
	for _, t := range node.BranchTargets(b.kind, b.config) {
		if t.Node == string(target) {
			leading = append(leading, t.Branch)
		}
	}
	return leading
}

// open says whether the edge is taken as far as its source's outcome and branch decide.
func (w *plannedEdge) open(failed bool, branch string) bool {
	return w.onError == failed && (w.branches == nil || slices.Contains(w.branches, branch))
}
