package node

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/sluicehq/sluice/domain"
)

// ReadDeclarations reads the JSON text of one object of field schemas, keeping the order of
// the fields. Members of a wrong JSON type or written twice are recorded in r under path
// ("inputSchema" gives "inputSchema.email.minLength") and count as left out. null is a wrong
// type, except as a default or a listed value. Unknown members are kept. What the fields
// mean is checked by [ParseSchema].
func ReadDeclarations(r *domain.Rules, path string, text []byte) Declarations {
	rd, ok := newReader(r, path, text)
	if !ok {
		return nil
	}
	return rd.declarations(path, 1)
}

// UnmarshalJSON reads an object of field schemas as [ReadDeclarations] does. The
// error is of the kind Invalid with the code schema_invalid and carries every
// violation.
func (ds *Declarations) UnmarshalJSON(text []byte) error {
	var r domain.Rules
	read := ReadDeclarations(&r, "", text)
	if err := r.Err("schema_invalid", "The schema is not valid."); err != nil {
		return err
	}
	*ds = read
	return nil
}

// UnmarshalJSON reads one field schema. The error is of the kind Invalid with the
// code schema_invalid and carries every violation.
func (d *Declaration) UnmarshalJSON(text []byte) error {
	var r domain.Rules
	var read Declaration
	if rd, ok := newReader(&r, "", text); ok {
		read, _ = rd.declaration("", 1)
	}
	if err := r.Err("schema_invalid", "The schema is not valid."); err != nil {
		return err
	}
	*d = read
	return nil
}

// reader walks the text once, whatever its nesting.
type reader struct {
	dec    *json.Decoder
	found  *findings
	base   string // the path that violations of the whole are reported under
	fields int
}

func newReader(r *domain.Rules, path string, text []byte) (*reader, bool) {
	found := newFindings(r)
	found.check(utf8.Valid(text), path, domain.BadText, "must be valid UTF-8")
	found.check(json.Valid(text), path, domain.BadFormat, "must be JSON")
	return &reader{dec: json.NewDecoder(bytes.NewReader(text)), found: found, base: path}, found.none()
}

// declarations reads an object of field schemas; nil when it is none.
func (rd *reader) declarations(path string, depth int) Declarations {
	if !rd.open(path, "an object that maps each field's name to its schema") {
		return nil
	}
	out := Declarations{}
	for rd.dec.More() {
		name := rd.name()
		if !rd.allowsField(path, depth) {
			rd.raw()
			continue
		}
		if d, ok := rd.declaration(domain.Member(path, clip(name)), depth); ok {
			out = append(out, DeclaredField{Name: name, Declaration: d})
		}
	}
	rd.token()
	return out
}

// declaration reads one field schema; ok is false when it is no object.
func (rd *reader) declaration(path string, depth int) (d Declaration, ok bool) {
	if !rd.open(path, "a field schema, such as {\"type\": \"string\"}") {
		return Declaration{}, false
	}
	seen := make(map[string]bool)
	for rd.dec.More() {
		name := rd.name()
		rd.found.check(!seen[name], domain.Member(path, clip(name)), domain.Duplicate, "must be written once")
		seen[name] = true
		rd.member(&d, path, name, depth)
	}
	rd.token()
	return d, true
}

// allowsField says whether the schema may hold one more field at this depth.
func (rd *reader) allowsField(path string, depth int) bool {
	rd.fields++
	rd.found.check(depth <= MaxDepth, path, domain.TooLong, "must be nested at most %d levels deep", MaxDepth)
	rd.found.check(rd.fields <= MaxFields, rd.base, domain.TooLong, "must declare at most %d fields", MaxFields)
	return depth <= MaxDepth && rd.fields <= MaxFields
}

func (rd *reader) member(d *Declaration, path, name string, depth int) {
	at := domain.Member(path, name)
	switch name {
	case "type":
		if t := scalar[FieldType](rd, at, "a string"); t != nil {
			d.Type = *t
		}
	case "description":
		d.Description = scalar[string](rd, at, "a string")
	case "required":
		d.Required = scalar[bool](rd, at, "true or false")
	case "default":
		d.Default = Literal(rd.raw())
	case "minLength":
		d.MinLength = scalar[float64](rd, at, "a number")
	case "maxLength":
		d.MaxLength = scalar[float64](rd, at, "a number")
	case "pattern":
		d.Pattern = scalar[string](rd, at, "a string")
	case "min":
		d.Min = scalar[float64](rd, at, "a number")
	case "max":
		d.Max = scalar[float64](rd, at, "a number")
	case "integer":
		d.Integer = scalar[bool](rd, at, "true or false")
	case "properties":
		d.Properties = rd.declarations(at, depth+1)
	case "additionalProperties":
		d.AdditionalProperties = scalar[bool](rd, at, "true or false")
	case "items":
		d.Items = rd.items(at, depth+1)
	case "minItems":
		d.MinItems = scalar[float64](rd, at, "a number")
	case "maxItems":
		d.MaxItems = scalar[float64](rd, at, "a number")
	case "enum":
		d.Enum = rd.literals(at)
	default:
		d.Extra = append(d.Extra, ExtraMember{Name: name, Value: Literal(rd.raw())})
	}
}

func (rd *reader) items(path string, depth int) *Declaration {
	if !rd.allowsField(path, depth) {
		rd.raw()
		return nil
	}
	d, ok := rd.declaration(path, depth)
	if !ok {
		return nil
	}
	return &d
}

func (rd *reader) literals(path string) []Literal {
	raw := rd.raw()
	if raw[0] != '[' {
		rd.wrongType(path, "an array of the allowed values", raw)
		return nil
	}
	out := []Literal{}
	if err := json.Unmarshal(raw, &out); err != nil {
		rd.found.check(false, path, domain.BadFormat, "must be an array of JSON values")
	}
	return out
}

// scalar reads a string, number or boolean; nil when it is something else, which
// is recorded.
func scalar[T ~string | ~float64 | ~bool](rd *reader, path, want string) *T {
	raw := rd.raw()
	var value *T
	if err := json.Unmarshal(raw, &value); err != nil || value == nil {
		if kindOfText(raw) == "a number" && want == "a number" {
			rd.found.check(false, path, domain.TooLarge, "must be a number that a double can hold")
			return nil
		}
		rd.wrongType(path, want, raw)
		return nil
	}
	return value
}

// open consumes the brace of an object, or the whole of any other value, which is
// recorded.
func (rd *reader) open(path, want string) bool {
	switch t := rd.token().(type) {
	case json.Delim:
		if t == '{' {
			return true
		}
		rd.found.check(false, path, domain.WrongType, "must be %s, not an array", want)
		for rd.dec.More() {
			rd.raw()
		}
		rd.token()
	default:
		rd.found.check(false, path, domain.WrongType, "must be %s, not %s", want, kindOf(t))
	}
	return false
}

func (rd *reader) wrongType(path, want string, raw json.RawMessage) {
	rd.found.check(false, path, domain.WrongType, "must be %s, not %s", want, kindOfText(raw))
}

// The text was found valid before, so the decoder has no error to give.

func (rd *reader) token() json.Token {
	t, _ := rd.dec.Token()
	return t
}

func (rd *reader) name() string {
	name, _ := rd.token().(string)
	return name
}

func (rd *reader) raw() json.RawMessage {
	raw := json.RawMessage("null")
	_ = rd.dec.Decode(&raw)
	return raw
}

// kindOfText names the JSON type of a value's text.
func kindOfText(raw json.RawMessage) string {
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}
