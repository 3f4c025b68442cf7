package domain

import (
	"encoding/json"
	"regexp"
	"strings"
)

// What a double can hold, which is the range of numbers that programs agree on (RFC 7493, §2.2).
const (
	GreatestDouble = "1.7976931348623157e+308"
	LeastDouble    = "-1.7976931348623157e+308"
)

// EndOfString is the place of the quote that ends the string of a JSON text that begins with the
// one at a place; no place of a text that breaks off.
func EndOfString[T string | []byte](text T, at int) int {
	for at++; at < len(text) && text[at] != '"'; at++ {
		if text[at] == '\\' {
			at++
		}
	}
	return at
}

// SkipSpace is the first place of a JSON text, from one on, that holds no white space.
func SkipSpace[T string | []byte](text T, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\n' || text[at] == '\t' || text[at] == '\r') {
		at++
	}
	return at
}

// Clip shortens a client's text for a message to so many characters.
func Clip(text string, most int) string {
	n := 0
	for i := range text {
		if n == most {
			return text[:i] + "…"
		}
		n++
	}
	return text
}

// decimalSpelling has the sign, the digits before the point, those behind it with and without
// any before it, and the exponent.
var decimalSpelling = regexp.MustCompile(`^([+-]?)(?:0*([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))([eE][+-]?[0-9]+)?$`)

// ReadDecimal returns the number that a text spells as people and forms do, such as .5, +5, 1. or
// 05, with spaces around it: in the spelling of JSON.
func ReadDecimal(text string) (n json.Number, ok bool) {
	m := decimalSpelling.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return "", false
	}
	sign, whole, fraction, exponent := strings.TrimPrefix(m[1], "+"), m[2], m[3]+m[4], m[5]
	if whole == "" {
		whole = "0"
	}
	if fraction != "" {
		fraction = "." + fraction
	}
	return json.Number(sign + whole + fraction + exponent), true
}
