package node

import (
	"encoding/json"
	"maps"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/process"
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
// This holds for declared members at every depth. An instant in milliseconds becomes the text
// that spells it. Reading what was read changes nothing.
func (n NodeType) ReadConfig(config map[string]any) map[string]any {
	read, _ := n.readConfig(config)
	return read
}

// LevelOf is what a process must have to run a node with the configuration.
func (n NodeType) LevelOf(config map[string]any) process.Level {
	_, level := n.readConfig(config)
	return level
}

func (n NodeType) readConfig(config map[string]any) (map[string]any, process.Level) {
	c := configReader{builtIn: n.BuiltIn, level: n.Level}
	read := c.object(n.Config, config)
	if instant := n.behaviour().instantMember; instant != "" {
		if ms, isNumber := read[instant].(json.Number); isNumber {
			read[instant], c.level = string(ms), max(c.level, process.SecondRelease)
		}
	}
	if _, id := n.Connection(read); !n.BuiltIn && id != "" {
		c.level = max(c.level, process.SecondRelease)
	}
	return read, c.level
}

type configReader struct {
	builtIn bool
	level   process.Level // what a process must have to read the configuration alike
}

func (c *configReader) object(s Schema, object map[string]any) map[string]any {
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

func (c *configReader) value(f FieldSchema, value any) any {
	switch v := value.(type) {
	case string:
		if f.Type() != Number {
			return value
		}
		if n, isDecimal := domain.ReadDecimal(v); isDecimal {
			if string(n) != v {
				c.level = max(c.level, process.SecondRelease)
			}
			return n
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
func (c *configReader) isBlank(s *shape, value any) bool {
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
func (c *configReader) emptyIsBlank(s *shape) bool {
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
