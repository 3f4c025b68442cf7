package expression

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sluicehq/sluice/adapters/expression/language"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/typing"
	"github.com/sluicehq/sluice/domain/workflow"
)

// Checker reports whether sources compile, what they name and what they give: it is the
// domain's view of the language when a workflow is checked. It holds nothing and may be
// shared.
type Checker struct{}

var _ workflow.Expressions = Checker{}

// Check reports whether a source compiles, and what is known of it then.
func (Checker) Check(s workflow.Source) workflow.Checked {
	switch s.Form {
	case workflow.Template, workflow.URLTemplate:
		return checkTemplate(s)
	case workflow.EachItem:
		isFunction, found, err := language.Limits{}.AnalyseFunction(s.Text, s.Roots, s.Facts, s.Each)
		if isFunction {
			checked := checkedOf(s.Text, found, err)
			checked.IsFunction = true
			return checked
		}
		s.Roots = slices.Concat(s.Roots, s.Each)
	}
	found, err := language.Limits{}.Analyse(s.Text, s.Roots, s.Facts)
	return checkedOf(s.Text, found, err)
}

// Complete finds what could stand at a byte of a source, which need not compile.
func (Checker) Complete(s workflow.Source, at int) workflow.Offers {
	if s.Form != workflow.Template && s.Form != workflow.URLTemplate {
		return language.Limits{}.Complete(s.Text, 0, len(s.Text), at, s)
	}
	from, end, inside := language.Limits{}.EmbeddedAt(s.Text, at)
	if !inside {
		return workflow.Offers{From: at, To: at}
	}
	return language.Limits{}.Complete(s.Text, from, end, at, s)
}

func checkTemplate(s workflow.Source) workflow.Checked {
	embedding := language.Limits{}.EmbedTyped(s.Text, s.Roots, s.Facts)
	t := readTemplate(s.Text, embedding)
	if _, err := embedding.Program(t.render); err != nil {
		return checkedOf(s.Text, language.Analysis{}, err)
	}
	if s.Form == workflow.URLTemplate {
		if at, wrong := t.checkURL(); wrong != "" {
			return checkedOf(s.Text, language.Analysis{}, language.Refuse(s.Text, at, language.CodeBadArgument, wrong))
		}
	}
	gives := typing.Of(typing.String)
	if len(t.parts) == 1 && !t.parts[0].isPlain() {
		gives = t.parts[0].Type
	}
	return checkedOf(s.Text, embedding.Analysis(gives), nil)
}

func checkedOf(text string, found language.Analysis, err error) workflow.Checked {
	if failed, isCompile := errors.AsType[*language.CompileError](err); isCompile {
		return workflow.Checked{Problem: failed.Error(), At: placeOf(failed.Problems[0])}
	}
	checked := workflow.Checked{
		Named: placed(text, found.Members), Uses: found.Uses, Type: found.Type, Constant: found.Constant, WhenTrue: found.WhenTrue, WhenFalse: found.WhenFalse,
	}
	for _, d := range found.Doubts {
		checked.Doubts = append(checked.Doubts, workflow.Doubt{At: placeOf(d.Problem), Code: domain.ViolationCode(d.Code), Message: d.Message, Warning: d.Warning})
	}
	return checked
}

func placeOf(p language.Problem) workflow.Place {
	return workflow.Place{Line: p.Line, Column: p.Column}
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
		names[i] = workflow.Named{Root: m.Root, Name: m.Name, At: workflow.Place{Line: line, Column: column}}
	}
	return names
}
