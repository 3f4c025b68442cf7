package run

import "github.com/sluicehq/sluice/domain/workflow"

// compiledWeight is how many bytes of memory a byte of a source takes once it is compiled, at
// most.
const compiledWeight = 64

// PlanDemand is about how much memory making a plan of a graph takes at the most, in bytes.
func PlanDemand(g workflow.Graph) int64 {
	demand := int64(0)
	for _, n := range g.Nodes() {
		demand += int64(len(n.Config.String()) + len(n.InputSchema.String()) + 256)
	}
	for _, e := range g.Edges() {
		demand += int64(len(e.Guard()) + 256)
	}
	return demand * compiledWeight
}

// Weight is about how much memory the plan takes, in bytes.
func (p *Plan) Weight() int64 { return p.weight }

// weighing is a compiler that counts what it compiles.
type weighing struct {
	Compiler
	weight int64
}

// Compile counts the source.
func (w *weighing) Compile(source string, roots ...string) (Expression, error) {
	w.weight += compiledWeight * int64(len(source))
	return w.Compiler.Compile(source, roots...)
}

// CompileTemplates counts the templates.
func (w *weighing) CompileTemplates(tree any, roots ...string) (Expression, error) {
	w.weight += weightOfTree(tree) + compiledWeight*lengthOfTemplates(tree)
	return w.Compiler.CompileTemplates(tree, roots...)
}

// lengthOfTemplates is how long the strings in a tree are that hold templates.
func lengthOfTemplates(tree any) (length int64) {
	switch v := tree.(type) {
	case string:
		if holdsTemplate(v) {
			return int64(len(v))
		}
	case URLTemplate:
		return int64(len(v))
	case []any:
		for _, e := range v {
			length += lengthOfTemplates(e)
		}
	case map[string]any:
		for _, member := range v {
			length += lengthOfTemplates(member)
		}
	}
	return length
}
