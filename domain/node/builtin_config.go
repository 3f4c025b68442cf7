package node

import (
	"math"
	"strconv"
	"time"

	"github.com/sluicehq/sluice/domain"
)

// The branches of a condition and the one a switch takes when no case fits.
const (
	BranchTrue    = "true"
	BranchFalse   = "false"
	BranchDefault = "default"
)

// CaseBranch is the branch of a switch's case, counted from 0: "case-0".
func CaseBranch(i int) string { return "case-" + strconv.Itoa(i) }

// Branches lists the branches that a node of this type with this configuration
// can choose, in order: true and false of a condition; case-0, case-1 … and
// default of a switch; nil for a node that chooses none.
func Branches(t Type, config map[string]any) []string {
	switch t {
	case Condition:
		return []string{BranchTrue, BranchFalse}
	case Switch:
		cases, _ := config["cases"].([]any)
		branches := make([]string, 0, len(cases)+1)
		for i := range cases {
			branches = append(branches, CaseBranch(i))
		}
		return append(branches, BranchDefault)
	}
	return nil
}

// PassesInput says whether the node's output is its input, unchanged: it only
// decides when or where the run continues.
func (t Type) PassesInput() bool { return t == Wait || t == Condition || t == Switch }

// checkWait demands one of the delay and the time, and that the time is one.
func checkWait(r *domain.Rules, path string, config map[string]any) {
	_, hasDelay := config["delayMs"]
	until, hasUntil := config["until"]
	delayAt, untilAt := domain.Member(path, "delayMs"), domain.Member(path, "until")
	r.Check(hasDelay || hasUntil, delayAt, domain.Required, "must be given, unless until is")
	r.Check(!hasDelay || !hasUntil, untilAt, domain.Conflicting, "must be left out when delayMs is given")
	if text, ok := until.(string); ok {
		_, err := time.Parse(time.RFC3339, text)
		r.Check(err == nil, untilAt, domain.BadFormat, "must be a time in RFC 3339, such as 2026-01-31T09:00:00Z")
	}
}

// The kinds of transform, and what each needs.
const (
	transformExpression = "expression"
	transformMap        = "map"
	transformFilter     = "filter"
	transformReduce     = "reduce"
)

// checkTransform demands what the kind of transform computes with: an expression,
// for which a mapping may stand where the result can be an object.
func checkTransform(r *domain.Rules, path string, config map[string]any) {
	kind, given := config["transformType"]
	if !given {
		kind = transformExpression
	}
	expression, _ := config["expression"].(string)
	_, hasMapping := config["mapping"]
	hasExpression := expression != ""
	expressionAt, mappingAt := domain.Member(path, "expression"), domain.Member(path, "mapping")
	switch kind {
	case transformExpression, transformMap:
		r.Check(hasExpression || hasMapping, expressionAt, domain.Required, "must be given, unless mapping is")
		r.Check(!hasExpression || !hasMapping, mappingAt, domain.Conflicting, "must be left out when expression is given")
	case transformFilter, transformReduce:
		r.Check(hasExpression, expressionAt, domain.Required, "must be given for this transformType")
		r.Check(!hasMapping, mappingAt, domain.Conflicting, "must be left out for this transformType")
	}
}

// checkExpectStatus demands a status code, or a list of some.
func checkExpectStatus(r *domain.Rules, path string, config map[string]any) {
	value, given := config["expectStatus"]
	if !given {
		return
	}
	statuses, isList := value.([]any)
	if !isList {
		checkStatus(r, path, value)
		return
	}
	r.Check(len(statuses) > 0, path, domain.TooShort, "must list at least one status code")
	for i, s := range statuses {
		if i == MaxFindings {
			r.Check(false, path, domain.TooLong, "must list at most %d status codes", MaxFindings)
			return
		}
		checkStatus(r, domain.Index(path, i), s)
	}
}

func checkStatus(r *domain.Rules, path string, value any) {
	n, ok := number(value)
	r.Check(ok && n == math.Trunc(n) && 100 <= n && n <= 599, path, domain.NotAllowed,
		"must be a status code from 100 to 599, not %s", show(value))
}
