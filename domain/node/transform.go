package node

import (
	"github.com/sluicehq/sluice/domain"
)

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
