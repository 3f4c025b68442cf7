package exchange

import (
	"regexp"
	"strings"
)

// prefersStrict says whether the first preference about handling is strict (RFC 7240, §2
// and §4.4).
func prefersStrict(sent []string) bool {
	if len(sent) == 0 {
		return false
	}
	for _, preference := range splitUnquoted(strings.Join(sent, ","), ',') {
		first := splitUnquoted(preference, ';')[0] // what follows are parameters
		if name, value, _ := strings.Cut(first, "="); strings.EqualFold(strings.TrimSpace(name), "handling") {
			return strings.EqualFold(unquoted(strings.TrimSpace(value)), "strict")
		}
	}
	return false
}

// splitUnquoted returns the parts of a header's value between separators that stand in no
// quoted string (RFC 9110, §5.6): at least one.
func splitUnquoted(value string, separator byte) (parts []string) {
	begun, quoted := 0, false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == separator && !quoted:
			parts, begun = append(parts, value[begun:i]), i+1
		}
	}
	return append(parts, value[begun:])
}

var quotedPair = regexp.MustCompile(`\\(.)`)

// unquoted is the value of a token or a quoted string.
func unquoted(word string) string {
	inner, ok := strings.CutPrefix(word, `"`)
	if !ok {
		return word
	}
	return quotedPair.ReplaceAllString(strings.TrimSuffix(inner, `"`), "$1")
}
