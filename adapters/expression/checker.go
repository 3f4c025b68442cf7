package expression

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sluicehq/sluice/domain/workflow"
)

// Checker tells whether sources compile, and what they name: it is the domain's view of
// the language when a workflow is checked. It holds nothing and may be shared.
type Checker struct{}

var _ workflow.Expressions = Checker{}

// CheckExpression returns no error when the source is an expression that uses no free
// name but the roots and what the language itself defines, else a *[CompileError].
func (Checker) CheckExpression(source string, roots ...string) ([]workflow.Named, error) {
	p, err := Compile(source, roots...)
	if err != nil {
		return nil, err
	}
	return spelled(source, p.named), nil
}

// CheckFunction tells whether the source is an arrow function, whose parameters it may
// use besides the roots, and with a *[CompileError] what is wrong with one that is.
func (Checker) CheckFunction(source string, roots ...string) (isFunction bool, names []workflow.Named, err error) {
	isFunction, found, err := checkFunction(source, Limits{}.settings(roots))
	return isFunction, spelled(source, found), err
}

// CheckTemplate does the same as CheckExpression for every expression that stands
// between {{ and }} in the text.
func (Checker) CheckTemplate(text string, roots ...string) ([]workflow.Named, error) {
	t, err := CompileTemplate(text, roots...)
	if err != nil {
		return nil, err
	}
	return spelled(text, t.named), nil
}

// CheckURLTemplate does the same as CheckTemplate for a text that gives a URL, in which
// no value may change what is written out of the scheme, the host and the port.
func (Checker) CheckURLTemplate(text string, roots ...string) ([]workflow.Named, error) {
	t, err := compileURLTemplateWith(text, Limits{}.settings(roots))
	if err != nil {
		return nil, err
	}
	return spelled(text, t.named), nil
}

// spelled says where in the text the names stand, in the order of the text.
func spelled(text string, found []named) []workflow.Named {
	slices.SortStableFunc(found, func(a, b named) int { return a.at - b.at })
	names := make([]workflow.Named, len(found))
	line, column, at := 1, 1, 0
	for i, n := range found {
		passed := text[at:n.at]
		if feed := strings.LastIndexByte(passed, '\n'); feed >= 0 {
			line, column = line+strings.Count(passed, "\n"), 1
			passed = passed[feed+1:]
		}
		column, at = column+utf8.RuneCountInString(passed), n.at
		names[i] = workflow.Named{Root: n.root, Name: n.name, At: fmt.Sprintf("line %d, column %d", line, column)}
	}
	return names
}
