package job

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// shortName is up to how many bytes a name counts as said only where it is the whole of a text: a shorter one is a
// part of too many others.
const shortName = 3

// Mentions says whether a record that is kept as a text says a name: a JSON text in one of its texts or numbers, any other
// in itself, encoded for an address or not. A text says a name that it is, or that stands in it between what is neither
// a letter nor a digit.
func Mentions(text []byte, name string) bool {
	if name == "" {
		return false
	}
	if !json.Valid(text) {
		return says(string(text), name)
	}
	if !bytes.ContainsAny(text, `\%+`) && !bytes.Contains(text, []byte(name)) { // nothing in it is encoded
		return false
	}
	tokens := json.NewDecoder(bytes.NewReader(text))
	tokens.UseNumber()
	for {
		switch token, err := tokens.Token(); said := token.(type) {
		case string:
			if says(said, name) {
				return true
			}
		case json.Number:
			if said.String() == name {
				return true
			}
		default:
			if err != nil {
				return false
			}
		}
	}
}

func says(text, name string) bool {
	if stands(text, name) {
		return true
	}
	if !strings.ContainsAny(text, "%+") {
		return false
	}
	plain, err := url.QueryUnescape(text)
	return err == nil && stands(plain, name)
}

// stands says whether a name is a text, or stands in it by itself.
func stands(text, name string) bool {
	if text == name || len(name) <= shortName {
		return text == name
	}
	for at := 0; ; {
		next := strings.Index(text[at:], name)
		if next < 0 {
			return false
		}
		begin := at + next
		end := begin + len(name)
		before, _ := utf8.DecodeLastRuneInString(text[:begin])
		after, _ := utf8.DecodeRuneInString(text[end:])
		if !isOfWord(before) && !isOfWord(after) {
			return true
		}
		at = end
	}
}

func isOfWord(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }
