package noderunner

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"
)

// output is the answer as the output schema of httpRequest declares it: status,
// headers and body.
func output(got *answer) map[string]any {
	return map[string]any{
		"status":  float64(got.status),
		"headers": headers(got.header),
		"body":    body(got.header.Get("Content-Type"), got.body),
	}
}

// headers gives each header in lower case with its values joined as RFC 9110, §5.3
// permits. Set-Cookie, which that excepts, is an array.
func headers(h http.Header) map[string]any {
	out := make(map[string]any, len(h))
	for name, values := range h {
		if name == "Set-Cookie" {
			list := make([]any, len(values))
			for i, v := range values {
				list[i] = strings.ToValidUTF8(v, "\ufffd")
			}
			out["set-cookie"] = list
			continue
		}
		out[strings.ToLower(name)] = strings.ToValidUTF8(strings.Join(values, ", "), "\ufffd")
	}
	return out
}

// body gives JSON as its text, since its values may take many times as much memory, other
// text as a string, and anything else as {"base64": …}. No body is null. JSON that is
// malformed, nested too deep or holds a number that no double can is a string: the call has
// succeeded, whatever the answer is.
func body(contentType string, content []byte) any {
	if len(content) == 0 {
		return nil
	}
	kind, parameters, _ := mime.ParseMediaType(contentType)
	text := bytes.TrimPrefix(content, []byte("\ufeff"))
	if isJSON(kind) {
		if checkText(text) == nil && checkNumbers(text, "body") == nil {
			return json.RawMessage(text)
		}
	}
	switch {
	case utf8.Valid(text):
		return string(text)
	case strings.EqualFold(parameters["charset"], "iso-8859-1"):
		runes := make([]rune, len(content))
		for i, b := range content {
			runes[i] = rune(b) // Latin-1 is the beginning of Unicode
		}
		return string(runes)
	}
	return map[string]any{"base64": base64.StdEncoding.EncodeToString(content)}
}

func isJSON(kind string) bool {
	return kind == "application/json" || kind == "text/json" || strings.HasSuffix(kind, "+json")
}
