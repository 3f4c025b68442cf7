package hook

import (
	"bytes"
	"encoding/json"

	"github.com/sluicehq/sluice/domain"
)

// itemsName is the name of all items of an array in a path.
const itemsName = "[]"

// replaceAt puts a value in the place of another one in valid JSON, wherever the path leads; everything else stays as it is. A
// path goes on in a string that is itself JSON.
func replaceAt(text []byte, path []string, value []byte) []byte {
	if len(path) == 0 {
		return value
	}
	at := domain.SkipSpace(text, 0)
	switch {
	case at == len(text):
		return text
	case text[at] == '"':
		var inside string
		if json.Unmarshal(text, &inside) != nil || !json.Valid([]byte(inside)) {
			return text
		}
		if replaced := replaceAt([]byte(inside), path, value); string(replaced) != inside {
			return quoted(string(replaced))
		}
		return text
	case text[at] == '{' && path[0] != itemsName, text[at] == '[' && path[0] == itemsName:
	default:
		return text
	}
	isObject := text[at] == '{'
	var out bytes.Buffer
	done := 0 // up to where the text was taken over
	for at = domain.SkipSpace(text, at+1); text[at] != '}' && text[at] != ']'; {
		follow := true
		if isObject {
			end := domain.EndOfString(text, at) + 1
			var name string
			follow = json.Unmarshal(text[at:end], &name) == nil && name == path[0]
			at = domain.SkipSpace(text, domain.SkipSpace(text, end)+1)
		}
		end := valueEnd(text, at)
		if follow {
			out.Write(text[done:at])
			out.Write(replaceAt(text[at:end], path[1:], value))
			done = end
		}
		if at = domain.SkipSpace(text, end); text[at] == ',' {
			at = domain.SkipSpace(text, at+1)
		}
	}
	out.Write(text[done:])
	return out.Bytes()
}

// valueEnd is where the value that begins at the place is over.
func valueEnd(text []byte, at int) int {
	depth := 0
	for ; at < len(text); at++ {
		switch text[at] {
		case '"':
			at = domain.EndOfString(text, at)
			if depth == 0 {
				return at + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return at
			}
			if depth == 0 {
				return at + 1
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return at
			}
		}
	}
	return at
}
