package typing

import (
	"strconv"

	"github.com/sluicehq/sluice/domain/node"
)

// Misfit says why no value of the type satisfies a field schema, as a part of a sentence about
// the value ("is string where number is wanted"); empty where one may, and where the type is claimed.
func (t Type) Misfit(field node.FieldSchema) string {
	wanted := FromItem(field)
	if t.IsAny() || t.claimed || wanted.IsAny() {
		return ""
	}
	shared := t.kinds & wanted.kinds
	if shared&^scalars == 0 && NeverEqual(t, wanted) {
		return "is " + t.String() + " where " + wanted.String() + " is wanted"
	}
	if shared != Object || t.kinds != Object {
		return ""
	}
	for name, member := range field.Properties().All() {
		if reason := t.MemberMisfit(name, member); reason != "" {
			return reason
		}
	}
	return ""
}

// MemberMisfit says why no object of the type has a member that satisfies a field schema, or lacks
// it where it may.
func (t Type) MemberMisfit(name string, field node.FieldSchema) string {
	given, rest := t.Member(name)
	if _, hasDefault := field.Default(); given.Kinds()&Undefined != 0 && (hasDefault || !field.Required()) {
		return ""
	}
	if rest != Open {
		return "never has the member " + strconv.Quote(name) + ", which is required"
	}
	if reason := given.Misfit(field); reason != "" {
		return "has a member " + strconv.Quote(name) + " that " + reason
	}
	return ""
}
