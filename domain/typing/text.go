package typing

import (
	"strconv"
	"strings"
)

// Bounds of what a text shows.
const (
	maxText    = 5 // members and values
	maxNesting = 2
	maxPart    = 60  // bytes of a name or a value
	maxWhole   = 600 // bytes
)

var kindNames = []struct {
	kind Kind
	name string
}{{Boolean, "boolean"}, {Number, "number"}, {String, "string"}, {Array, "array"}, {Object, "object"}, {Null, "null"}, {Undefined, "undefined"}}

// String writes the type as TypeScript does: string | undefined.
func (t Type) String() string { return shortened(t.text(maxNesting), maxWhole) }

func shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

func (t Type) text(depth int) string {
	if t.IsAny() {
		return "any"
	}
	var parts []string
	values := 0
	for _, v := range t.values {
		if values++; values > maxText {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, literal(v))
	}
	for _, k := range kindNames {
		switch {
		case t.kinds&k.kind == 0, t.values != nil && k.kind&scalars != 0:
		case k.kind == Array && t.items != nil && depth > 0:
			parts = append(parts, t.arrayText(depth))
		case k.kind == Object && len(t.shapes) > 0 && depth > 0:
			for _, f := range t.shapes {
				parts = append(parts, f.text(depth))
			}
		default:
			parts = append(parts, k.name)
		}
	}
	return strings.Join(parts, " | ")
}

func (t Type) arrayText(depth int) string {
	items := t.Items().text(depth - 1)
	if strings.Contains(items, " | ") {
		items = "(" + items + ")"
	}
	return items + "[]"
}

func literal(v any) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(shortened(v, maxPart))
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	}
	return "any"
}

func (f *Fields) text(depth int) string {
	var parts []string
	for i, name := range f.memberNames() {
		if i == maxText {
			parts = append(parts, "…")
			break
		}
		member, _ := f.member(name)
		optional := ""
		if present, some := member.Without(Undefined); some && !member.IsAny() && member.kinds&Undefined != 0 {
			member, optional = present, "?"
		}
		parts = append(parts, shortened(name, maxPart)+optional+": "+member.text(depth-1))
	}
	if len(parts) == 0 {
		return "{}"
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}
