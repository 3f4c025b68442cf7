package workflowfile

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// width is how long a line may get by what stands together on it.
const width = 120

// printed writes a value as a person reads it: what fits stands on one line, except lists of objects, whose elements have
// lines of their own.
func printed(value any, s shape) []byte {
	p := printer{}
	p.write(value, s, 0, 0)
	p.WriteByte('\n')
	return p.Bytes()
}

type printer struct{ bytes.Buffer }

// write writes a value whose first character stands in a column, as part of what is indented.
func (p *printer) write(value any, s shape, indent, column int) {
	if line := inline(value, s); indent > 0 && !holdsObjects(value) && column+utf8.RuneCountInString(line) <= width {
		p.WriteString(line)
		return
	}
	switch v := value.(type) {
	case map[string]any:
		lines(p, '{', '}', indent, membersOf(v, s), func(name string) {
			key := quoted(name) + ": "
			p.WriteString(key)
			of, _ := s.named(name)
			p.write(v[name], of, indent+1, 2*(indent+1)+utf8.RuneCountInString(key))
		})
	case []any:
		lines(p, '[', ']', indent, v, func(item any) { p.write(item, itemShape(s), indent+1, 2*(indent+1)) })
	default:
		p.WriteString(inline(value, s))
	}
}

func itemShape(s shape) shape {
	if s.items == nil {
		return shape{}
	}
	return *s.items
}

// lines writes each element on lines of its own.
func lines[T any](p *printer, begin, end byte, indent int, elements []T, write func(T)) {
	p.WriteByte(begin)
	for i, e := range elements {
		if i > 0 {
			p.WriteByte(',')
		}
		p.WriteString("\n" + strings.Repeat("  ", indent+1))
		write(e)
	}
	if len(elements) > 0 {
		p.WriteString("\n" + strings.Repeat("  ", indent))
	}
	p.WriteByte(end)
}

// inline writes a value on one line.
func inline(value any, s shape) string {
	var parts []string
	switch v := value.(type) {
	case map[string]any:
		for _, name := range membersOf(v, s) {
			of, _ := s.named(name)
			parts = append(parts, quoted(name)+": "+inline(v[name], of))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		for _, item := range v {
			parts = append(parts, inline(item, itemShape(s)))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	default:
		return quoted(v)
	}
}

// membersOf are the members of an object in the order of its shape, and by name where that names none.
func membersOf(v map[string]any, s shape) []string {
	if len(s.members) == 0 {
		return slices.Sorted(maps.Keys(v))
	}
	var there []string
	for _, m := range s.members {
		if _, ok := v[m.name]; ok {
			there = append(there, m.name)
		}
	}
	return there
}

func holdsObjects(value any) bool {
	items, _ := value.([]any)
	return slices.ContainsFunc(items, func(item any) bool { _, is := item.(map[string]any); return is })
}

// quoted writes a text, a number, true, false or null.
func quoted(value any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(value) // such a value always can be
	return strings.TrimSuffix(b.String(), "\n")
}
