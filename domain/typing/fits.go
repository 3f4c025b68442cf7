package typing

import (
	"strconv"

	"github.com/sluicehq/sluice/domain/node"
)

// Misfit says why no value of the type satisfies a field schema, as a part of a sentence about
// the value ("is string where number is wanted"); empty where one may.
func (t Type) Misfit(field node.FieldSchema) string {
	wanted := FromItem(field)
	if t.IsAny() || wanted.IsAny() {
		return ""
	}
	shared := t.kinds & wanted.kinds
	if shared&^scalars == 0 && NeverEqual(t, wanted) {
		return "is " + t.String() + " where " + wanted.String() + " is wanted"
	}
	if shared != Object || t.kinds != Object || len(t.shapes) != 1 {
		return ""
	}
	for name, member := range field.Properties().All() {
		if _, hasDefault := member.Default(); !member.Required() || hasDefault {
			continue
		}
		given, rest := t.Member(name)
		if rest != Open {
			return "never has the member " + strconv.Quote(name) + ", which is required"
		}
		if reason := given.Misfit(member); reason != "" {
			return "has a member " + strconv.Quote(name) + " that " + reason
		}
	}
	return ""
}
