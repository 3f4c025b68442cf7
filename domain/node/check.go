package node

import (
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/sluicehq/sluice/domain"
)

// Check records in r, under path, every rule of the field that the value breaks,
// up to [MaxFindings]. null satisfies the type any and an enum that lists it, and no
// other type, whether or not the field is required.
func (f FieldSchema) Check(r *domain.Rules, path string, value any) {
	c := &checker{found: newFindings(r), budget: matchBudget}
	c.value(f.shape(), path, value)
}

// Check records in r, under path, every rule of the schema that the object
// breaks, up to [MaxFindings]: required fields that are absent and have no
// default, and each declared field by [FieldSchema.Check]. Members that the schema
// does not declare are allowed. nil is the empty object.
func (s Schema) Check(r *domain.Rules, path string, object map[string]any) {
	c := &checker{found: newFindings(r), budget: matchBudget}
	c.members(s, path, object)
}

// checker is one walk over a value.
type checker struct {
	found  *findings
	budget int // what is left of matchBudget
}

func (c *checker) value(s *shape, path string, value any) {
	switch s.kind {
	case String:
		c.text(s, path, value)
	case Number:
		c.number(s, path, value)
	case Boolean:
		if _, ok := value.(bool); !ok {
			c.wrongType(path, "true or false", value)
		}
	case Object:
		c.object(s, path, value)
	case Array:
		c.array(s, path, value)
	case Enum:
		c.found.check(s.allows(value), path, domain.NotAllowed, "must be %s, not %s", s.wanted(), show(value))
	default: // any
		c.found.check(isJSON(value), path, domain.WrongType, "must be a JSON value whose numbers a double can hold")
	}
}

func (c *checker) text(s *shape, path string, value any) {
	text, ok := value.(string)
	if !ok {
		c.wrongType(path, "a string", value)
		return
	}
	n := float64(utf8.RuneCountInString(text))
	c.found.check(n > 0 || s.low <= 0, path, domain.Required, "must not be empty")
	c.found.check(n >= s.low, path, domain.TooShort, "must be at least %s long, not %s", quantity(s.low, "character"), plain(n))
	c.found.check(n <= s.high, path, domain.TooLong, "must be at most %s long, not %s", quantity(s.high, "character"), plain(n))
	if s.pattern == nil || n < s.low || n > s.high {
		return
	}
	if c.budget -= len(text) * s.pattern.size; c.budget < 0 {
		c.found.check(false, path, domain.TooLong, "must be shorter: it is too much text for the pattern %s", s.pattern.text)
		return
	}
	c.found.check(s.pattern.matcher.MatchString(text), path, domain.BadFormat, "must match the pattern %s", s.pattern.text)
}

func (c *checker) number(s *shape, path string, value any) {
	n, ok := number(value)
	switch {
	case !ok && kindOf(value) == "a number":
		c.found.check(false, path, domain.TooLarge, "must be a number that a double can hold")
	case !ok:
		c.wrongType(path, "a number", value)
	default:
		c.found.check(n >= s.low, path, domain.TooSmall, "must be at least %s, not %s", plain(s.low), plain(n))
		c.found.check(n <= s.high, path, domain.TooLarge, "must be at most %s, not %s", plain(s.high), plain(n))
		c.found.check(!s.whole || n == math.Trunc(n), path, domain.NotWhole, "must be a whole number, not %s", plain(n))
	}
}

func (c *checker) object(s *shape, path string, value any) {
	object, ok := value.(map[string]any)
	if !ok {
		c.wrongType(path, "an object", value)
		return
	}
	c.members(s.properties, path, object)
	if !s.closed {
		return
	}
	for _, name := range sortedKeys(object) {
		if _, declared := s.properties.fields[name]; !declared {
			c.found.check(false, domain.Member(path, clip(name)), domain.NotAllowed, "must be left out: %s", s.permitted())
		}
		if c.found.full() {
			return
		}
	}
}

// permitted says which properties a closed object may have.
func (s *shape) permitted() string {
	if s.properties.Len() == 0 {
		return "the object has no properties"
	}
	names := make([]any, 0, s.properties.Len())
	for _, name := range s.properties.names {
		names = append(names, name)
	}
	return "the object may have only " + list(names)
}

func (c *checker) members(s Schema, path string, object map[string]any) {
	for name, f := range s.All() {
		if c.found.full() {
			return
		}
		at := domain.Member(path, name)
		if value, present := object[name]; present {
			c.value(f.shape(), at, value)
			continue
		}
		c.found.check(!f.Required() || f.shape().hasDefault, at, domain.Required, "must be given: %s", f.shape().wanted())
	}
}

func (c *checker) array(s *shape, path string, value any) {
	array, ok := value.([]any)
	if !ok {
		c.wrongType(path, "an array", value)
		return
	}
	n := float64(len(array))
	c.found.check(n >= s.low, path, domain.TooShort, "must have at least %s, not %s", quantity(s.low, "item"), plain(n))
	c.found.check(n <= s.high, path, domain.TooLong, "must have at most %s, not %s", quantity(s.high, "item"), plain(n))
	for i, item := range array {
		if c.found.full() {
			return
		}
		c.value(s.items.shape(), domain.Index(path, i), item)
	}
}

func (c *checker) wrongType(path, want string, value any) {
	c.found.check(false, path, domain.WrongType, "must be %s, not %s", want, kindOf(value))
}

// wanted says what an absent value should be.
func (s *shape) wanted() string {
	switch s.kind {
	case String:
		return "a string"
	case Number:
		if s.whole {
			return "a whole number"
		}
		return "a number"
	case Boolean:
		return "true or false"
	case Object:
		return "an object"
	case Array:
		return "an array"
	case Enum:
		if s.dynamic {
			break
		}
		return list(s.values)
	}
	return "any value"
}

// list shows the values that a message offers, the first ones when there are many.
func list(values []any) string {
	const most = 20
	text := ""
	for i, v := range values {
		switch {
		case i == most:
			return text + " or one of " + strconv.Itoa(len(values)-most) + " others"
		case i == 0:
		case i == len(values)-1:
			text += " or "
		default:
			text += ", "
		}
		text += show(v)
	}
	return text
}

// show renders a value in a message: short ones in full, others by their type.
func show(value any) string {
	const longest = 60
	switch v := value.(type) {
	case string:
		if len(v) > longest {
			return "a string of " + strconv.Itoa(utf8.RuneCountInString(v)) + " characters"
		}
		return strconv.Quote(v)
	case bool:
		return strconv.FormatBool(v)
	}
	if f, ok := number(value); ok {
		return plain(f)
	}
	return kindOf(value)
}
