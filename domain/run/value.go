package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// maxDepth bounds how deep a value nests that a node gives. encoding/json reads nothing
// that nests deeper than 10,000, and the state of a run nests its outputs in further
// levels; requests and answers nest less.
const maxDepth = 512

// ReadValue reads one JSON value as expressions see it, with its numbers as they are spelled.
func ReadValue(text json.RawMessage) (any, error) { return parse(text) }

// WriteValue writes what expressions give.
func WriteValue(value any) (json.RawMessage, error) { return appendValue(nil, value) }

// Holds says whether what an expression gives is true, or counts as true in JavaScript.
func Holds(value any) bool { return truthy(value) }

// appendValue writes a JSON tree: members sorted by name, no spaces, numbers as
// encoding/json writes them and a json.Number as it is spelled. A json.RawMessage
// within the tree is written in the same way.
func appendValue(b []byte, value any) ([]byte, error) { return appendDeep(b, value, maxDepth) }

func appendDeep(b []byte, value any, depth int) ([]byte, error) {
	if depth == 0 {
		return nil, fmt.Errorf("it nests deeper than %d", maxDepth)
	}
	switch v := value.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case string:
		return appendText(b, v), nil
	case float64:
		return appendNumber(b, v)
	case int:
		return strconv.AppendInt(b, int64(v), 10), nil
	case json.Number:
		if !validNumber(string(v)) {
			return nil, fmt.Errorf("%q is no number", string(v))
		}
		return append(b, v...), nil
	case json.RawMessage:
		return appendCanonical(b, v, depth)
	case []any:
		return appendArray(b, v, depth)
	case map[string]any:
		return appendObject(b, v, depth)
	}
	return nil, fmt.Errorf("a %T is no JSON value", value)
}

func appendArray(b []byte, elems []any, depth int) (_ []byte, err error) {
	b = append(b, '[')
	for i, e := range elems {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendDeep(b, e, depth-1); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

func appendObject(b []byte, members map[string]any, depth int) (_ []byte, err error) {
	var few [16]string
	names := slices.AppendSeq(few[:0], maps.Keys(members))
	slices.Sort(names)
	b = append(b, '{')
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendText(b, name), ':')
		if b, err = appendDeep(b, members[name], depth-1); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

func appendNumber(b []byte, f float64) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("%v is no JSON number", f)
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	start := len(b)
	b = strconv.AppendFloat(b, f, format, -1, 64)
	if n := len(b); format == 'e' && n-start >= 4 && b[n-4] == 'e' && b[n-3] == '-' && b[n-2] == '0' {
		b[n-2] = b[n-1] // e-09 is e-9
		b = b[:n-1]
	}
	return b, nil
}

// appendText writes a JSON string. What is not UTF-8 becomes U+FFFD.
func appendText(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				b = append(append(b, s[start:i]...), "\ufffd"...)
				start = i + 1
			}
			i += size
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, s[start:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		start = i
	}
	return append(append(b, s[start:]...), '"')
}

func validNumber(s string) bool {
	return s != "" && (s[0] == '-' || '0' <= s[0] && s[0] <= '9') && json.Valid([]byte(s)) && s[len(s)-1] > ' '
}

// parse reads one JSON value with its numbers as they are spelled.
func parse(text json.RawMessage) (value any, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err = dec.Decode(&value); err != nil {
		return nil, fmt.Errorf("it is not the text of a JSON value: %w", err)
	}
	if dec.InputOffset() != int64(len(bytes.TrimRight(text, " \t\r\n"))) {
		return nil, fmt.Errorf("it is more than the text of one JSON value")
	}
	return value, nil
}

// truthy says whether a condition of JavaScript holds for the value. NaN and
// undefined, which are no JSON values, arrive as null.
func truthy(value any) bool {
	switch v := value.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case float64:
		return v != 0 && !math.IsNaN(v)
	case json.Number:
		f, ok := double(v)
		return ok && f != 0
	}
	return true
}

// double returns the double of a JSON number; one that is too large is infinite.
func double(value any) (float64, bool) {
	switch v := value.(type) {
	case float64:
		return v, true
	case json.Number:
		f, err := strconv.ParseFloat(string(v), 64)
		return f, err == nil || math.IsInf(f, 0)
	}
	return 0, false
}

// equal says whether two JSON values are the same: numbers by their doubles,
// objects and arrays by what they hold.
func equal(a, b any) bool {
	if x, ok := double(a); ok {
		y, isNumber := double(b)
		return isNumber && x == y
	}
	switch x := a.(type) {
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, equal)
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && maps.EqualFunc(x, y, equal)
	case nil, bool, string:
		switch b.(type) {
		case nil, bool, string:
			return a == b
		}
	}
	return false
}

// kindOf names the JSON type of a value with its article, for a message.
func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case []any:
		return "an array"
	case map[string]any:
		return "an object"
	}
	return "a number"
}
