package exchange

import (
	"regexp"
	"strings"
)

// secretShape fits API keys, the tokens of hooks' addresses and the secrets of webhook endpoints, cut off ones too.
var secretShape = regexp.MustCompile(`([ps]k_|htk_|whsec_)[0-9A-Za-z+/=]{8,}`)

// Redact hides whatever has the shape of an API key, of the token of a hook's address, or of the secret of a webhook
// endpoint, in text that came from outside, before it is shown or logged. Text
// without one is returned as it is, which costs a search for two short words.
func Redact(text string) string {
	if !strings.Contains(text, "k_") && !strings.Contains(text, "whsec_") {
		return text
	}
	return secretShape.ReplaceAllString(text, "$1…")
}

// Printable says whether text is 1 to most printable ASCII characters.
func Printable(text string, most int) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return text != "" && len(text) <= most
}
