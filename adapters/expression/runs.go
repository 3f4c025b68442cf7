package expression

import (
	"slices"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Compiler compiles what runs compute with. It holds nothing and may be shared.
type Compiler struct{}

var _ outbound.Compiler = Compiler{}

// ofRuns takes the sources that runs put together, which are longer than what a person
// writes, and nest deeper: an expression that was published, which nests [DefaultDepth]
// deep by itself, stands in a mapping, which a request nests at most 64 deep with two
// brackets for each level. So what is published is never too deep for a run.
var ofRuns = Limits{Source: run.MaxSource, Depth: 2 * DefaultDepth}

// Compile reads one expression.
func (Compiler) Compile(source string, roots ...string) (run.Expression, error) {
	p, err := ofRuns.Compile(source, roots...)
	if err != nil {
		return nil, err
	}
	return compiled{p.Evaluate, p.nodes}, nil
}

// CheckFunction tells whether the source is an arrow function, and what is wrong with it.
func (Compiler) CheckFunction(source string, roots ...string) (isFunction bool, err error) {
	isFunction, _, err = checkFunction(source, ofRuns.settings(roots))
	return isFunction, err
}

// CompileTemplates reads every string within a JSON tree as a template.
func (Compiler) CompileTemplates(tree any, roots ...string) (run.Expression, error) {
	p, err := ofRuns.CompileTemplateTree(tree, roots...)
	if err != nil {
		return nil, err
	}
	return compiled{p.Evaluate, p.nodes}, nil
}

// compiled is a program as runs know it.
type compiled struct {
	evaluate func(Env) (any, error)
	nodes    nodesRead
}

// Evaluate computes the value.
func (c compiled) Evaluate(env run.Env) (any, error) { return c.evaluate(Env(env)) }

// NodesRead names the nodes whose outputs are read.
func (c compiled) NodesRead() (ids []string, all bool) {
	return slices.Clone(c.nodes.ids), c.nodes.all
}
