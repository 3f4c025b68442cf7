package hook

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sluicehq/sluice/domain"
)

// maxJSONDepth is how deep a body may nest, as deep as what a node gives.
const maxJSONDepth = 512

// readJSON keeps the text as it is: order, repeated members and the spelling of numbers.
func readJSON(body []byte, charset string) (json.RawMessage, error) {
	text, ok := decodeText(body, charset)
	switch {
	case !ok:
		return nil, unreadable("The body must be JSON in UTF-8.")
	case jsonDepth(text) > maxJSONDepth:
		return nil, unreadable("The JSON of the body must be nested at most %d levels deep.", maxJSONDepth)
	case !json.Valid([]byte(text)):
		return nil, unreadable("The body must be JSON, as its content type says.")
	}
	if wrong := checkJSON(text); wrong != "" {
		return nil, unreadable("%s", wrong)
	}
	return json.RawMessage(strings.TrimSpace(text)), nil
}

func jsonDepth(text string) int {
	depth, deepest := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = domain.EndOfString(text, i)
		case '[', '{':
			depth++
			deepest = max(deepest, depth)
		case ']', '}':
			depth--
		}
	}
	return deepest
}

// checkJSON finds in valid JSON what programs do not agree on or stores do not keep: U+0000, half a pair of surrogates, and numbers
// that no double holds (RFC 7493).
func checkJSON(text string) string {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			end := min(domain.EndOfString(text, i)+1, len(text))
			if wrong := checkString(text[i:end]); wrong != "" {
				return wrong
			}
			i = end - 1
		case c == '-' || '0' <= c && c <= '9':
			end := i + len(text[i:]) - len(strings.TrimLeft(text[i:], "+-.eE0123456789"))
			if _, err := strconv.ParseFloat(text[i:end], 64); err != nil {
				return "The JSON of the body must not hold a number that no double can hold."
			}
			i = end - 1
		}
	}
	return ""
}

func checkString(quoted string) string {
	if strings.IndexByte(quoted, '\\') < 0 {
		return ""
	}
	for i := 0; i < len(quoted); i++ {
		if quoted[i] != '\\' {
			continue
		}
		i++
		if quoted[i] != 'u' {
			continue
		}
		code, _ := strconv.ParseUint(quoted[i+1:i+5], 16, 16)
		i += 4
		switch {
		case code == 0:
			return "The JSON of the body must not hold the character U+0000."
		case code >= 0xDC00 && code <= 0xDFFF:
			return "The JSON of the body must not hold half a character."
		case code >= 0xD800 && code <= 0xDBFF:
			if !strings.HasPrefix(quoted[i+1:], `\u`) {
				return "The JSON of the body must not hold half a character."
			}
			low, _ := strconv.ParseUint(quoted[i+3:i+7], 16, 16)
			if low < 0xDC00 || low > 0xDFFF {
				return "The JSON of the body must not hold half a character."
			}
			i += 6
		}
	}
	return ""
}

// isText says whether the text can be kept.
func isText(text string) bool { return utf8.ValidString(text) && strings.IndexByte(text, 0) < 0 }
