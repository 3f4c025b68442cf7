package workflowfile

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// kind is what stands in a place of a file.
type kind int

const (
	anything kind = iota // as the gateway takes it
	text
	number
	boolean
	object // without members that are named here, any object
	list
)

var kindNames = map[kind]string{text: "a text", number: "a number", boolean: "true or false", object: "an object", list: "a list"}

// shape says what a place of a file holds. Members are written in the order in which they stand here.
type shape struct {
	kind     kind
	required bool
	members  []member
	items    *shape // of a list; nil for anything
	usual    any    // what it is where it is left out, besides an empty value
}

type member struct {
	name string
	shape
}

var (
	required = shape{kind: text, required: true}
	optional = shape{kind: text}
	document = shape{kind: object}
	active   = shape{kind: boolean} // left out, it stays as it is
	notSet   = shape{kind: boolean, usual: false}
	count    = shape{kind: number}
)

// fileShape is the whole file.
var fileShape = shape{kind: object, members: []member{
	{"sluice", shape{kind: number, required: true}},
	{"name", required},
	{"description", optional},
	{"metadata", document},
	{"isActive", active},
	{"draft", notSet},
	{"runRetentionDays", count},
	{"triggers", shape{kind: list, items: &triggerShape}},
	{"nodes", shape{kind: list, required: true, items: &nodeShape}},
	{"edges", shape{kind: list, required: true, items: &edgeShape}},
}}

var triggerShape = shape{kind: object, members: []member{
	{"name", required}, {"type", required}, {"isActive", active}, {"metadata", document}, {"config", document}, {"hook", hookShape},
}}

var hookShape = shape{kind: object, members: []member{
	{"scheme", shape{kind: object, required: true}},
	{"secrets", shape{kind: list}},
	{"event", optional}, {"entityId", optional}, {"dedupe", optional}, {"filter", optional}, {"split", optional},
	{"ingest", notSet}, {"rawBody", notSet},
	{"respond", shape{kind: object, usual: map[string]any{"mode": "immediately"}}},
	{"allowFrom", shape{kind: list}},
	{"limits", shape{kind: object, members: []member{
		{"perMinute", shape{kind: number, usual: json.Number("600")}}, {"concurrent", shape{kind: number, usual: json.Number("20")}},
	}}},
	{"isActive", active},
}}

var nodeShape = shape{kind: object, members: []member{
	{"id", required}, {"parentId", optional}, {"type", required}, {"version", required}, {"name", required}, {"description", optional},
	{"position", shape{kind: object, members: []member{{"x", count}, {"y", count}}, usual: map[string]any{"x": json.Number("0"), "y": json.Number("0")}}},
	{"config", document}, {"inputSchema", document}, {"outputSchema", document},
	{"retryPolicy", shape{kind: object, members: []member{{"maxRetries", count}, {"backoffMs", count}, {"maxBackoffMs", count}}}},
	{"timeoutMs", count},
}}

var edgeShape = shape{kind: object, members: []member{
	{"sourceNodeId", required}, {"targetNodeId", required}, {"sourceOutputKey", optional}, {"targetInputKey", optional},
	{"condition", optional}, {"label", optional},
}}

// named says which members are known; a shape that names none knows all.
func (s shape) named(name string) (found shape, known bool) {
	i := slices.IndexFunc(s.members, func(m member) bool { return m.name == name })
	if i < 0 {
		return shape{}, len(s.members) == 0
	}
	return s.members[i].shape, true
}

// check reports everything that does not have the shape. What is null counts as left out.
func (s shape) check(path string, value any, report func(path, message string)) {
	switch v := value.(type) {
	case map[string]any:
		if s.kind != object && s.kind != anything {
			break
		}
		for name := range v {
			if _, known := s.named(name); !known {
				report(join(path, name), "is not known here")
			}
		}
		for _, m := range s.members {
			if v[m.name] != nil {
				m.check(join(path, m.name), v[m.name], report)
			} else if m.required {
				report(join(path, m.name), "must be given")
			}
		}
		return
	case []any:
		if s.kind != list && s.kind != anything {
			break
		}
		for i, item := range v {
			if s.items != nil {
				s.items.check(element(path, i), item, report)
			}
		}
		return
	}
	if _, ok := value.(string); s.kind == anything || s.kind == text && ok {
		return
	}
	if _, ok := value.(json.Number); s.kind == number && ok {
		return
	}
	if _, ok := value.(bool); s.kind == boolean && ok {
		return
	}
	report(path, "must be "+kindNames[s.kind])
}

// tidy returns a value without what the shape does not name, what is empty and what is usual, so that what means the same is
// the same.
func (s shape) tidy(value any) any {
	switch v := value.(type) {
	case map[string]any:
		if len(s.members) == 0 {
			return v
		}
		kept := map[string]any{}
		for _, m := range s.members {
			if found := m.tidy(v[m.name]); m.required && v[m.name] != nil || !m.isUsual(found) {
				kept[m.name] = found
			}
		}
		return kept
	case []any:
		if s.items == nil {
			return v
		}
		kept := make([]any, len(v))
		for i, item := range v {
			kept[i] = s.items.tidy(item)
		}
		return kept
	case json.Number:
		if f, err := strconv.ParseFloat(v.String(), 64); err == nil && s.kind == number {
			return json.Number(strconv.FormatFloat(f, 'f', -1, 64))
		}
	}
	return value
}

func (s shape) isUsual(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case map[string]any:
		if len(v) == 0 {
			return true
		}
	case []any:
		return len(v) == 0
	}
	return reflect.DeepEqual(value, s.usual)
}

func join(path, name string) string {
	switch {
	case name == "" || strings.ContainsAny(name, `.["`):
		return fmt.Sprintf("%s[%q]", path, name)
	case path == "":
		return name
	}
	return path + "." + name
}

func element(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }
