package domain

// Document is the text of one JSON object that is kept and given back exactly as
// it was sent: members, their order and the spelling of numbers. The zero value
// is the empty object.
type Document struct {
	text string
}

// RestoreDocument trusts the text to be one JSON object.
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
