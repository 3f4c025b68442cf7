package noderunner

import (
	"encoding/json"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/sluicehq/sluice/domain/node"
)

// readHeaders reads the headers; null leaves one out, and an array gives it several
// times.
func readHeaders(value any) http.Header {
	header := make(http.Header)
	readFields(value, header.Add)
	return header
}

// readFields gives each field of an object and its texts to add, by name: a text, a
// number or a boolean is one, an array of them several, null none.
func readFields(value any, add func(name, text string)) {
	fields, _ := value.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		values, several := fields[name].([]any)
		if !several {
			values = []any{fields[name]}
		}
		for _, v := range values {
			if text, ok := scalar(v); ok {
				add(name, text)
			}
		}
	}
}

// scalar writes a value as text.
func scalar(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case json.Number:
		return v.String(), true
	case float64:
		text, err := json.Marshal(v)
		return string(text), err == nil
	}
	return "", false
}

// whole reads a number that was checked to be a whole one.
func whole(value any) int64 {
	switch v := value.(type) {
	case json.Number:
		f, _ := v.Float64()
		return int64(f)
	case float64:
		return int64(v)
	}
	return 0
}

// readBody writes the body: a text as it is, an object as a form when the headers
// say so, anything else as JSON. It sets the Content-Type that the headers leave
// open. null is no body.
func readBody(value any, h http.Header) ([]byte, error) {
	given, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	fields, isObject := value.(map[string]any)
	text, isText := value.(string)
	switch {
	case value == nil:
		return nil, nil
	case isText:
		setDefault(h, "Content-Type", "text/plain; charset=utf-8")
		return []byte(text), nil
	case isObject && given == node.FormType:
		form := make(url.Values)
		readFields(fields, form.Add)
		return []byte(form.Encode()), nil
	}
	setDefault(h, "Content-Type", "application/json")
	return encode(value)
}
