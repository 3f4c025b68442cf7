package trigger

import (
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/sluicehq/sluice/domain"
)

var errNoObject = errors.New("the text is not one JSON object")

// member is a member of an object: its name, and the text of its value.
type member struct{ name, value string }

// object holds the members of one, as they were written.
type object []member

// lookUp returns the text of a member, of several with one name the last.
func (o object) lookUp(name string) (value string, present bool) {
	for i := len(o) - 1; i >= 0; i-- {
		if o[i].name == name {
			return o[i].value, true
		}
	}
	return "", false
}

// membersOf returns the members of an object. It is valid JSON, as the text of every
// domain.Document is: its structure is followed, but what the members hold is not
// looked at, and nothing is copied. encoding/json takes twenty times as long for the
// same.
func membersOf(text string) (object, error) {
	at := domain.SkipSpace(text, 0)
	if at == len(text) || text[at] != '{' {
		return nil, errNoObject
	}
	all := make(object, 0, 8)
	for at = domain.SkipSpace(text, at+1); at < len(text) && text[at] == '"'; {
		end := stringEnd(text, at)
		name, err := unquoted(text[at:end])
		if err != nil {
			return nil, err
		}
		at = domain.SkipSpace(text, end)
		if at == len(text) || text[at] != ':' {
			return nil, errNoObject
		}
		at = domain.SkipSpace(text, at+1)
		end = valueEnd(text, at)
		all = append(all, member{name, text[at:end]})
		if at = domain.SkipSpace(text, end); at == len(text) {
			return nil, errNoObject
		}
		if text[at] == '}' {
			return all, nil
		}
		at = domain.SkipSpace(text, at+1) // behind the comma
	}
	if at < len(text) && text[at] == '}' {
		return all, nil
	}
	return nil, errNoObject
}

// unquoted reads a string in its quotes.
func unquoted(quoted string) (string, error) {
	if strings.IndexByte(quoted, '\\') >= 0 || !utf8.ValidString(quoted) {
		return unescaped(quoted)
	}
	if len(quoted) < 2 {
		return "", errNoObject
	}
	return quoted[1 : len(quoted)-1], nil
}

// unescaped is for the few that hold something special: only they need memory.
func unescaped(quoted string) (text string, err error) {
	err = json.Unmarshal([]byte(quoted), &text)
	return text, err
}

// stringEnd is where the string that begins at the place is over.
func stringEnd(text string, at int) int { return min(domain.EndOfString(text, at)+1, len(text)) }

// valueEnd is where the value that begins at the place is over.
func valueEnd(text string, at int) int {
	depth := 0
	for at < len(text) {
		switch text[at] {
		case '"':
			if at = stringEnd(text, at); depth == 0 {
				return at
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return at // the end of what holds a number or word
			}
			if depth--; depth == 0 {
				return at + 1
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return at
			}
		}
		at++
	}
	return at
}
