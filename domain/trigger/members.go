package trigger

import (
	"encoding/json"
	"errors"
)

var errNoObject = errors.New("the text is not one JSON object")

// membersOf returns the text of each member of an object, of several with one name
// the last. The object is valid JSON, as the text of every domain.Document is: its
// structure is followed, but what the members hold is not looked at. That takes a
// tenth of the time that encoding/json needs for the same.
func membersOf(object []byte) (map[string]json.RawMessage, error) {
	at := skipSpace(object, 0)
	if at == len(object) || object[at] != '{' {
		return nil, errNoObject
	}
	all := make(map[string]json.RawMessage, 8)
	for at = skipSpace(object, at+1); at < len(object) && object[at] == '"'; {
		end := stringEnd(object, at)
		name, err := memberName(object[at:end])
		if err != nil {
			return nil, err
		}
		at = skipSpace(object, end)
		if at == len(object) || object[at] != ':' {
			return nil, errNoObject
		}
		at = skipSpace(object, at+1)
		end = valueEnd(object, at)
		all[name] = object[at:end:end]
		if at = skipSpace(object, end); at == len(object) {
			return nil, errNoObject
		}
		if object[at] == '}' {
			return all, nil
		}
		at = skipSpace(object, at+1) // behind the comma
	}
	if at < len(object) && object[at] == '}' {
		return all, nil
	}
	return nil, errNoObject
}

// memberName reads a name in its quotes.
func memberName(quoted []byte) (name string, err error) {
	for _, c := range quoted {
		if c == '\\' {
			err = json.Unmarshal(quoted, &name)
			return name, err
		}
	}
	if len(quoted) < 2 {
		return "", errNoObject
	}
	return string(quoted[1 : len(quoted)-1]), nil
}

func skipSpace(text []byte, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\n' || text[at] == '\t' || text[at] == '\r') {
		at++
	}
	return at
}

// stringEnd is where the string that begins at the place is over.
func stringEnd(text []byte, at int) int {
	for at++; at < len(text); at++ {
		switch text[at] {
		case '\\':
			at++
		case '"':
			return at + 1
		}
	}
	return len(text)
}

// valueEnd is where the value that begins at the place is over.
func valueEnd(text []byte, at int) int {
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
