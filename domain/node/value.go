package node

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// kindOf names the JSON type of a value with its article, for a message.
func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case float64, json.Number:
		return "a number"
	case bool:
		return "a boolean"
	case map[string]any:
		return "an object"
	case []any:
		return "an array"
	}
	return fmt.Sprintf("a %T, which is no JSON value", value)
}

// number returns the double of a JSON number. ok is false for anything else, and
// for a number that a double cannot hold.
func number(value any) (f float64, ok bool) {
	switch v := value.(type) {
	case float64:
		f = v
	case json.Number:
		var err error
		if f, err = strconv.ParseFloat(string(v), 64); err != nil {
			return 0, false
		}
	default:
		return 0, false
	}
	return f, !math.IsNaN(f) && !math.IsInf(f, 0)
}

// value parses the text of a literal.
func (l Literal) value() (any, error) {
	var v any
	err := json.Unmarshal(l, &v)
	return v, err
}

// canonical writes a value so that two texts are equal exactly when the values
// are: members sorted, numbers by value. ok is false for what is no JSON value.
func canonical(value any) (text string, ok bool) {
	var b strings.Builder
	ok = writeCanonical(&b, value)
	return b.String(), ok
}

func writeCanonical(b *strings.Builder, value any) bool {
	switch v := value.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case string:
		b.WriteString(strconv.Quote(v))
	case float64, json.Number:
		f, ok := number(v)
		if !ok {
			return false
		}
		if f == 0 {
			f = 0 // -0 equals 0
		}
		b.WriteString(strconv.FormatFloat(f, 'g', -1, 64))
	case []any:
		b.WriteByte('[')
		for _, e := range v {
			if !writeCanonical(b, e) {
				return false
			}
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')
		for _, name := range sortedKeys(v) {
			b.WriteString(strconv.Quote(name))
			b.WriteByte(':')
			if !writeCanonical(b, v[name]) {
				return false
			}
			b.WriteByte(',')
		}
		b.WriteByte('}')
	default:
		return false
	}
	return true
}

// isJSON says whether the value and everything within it is a JSON value.
func isJSON(value any) bool {
	switch v := value.(type) {
	case nil, bool, string:
		return true
	case []any:
		return !slices.ContainsFunc(v, func(e any) bool { return !isJSON(e) })
	case map[string]any:
		for _, member := range v {
			if !isJSON(member) {
				return false
			}
		}
		return true
	}
	_, ok := number(value)
	return ok
}

// plain writes a number as a person would: 1000000 and not 1e+06.
func plain(f float64) string {
	if math.Abs(f) < 1e21 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// quantity writes a number with the noun it counts: "1 item", "2 items". Without
// a noun it is the number alone.
func quantity(n float64, noun string) string {
	switch {
	case noun == "":
		return plain(n)
	case n == 1:
		return plain(n) + " " + noun
	}
	return plain(n) + " " + noun + "s"
}

// cloneValue returns a copy that shares no map or slice with the original.
func cloneValue(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			out[name] = cloneValue(member)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = cloneValue(e)
		}
		return out
	}
	return value
}

// holdsNUL says whether a string or a name within the value holds U+0000, which
// not every store can keep.
func holdsNUL(value any) bool {
	switch v := value.(type) {
	case string:
		return strings.ContainsRune(v, 0)
	case []any:
		for _, e := range v {
			if holdsNUL(e) {
				return true
			}
		}
	case map[string]any:
		for name, member := range v {
			if strings.ContainsRune(name, 0) || holdsNUL(member) {
				return true
			}
		}
	}
	return false
}
