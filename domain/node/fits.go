package node

import (
	"math"
	"strconv"

	"github.com/sluicehq/sluice/domain"
)

// Fits says whether what source describes may be put where target is asked for.
// The answer is no only when no value that satisfies source can satisfy target,
// and reason then says why, as a sentence about the value ("gives a string where
// a number is wanted"). A type any fits everything. One finding is stricter than
// that: arrays whose items cannot fit do not fit, although both may be empty.
// Patterns are compared only with the values of an enum.
func Fits(source, target FieldSchema) (ok bool, reason string) {
	reason = misfit(source.shape(), target.shape())
	return reason == "", reason
}

// misfit returns why no value of s satisfies t; empty when one may.
func misfit(s, t *shape) string {
	switch {
	case s.kind == Any || t.kind == Any || s.dynamic || t.dynamic:
		return ""
	case s.kind == Enum:
		if t.acceptsOneOf(s.values) {
			return ""
		}
		return "gives only " + list(s.values) + " where " + t.wanted() + t.limits() + " is wanted"
	case t.kind == Enum:
		if s.acceptsOneOf(t.values) {
			return ""
		}
		return "gives " + s.wanted() + s.limits() + " where only " + list(t.values) + " is allowed"
	case s.kind != t.kind:
		return "gives " + s.wanted() + " where " + t.wanted() + " is wanted"
	}
	switch s.kind {
	case String, Number:
		return boundsMisfit(s, t)
	case Array:
		if reason := boundsMisfit(s, t); reason != "" {
			return reason
		}
		if reason := misfit(s.items.shape(), t.items.shape()); reason != "" {
			return "has items that cannot be used: each " + reason
		}
	case Object:
		return objectMisfit(s, t)
	}
	return ""
}

// acceptsOneOf says whether one of the values satisfies s.
func (s *shape) acceptsOneOf(values []any) bool {
	for _, v := range values {
		var r domain.Rules
		c := &checker{found: newFindings(&r), budget: matchBudget}
		if c.value(s, "", v); c.found.none() {
			return true
		}
	}
	return false
}

// boundsMisfit compares the bounds of two numbers, two lengths or two counts.
func boundsMisfit(s, t *shape) string {
	low, high := max(s.low, t.low), min(s.high, t.high)
	if s.whole || t.whole {
		low, high = math.Ceil(low), math.Floor(high)
	}
	if low <= high {
		return ""
	}
	return "gives " + s.wanted() + s.limits() + " where " + t.wanted() + t.limits() + " is wanted"
}

// limits describes the bounds of a shape, such as " of 1 to 5 characters".
func (s *shape) limits() string {
	unit := ""
	switch s.kind {
	case String:
		unit = "character"
	case Array:
		unit = "item"
	case Number:
	default:
		return ""
	}
	lowest, highest := !math.IsInf(s.low, -1), !math.IsInf(s.high, 1)
	switch {
	case lowest && highest:
		return " of " + plain(s.low) + " to " + quantity(s.high, unit)
	case lowest:
		return " of at least " + quantity(s.low, unit)
	case highest:
		return " of at most " + quantity(s.high, unit)
	}
	return ""
}

// objectMisfit compares what one object surely or possibly holds with what the
// other must or may hold.
func objectMisfit(s, t *shape) string {
	for name, wanted := range t.properties.All() {
		given, declared := s.properties.Field(name)
		must := wanted.Required() && !wanted.shape().hasDefault
		switch {
		case !declared && s.closed && must:
			return "never has the property " + strconv.Quote(name) + ", which is required"
		case !declared:
			continue
		case must || given.always():
			if reason := misfit(given.shape(), wanted.shape()); reason != "" {
				return "has a property " + strconv.Quote(name) + " that cannot be used: it " + reason
			}
		}
	}
	if !t.closed {
		return ""
	}
	for name, given := range s.properties.All() {
		if _, allowed := t.properties.Field(name); !allowed && given.always() {
			return "always has the property " + strconv.Quote(name) + ", which is not allowed"
		}
	}
	return ""
}

// always says whether the field is in every object that satisfies its schema.
func (f FieldSchema) always() bool { return f.Required() && !f.shape().hasDefault }
