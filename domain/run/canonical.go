package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sluicehq/sluice/domain"
)

// appendCanonical writes a JSON text as [appendValue] writes the value that it holds,
// without reading it into a tree, which could take fifty times as much memory.
func appendCanonical(b []byte, text json.RawMessage, depth int) ([]byte, error) {
	if !json.Valid(text) {
		_, err := parse(text) // says what is wrong
		return nil, err
	}
	c := &canonical{text: text}
	return c.value(b, depth)
}

// canonical goes through a valid text.
type canonical struct {
	text []byte
	at   int
}

// next skips white space and returns the character there.
func (c *canonical) next() byte {
	c.at = domain.SkipSpace(c.text, c.at)
	return c.text[c.at]
}

func (c *canonical) value(b []byte, depth int) ([]byte, error) {
	if depth == 0 {
		return nil, fmt.Errorf("it nests deeper than %d", maxDepth)
	}
	var start int
	switch first := c.next(); first {
	case '{':
		return c.object(b, depth)
	case '[':
		return c.array(b, depth)
	case '"':
		start, c.at = c.at, domain.EndOfString(c.text, c.at)+1
		return appendQuoted(b, c.text[start:c.at]), nil
	case 't', 'n':
		start, c.at = c.at, c.at+4
	case 'f':
		start, c.at = c.at, c.at+5
	default:
		start, c.at = c.at, endOfNumber(c.text, c.at)
	}
	return append(b, c.text[start:c.at]...), nil
}

func (c *canonical) array(b []byte, depth int) (_ []byte, err error) {
	b = append(b, '[')
	c.at++
	for n := 0; c.next() != ']'; n++ {
		if n > 0 {
			c.at++ // the comma
			b = append(b, ',')
		}
		if b, err = c.value(b, depth-1); err != nil {
			return nil, err
		}
	}
	c.at++
	return append(b, ']'), nil
}

// member is where a member of an object stands in what was written.
type member struct{ from, colon, to int }

// object writes the members in the order of the text and puts them in that of their names
// afterwards, where it differs. Of those with the same name the last one stays.
func (c *canonical) object(b []byte, depth int) (_ []byte, err error) {
	b = append(b, '{')
	c.at++
	start := len(b)
	var few [16]member
	members, ordered := few[:0], true
	for c.next() != '}' {
		if len(members) > 0 {
			c.at++ // the comma
			c.next()
			b = append(b, ',')
		}
		m := member{from: len(b)}
		end := domain.EndOfString(c.text, c.at) + 1
		b = appendQuoted(b, c.text[c.at:end])
		m.colon, c.at = len(b), end
		c.next()
		c.at++ // the colon
		b = append(b, ':')
		if b, err = c.value(b, depth-1); err != nil {
			return nil, err
		}
		m.to = len(b)
		if n := len(members); n > 0 {
			ordered = ordered && compareNames(b, members[n-1], m) < 0
		}
		members = append(members, m)
	}
	c.at++
	if !ordered {
		b = inOrder(b, start, members)
	}
	return append(b, '}'), nil
}

func inOrder(b []byte, start int, members []member) []byte {
	slices.SortStableFunc(members, func(x, y member) int { return compareNames(b, x, y) })
	sorted := make([]byte, 0, len(b)-start)
	for i, m := range members {
		if i+1 < len(members) && compareNames(b, m, members[i+1]) == 0 {
			continue // a later one has its name
		}
		if len(sorted) > 0 {
			sorted = append(sorted, ',')
		}
		sorted = append(sorted, b[m.from:m.to]...)
	}
	return append(b[:start], sorted...)
}

// compareNames orders names as they are, and not as they are escaped.
func compareNames(b []byte, x, y member) int {
	p, q := b[x.from+1:x.colon-1], b[y.from+1:y.colon-1]
	if bytes.IndexByte(p, '\\') < 0 && bytes.IndexByte(q, '\\') < 0 {
		return bytes.Compare(p, q)
	}
	return bytes.Compare(unquoted(nil, p), unquoted(nil, q))
}

// appendQuoted writes a string of JSON as [appendText] writes what it stands for.
func appendQuoted(b, quoted []byte) []byte {
	if plain(quoted) {
		return append(b, quoted...)
	}
	return appendText(b, string(unquoted(nil, quoted[1:len(quoted)-1])))
}

// plain says whether a quoted string is spelled as [appendText] spells it: escapes are
// looked at, since there are several for one character.
func plain(quoted []byte) bool {
	return bytes.IndexByte(quoted, '\\') < 0 && utf8.Valid(quoted)
}

// unquoted appends what the inside of a quoted string stands for. Half of a surrogate pair
// becomes U+FFFD, as in encoding/json.
func unquoted(b, inside []byte) []byte {
	for i := 0; i < len(inside); i++ {
		if inside[i] != '\\' {
			b = append(b, inside[i])
			continue
		}
		i++
		switch c := inside[i]; c {
		case 'b':
			b = append(b, '\b')
		case 'f':
			b = append(b, '\f')
		case 'n':
			b = append(b, '\n')
		case 'r':
			b = append(b, '\r')
		case 't':
			b = append(b, '\t')
		case 'u':
			r := codeUnit(inside[i+1:])
			i += 4
			if utf16.IsSurrogate(r) {
				pair := rune(utf8.RuneError)
				if i+2 < len(inside) && inside[i+1] == '\\' && inside[i+2] == 'u' {
					pair = utf16.DecodeRune(r, codeUnit(inside[i+3:]))
				}
				if r = pair; pair != utf8.RuneError {
					i += 6
				}
			}
			b = utf8.AppendRune(b, r)
		default: // " \ /
			b = append(b, c)
		}
	}
	return b
}

// codeUnit reads the four digits of an escape.
func codeUnit(digits []byte) (r rune) {
	for _, c := range digits[:4] {
		switch {
		case c <= '9':
			r = r<<4 | rune(c-'0')
		default:
			r = r<<4 | rune(c|0x20-'a'+10)
		}
	}
	return r
}
