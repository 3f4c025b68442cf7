package expression

import (
	"github.com/sluicehq/sluice/adapters/expression/language"
	"github.com/sluicehq/sluice/domain/run"
)

// Compiler compiles what runs compute with. It may be shared.
type Compiler struct {
	Links *run.Links // what link() gives; nil where it fails
}

var _ run.Compiler = Compiler{}

// runLimits take the sources that runs put together, which are longer than what a person
// writes, and nest deeper: an expression that was published, which nests
// [language.DefaultDepth] deep by itself, stands in a mapping, which a request nests at
// most 64 deep with two brackets for each level. So what is published is never too deep
// for a run.
var runLimits = language.Limits{Source: run.MaxSource, Depth: 2 * language.DefaultDepth}

// Compile reads one expression.
func (c Compiler) Compile(source string, roots ...string) (run.Expression, error) {
	return c.expressionOrError(runLimits.Compile(source, roots...))
}

// CheckFunction reports whether the source is an arrow function, and what is wrong with it.
func (Compiler) CheckFunction(source string, roots ...string) (isFunction bool, err error) {
	isFunction, _, err = runLimits.CheckFunction(source, roots...)
	return isFunction, err
}

// CompileTemplates reads every string within a JSON tree as a template.
func (c Compiler) CompileTemplates(tree any, roots ...string) (run.Expression, error) {
	return c.expressionOrError(compileTree(tree, runLimits, roots...))
}

// expressionOrError keeps a nil program out of the interface.
func (c Compiler) expressionOrError(p *language.Program, err error) (run.Expression, error) {
	if err != nil {
		return nil, err
	}
	if c.Links == nil {
		return p, nil
	}
	return linking{p, c.Links}, nil
}

// linking is a program with what link() gives.
type linking struct {
	*language.Program
	links *run.Links
}

// Evaluate adds the links to the environment.
func (l linking) Evaluate(env run.Env) (any, error) {
	env.Links = l.links
	return l.Program.Evaluate(env)
}
