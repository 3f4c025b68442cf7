package node

import (
	"math"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/domain"
)

// maxDescription bounds the description of a node or a field, in characters.
const maxDescription = 1000

// ParseSchema makes a [Schema] of what an author declared. Every violation, up to
// [MaxFindings], is recorded in r under path ("inputSchema" gives
// "inputSchema.email.minLength"); the result then is as much as could be
// understood and must not be used. Fields have names of 1 to 255 characters.
func ParseSchema(r *domain.Rules, path string, declared Declarations) Schema {
	p := &parser{found: newFindings(r), base: path}
	return p.schema(path, declared, 1)
}

// ParseField makes a [FieldSchema] of what an author declared. Every violation is
// recorded in r under path, as [ParseSchema] does.
func ParseField(r *domain.Rules, path string, declared Declaration) FieldSchema {
	p := &parser{found: newFindings(r), base: path}
	return p.field(path, declared, 1)
}

// restoreSchema trusts the declarations, which a [Schema] gave before. A rule that
// came later drops the member it forbids, not the schema.
func restoreSchema(declared Declarations) Schema {
	var r domain.Rules
	return ParseSchema(&r, "", declared)
}

// restoreField trusts one declaration.
func restoreField(declared Declaration) FieldSchema {
	var r domain.Rules
	return ParseField(&r, "", declared)
}

type parser struct {
	found   *findings
	base    string // the path that violations of the whole are reported under
	fields  int
	program int // summed sizes of the compiled patterns
}

func (p *parser) schema(path string, declared Declarations, depth int) Schema {
	s := Schema{fields: make(map[string]FieldSchema, len(declared))}
	for _, d := range declared {
		at := domain.Member(path, clip(d.Name))
		if d.Name == "" {
			at = path + `[""]`
		}
		p.found.text(d.Name, at, 1, maxName)
		if _, again := s.fields[d.Name]; again {
			p.found.check(false, at, domain.Duplicate, "must be declared once")
			continue
		}
		s.names = append(s.names, d.Name)
		s.fields[d.Name] = p.field(at, d.Declaration, depth)
	}
	return s
}

func (p *parser) field(path string, d Declaration, depth int) FieldSchema {
	p.fields++
	if depth > MaxDepth {
		p.found.check(false, path, domain.TooLong, "must be nested at most %d levels deep", MaxDepth)
		return FieldSchema{}
	}
	if p.fields > MaxFields {
		p.found.check(false, p.base, domain.TooLong, "must declare at most %d fields", MaxFields)
		return FieldSchema{}
	}
	sound := p.found.count
	s := &shape{kind: d.Type, required: isTrue(d.Required), low: math.Inf(-1), high: math.Inf(1)}
	p.common(path, d)
	p.extra(path, d.Extra)
	switch d.Type {
	case String:
		s.low, s.high = p.sizes(path, "minLength", d.MinLength, "maxLength", d.MaxLength)
		s.pattern = p.pattern(path, d.Pattern)
	case Number:
		s.low, s.high = p.bounds(path, "min", d.Min, "max", d.Max)
		s.whole = isTrue(d.Integer)
	case Object:
		s.properties = p.schema(domain.Member(path, "properties"), d.Properties, depth+1)
		s.closed = d.AdditionalProperties != nil && !*d.AdditionalProperties
	case Array:
		s.low, s.high = p.sizes(path, "minItems", d.MinItems, "maxItems", d.MaxItems)
		if d.Items != nil {
			s.items = p.field(domain.Member(path, "items"), *d.Items, depth+1)
		}
	case Enum:
		s.dynamic = d.isDynamic()
		p.values(s, domain.Member(path, "enum"), d.Enum)
	}
	if !d.Type.Valid() {
		s.kind = Any
	}
	p.defaultOf(s, domain.Member(path, "default"), d.Default, p.found.count == sound)
	s.declared = d.Clone()
	return FieldSchema{s}
}

// common checks the type, the description and that every member written belongs
// to the type.
func (p *parser) common(path string, d Declaration) {
	at := domain.Member(path, "type")
	p.found.check(d.Type != "", at, domain.Required, "must be %s", domain.OneOf(FieldTypes()...))
	p.found.check(d.Type == "" || d.Type.Valid(), at, domain.NotAllowed, "must be %s, not %q",
		domain.OneOf(FieldTypes()...), clip(string(d.Type)))
	if d.Description != nil {
		p.found.text(*d.Description, domain.Member(path, "description"), 0, maxDescription)
	}
	if !d.Type.Valid() {
		return
	}
	own := ownMembers[d.Type]
	for _, name := range d.written() {
		if !slices.Contains(own, name) {
			p.found.check(false, domain.Member(path, name), domain.NotAllowed,
				"must be left out: a field of type %q has only the members %s",
				d.Type, strings.Join(append(slices.Clone(commonMembers), own...), ", "))
		}
	}
}

// sizes checks bounds of a length or a count: whole and not negative.
func (p *parser) sizes(path, lowName string, low *float64, highName string, high *float64) (from, to float64) {
	for _, b := range []struct {
		name  string
		value *float64
	}{{lowName, low}, {highName, high}} {
		if b.value != nil {
			at := domain.Member(path, b.name)
			p.found.check(!(*b.value < 0), at, domain.TooSmall, "must be at least 0, not %s", plain(*b.value))
			p.found.check(*b.value == math.Trunc(*b.value), at, domain.NotWhole, "must be a whole number, not %s", plain(*b.value))
		}
	}
	return p.bounds(path, lowName, low, highName, high)
}

// bounds checks that bounds are finite and in order.
func (p *parser) bounds(path, lowName string, low *float64, highName string, high *float64) (from, to float64) {
	from, to = math.Inf(-1), math.Inf(1)
	if low != nil {
		from = *low
		p.found.check(isFinite(from), domain.Member(path, lowName), domain.WrongType, "must be a finite number")
	}
	if high != nil {
		to = *high
		p.found.check(isFinite(to), domain.Member(path, highName), domain.WrongType, "must be a finite number")
		p.found.check(!(from > to), domain.Member(path, highName), domain.Conflicting,
			"must be at least %s, which is %s, not %s", lowName, plain(from), plain(to))
	}
	return from, to
}

func (p *parser) values(s *shape, path string, literals []Literal) {
	p.found.check(len(literals) > 0 || s.dynamic, path, domain.Required, "must list at least one allowed value, unless dynamic is true")
	s.allowed = make(map[string]struct{}, len(literals))
	s.values = make([]any, 0, len(literals))
	for i, l := range literals {
		at := domain.Index(path, i)
		value, ok := p.literal(at, l)
		if !ok {
			continue
		}
		text, _ := canonical(value)
		if _, again := s.allowed[text]; again {
			p.found.check(false, at, domain.Duplicate, "must differ from the values before it")
			continue
		}
		s.allowed[text] = struct{}{}
		s.values = append(s.values, value)
	}
}

// defaultOf parses the default and, when the schema itself is sound, checks the
// default against it.
func (p *parser) defaultOf(s *shape, path string, l Literal, sound bool) {
	if l == nil {
		return
	}
	value, ok := p.literal(path, l)
	if !ok {
		return
	}
	if sound {
		(&checker{found: p.found, budget: matchBudget}).value(s, path, value)
	}
	s.hasDefault, s.defaultValue = true, value
}

// literal parses a value that the author wrote.
func (p *parser) literal(path string, l Literal) (value any, ok bool) {
	value, err := l.value()
	if err != nil {
		p.found.check(false, path, domain.BadFormat, "must be one JSON value whose numbers a double can hold")
		return nil, false
	}
	p.found.check(!holdsNUL(value), path, domain.BadText, "must not contain the character U+0000")
	return value, true
}

func isTrue(b *bool) bool { return b != nil && *b }

func isFinite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
