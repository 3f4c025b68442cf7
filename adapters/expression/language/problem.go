package language

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// The codes of problems, stable slugs for clients.
const (
	// Found when compiling.
	CodeSyntax      = "syntax_error"     // not one JavaScript expression
	CodeNotAllowed  = "not_allowed"      // JavaScript, but not part of the language
	CodeUnknownName = "unknown_name"     // a free name that is neither a root nor built in
	CodeTooLong     = "source_too_long"  // longer than Limits.Source
	CodeTooDeep     = "source_too_deep"  // nested deeper than Limits.Depth
	CodeUnclosed    = "template_invalid" // a {{ without its }}

	// Found when evaluating.
	CodeNoValue     = "no_value"      // a member or method of undefined or null
	CodeNoMethod    = "no_method"     // a method that the value does not have
	CodeBadArgument = "bad_argument"  // an argument or operand that the operation refuses
	CodeBadJSON     = "json_invalid"  // JSON.parse of something else
	CodeBadData     = "data_invalid"  // the environment holds what no JSON tree holds
	CodeNoLink      = "link_unknown"  // link() in an environment without pages
	CodeNoTime      = "time_unknown"  // now() in an environment without a time
	CodeSteps       = "steps_limit"   // Limits.Steps are used up
	CodeMemory      = "memory_limit"  // Limits.Memory is used up
	CodeNesting     = "nesting_limit" // data nested deeper than Limits.Depth
)

// Problem is one thing that is wrong with an expression, and where. Line and
// Column count from 1, columns in Unicode code points; in a template they count
// within the whole text. Path is the dotted path of the text within the tree that
// [CompileTemplateTree] was given, else "".
type Problem struct {
	Code    string
	Message string
	Path    string
	Line    int
	Column  int
}

// String renders the problem for people: "line 1, column 7: …".
func (p Problem) String() string {
	at := fmt.Sprintf("line %d, column %d", p.Line, p.Column)
	if p.Path != "" {
		at = p.Path + ", " + at
	}
	return at + ": " + p.Message
}

// CompileError lists all that is wrong with a source, in the order of the source.
// There is at least one problem.
type CompileError struct {
	Problems []Problem
}

// maxInText is how many problems the text of an error spells out.
const maxInText = 3

// Error joins the first three problems with semicolons and counts the others.
func (e *CompileError) Error() string {
	var parts []string
	for i, p := range e.Problems {
		if i == maxInText {
			parts = append(parts, fmt.Sprintf("and %d more", len(e.Problems)-i))
			break
		}
		parts = append(parts, p.String())
	}
	return strings.Join(parts, "; ")
}

// EvaluationError says that an expression has no value for this environment. The
// same environment fails the same way every time.
type EvaluationError struct {
	Problem
}

// Error renders the problem.
func (e *EvaluationError) Error() string { return e.String() }

// BudgetError says that an evaluation was stopped because it used up one of its
// [Limits]: Code is CodeSteps, CodeMemory or CodeNesting.
type BudgetError struct {
	Problem
}

// Error renders the problem.
func (e *BudgetError) Error() string { return e.String() }

// fault is a problem on its way out: what is wrong at which byte of the text.
type fault struct {
	at      int
	code    string
	message string
}

func faultf(at int, code, format string, args ...any) *fault {
	return &fault{at: at, code: code, message: fmt.Sprintf(format, args...)}
}

// problem finds line and column of the fault in the text.
func (f *fault) problem(text string) Problem {
	before := text[:min(max(f.at, 0), len(text))]
	lineStart := strings.LastIndexByte(before, '\n') + 1
	return Problem{
		Code:    f.code,
		Message: f.message,
		Line:    strings.Count(before, "\n") + 1,
		Column:  utf8.RuneCountInString(before[lineStart:]) + 1,
	}
}
