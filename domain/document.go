package domain

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Document is the text of one JSON object that is kept and given back exactly as
// it was sent: members, their order and the spelling of numbers. The zero value
// is the empty object.
type Document struct {
	text string
}

// ParseDocument accepts the text of one JSON object in valid UTF-8.
func ParseDocument(text string) (Document, error) {
	trimmed := strings.Trim(text, " \t\r\n")
	if !strings.HasPrefix(trimmed, "{") || !utf8.ValidString(trimmed) || !json.Valid([]byte(trimmed)) {
		return Document{}, fmt.Errorf("%w: the text is not one JSON object", Invalid)
	}
	return RestoreDocument(trimmed), nil
}

// RestoreDocument trusts the text, which [Document.String] gave before.
func RestoreDocument(text string) Document {
	if text == "{}" {
		return Document{} // so that equal documents are equal values
	}
	return Document{text: text}
}

// String returns the text, "{}" for the zero value.
func (d Document) String() string {
	if d.text == "" {
		return "{}"
	}
	return d.text
}
