package expression

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sluicehq/sluice/adapters/expression/language"
	"github.com/sluicehq/sluice/domain/workflow"
)

// Checker reports whether sources compile, and what they name: it is the domain's view of
// the language when a workflow is checked. It holds nothing and may be shared.
type Checker struct{}

var _ workflow.Expressions = Checker{}

// CheckExpression returns no error when the source is an expression that uses no free
// name but the roots and what the language itself defines, else a *[language.CompileError].
func (Checker) CheckExpression(source string, roots ...string) ([]workflow.Named, error) {
	p, err := language.Compile(source, roots...)
	return namedOrError(source, p, err)
}

// CheckFunction reports whether the source is an arrow function, whose parameters it may use
// besides the roots, and with a *[language.CompileError] what is wrong with one that is.
func (Checker) CheckFunction(source string, roots ...string) (isFunction bool, names []workflow.Named, err error) {
	isFunction, members, err := language.Limits{}.CheckFunction(source, roots...)
	return isFunction, placed(source, members), err
}

// CheckTemplate does the same as CheckExpression for every expression that stands
// between {{ and }} in the text.
func (Checker) CheckTemplate(text string, roots ...string) ([]workflow.Named, error) {
	p, err := compileTemplate(text, language.Limits{}, roots)
	return namedOrError(text, p, err)
}

// CheckURLTemplate does the same as CheckTemplate for a text that gives a URL, in which
// no value may change what is written out of the scheme, the host and the port.
func (Checker) CheckURLTemplate(text string, roots ...string) ([]workflow.Named, error) {
	p, err := compileURLTemplate(text, language.Limits{}, roots)
	return namedOrError(text, p, err)
}

func namedOrError(text string, p *language.Program, err error) ([]workflow.Named, error) {
	if err != nil {
		return nil, err
	}
	return placed(text, p.Members()), nil
}

// placed says where in the text the members stand, in the order of the text.
func placed(text string, members []language.Member) []workflow.Named {
	slices.SortStableFunc(members, func(a, b language.Member) int { return a.At - b.At })
	names := make([]workflow.Named, len(members))
	line, column, at := 1, 1, 0
	for i, m := range members {
		passed := text[at:m.At]
		if feed := strings.LastIndexByte(passed, '\n'); feed >= 0 {
			line, column = line+strings.Count(passed, "\n"), 1
			passed = passed[feed+1:]
		}
		column, at = column+utf8.RuneCountInString(passed), m.At
		names[i] = workflow.Named{Root: m.Root, Name: m.Name, At: fmt.Sprintf("line %d, column %d", line, column)}
	}
	return names
}
