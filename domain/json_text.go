package domain

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
