package noderunner

import (
	"encoding/json"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicehq/sluice/domain"
)

// managed are the headers that belong to the connection, which the gateway manages,
// or to the way it reads the answer.
var managed = []string{
	"Accept-Encoding", "Connection", "Content-Length", "Expect", "Host", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// readHeaders reads the headers; null leaves one out, and an array gives it several
// times.
func readHeaders(r *domain.Rules, value any) http.Header {
	header := make(http.Header)
	spelled := make(map[string]string)
	readFields(r, "config.headers", value, func(name, text string) {
		at, canonical := domain.Member("config.headers", name), http.CanonicalHeaderKey(name)
		r.Check(isToken(name), at, domain.BadFormat, "must have the name of a header, such as X-Request-Source")
		r.Check(!slices.Contains(managed, canonical), at, domain.NotAllowed, "must be left out: the gateway sets this header")
		r.Check(isFieldText(text), at, domain.BadText, "must not contain line breaks or other control characters")
		before, given := spelled[canonical]
		r.Check(!given || before == name, at, domain.Duplicate, "repeats the header %s", before)
		spelled[canonical] = name
		header[canonical] = append(header[canonical], text)
	})
	return header
}

// readFields gives each field of an object and its texts to add, by name: a text, a
// number or a boolean is one, an array of them several, null none.
func readFields(r *domain.Rules, path string, value any, add func(name, text string)) {
	fields, _ := value.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		values, several := fields[name].([]any)
		if !several {
			values = []any{fields[name]}
		}
		for _, v := range values {
			if v == nil {
				continue
			}
			text, ok := scalar(v)
			r.Check(ok, domain.Member(path, name), domain.WrongType, "must be a string, a number, a boolean or an array of such")
			if ok {
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

const formType = "application/x-www-form-urlencoded"

// readBody writes the body: a text as it is, an object as a form when the headers
// say so, anything else as JSON. It sets the Content-Type that the headers leave
// open. null is no body.
func readBody(r *domain.Rules, value any, h http.Header) []byte {
	given, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	fields, isObject := value.(map[string]any)
	text, isText := value.(string)
	switch {
	case value == nil:
		return nil
	case isText:
		setDefault(h, "Content-Type", "text/plain; charset=utf-8")
		return []byte(text)
	case isObject && given == formType:
		form := make(url.Values)
		readFields(r, "config.body", fields, form.Add)
		return []byte(form.Encode())
	}
	setDefault(h, "Content-Type", "application/json")
	body, err := encode(value)
	r.Check(err == nil, "config.body", domain.WrongType, "must be a value that JSON can hold")
	return body
}

// isToken says whether the text may be the name of a header (RFC 9110, §5.6.2).
func isToken(text string) bool {
	const others = "!#$%&'*+-.^_`|~"
	for i := range len(text) {
		c := text[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && !strings.Contains(others, string(rune(c))) {
			return false
		}
	}
	return text != ""
}

// isFieldText says whether the text may be the value of a header (RFC 9110, §5.5).
func isFieldText(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}
