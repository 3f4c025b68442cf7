package node

import (
	"encoding/json"
	"maps"
)

// ReadConfig returns a configuration as a node of this type works with it. Editors write a
// blank for every member that a person left open, and numbers as text:
//
//   - "" and null count as absent, except where the type is any and a value is required, and
//     where an enum lists them.
//   - {} and [] count as absent where the schema permits no empty value, and where a
//     built-in node has a map or a list: an empty one says nothing.
//   - Text that spells a number in decimal is the number where one is wanted.
//
// This holds for declared members at every depth. Reading what was read changes nothing.
func (n NodeType) ReadConfig(config map[string]any) map[string]any {
	return configReader{builtIn: n.BuiltIn}.object(n.Config, config)
}

type configReader struct {
	builtIn bool
}

func (c configReader) object(s Schema, object map[string]any) map[string]any {
	out := maps.Clone(object)
	for name, f := range s.All() {
		value, given := object[name]
		if !given {
			continue
		}
		if out[name] = c.value(f, value); c.isBlank(f.shape(), out[name]) {
			delete(out, name)
		}
	}
	return out
}

func (c configReader) value(f FieldSchema, value any) any {
	switch v := value.(type) {
	case string:
		if f.Type() == Number && isDecimal(v) {
			return json.Number(v)
		}
	case map[string]any:
		if f.Type() == Object {
			return c.object(f.Properties(), v)
		}
	case []any:
		if f.Type() == Array {
			out := make([]any, len(v))
			for i, item := range v {
				out[i] = c.value(f.Items(), item)
			}
			return out
		}
	}
	return value
}

// isBlank says whether the value stands for an absent member.
func (c configReader) isBlank(s *shape, value any) bool {
	switch v := value.(type) {
	case map[string]any:
		return len(v) == 0 && c.emptyIsBlank(s)
	case []any:
		return len(v) == 0 && c.emptyIsBlank(s)
	}
	if value != nil && value != "" {
		return false
	}
	switch s.kind {
	case Any:
		return !s.required
	case Enum:
		return s.dynamic || !s.allows(value)
	}
	return true
}

// emptyIsBlank says whether an empty object or array stands for an absent member.
func (c configReader) emptyIsBlank(s *shape) bool {
	switch s.kind {
	case Array:
		return c.builtIn || s.low > 0
	case Object:
		if c.builtIn {
			return true
		}
		for _, f := range s.properties.All() {
			if f.always() {
				return true
			}
		}
	}
	return false
}

// isDecimal says whether the text spells a number as JSON does.
func isDecimal(text string) bool {
	if text == "" || text[0] != '-' && !isDigit(text[0]) || !isDigit(text[len(text)-1]) {
		return false
	}
	return json.Valid([]byte(text))
}
