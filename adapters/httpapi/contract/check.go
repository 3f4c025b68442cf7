package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
)

// errorSchema is the name of the schema of the standard error body.
const errorSchema = "Error"

// ordinary headers belong to HTTP or to browsers and are not described for each
// answer.
var ordinary = []string{
	"Accept-Ranges", "Cache-Control", "Connection", "Content-Encoding", "Content-Length", "Content-Security-Policy", "Content-Type",
	"Cross-Origin-Opener-Policy", "Cross-Origin-Resource-Policy", "Date", "Etag", "Last-Modified", "Referrer-Policy",
	"Strict-Transport-Security", "Transfer-Encoding", "Vary", "X-Content-Type-Options", "X-Frame-Options",
}

// behindKeys begins the paths of which nobody learns anything without a key.
const behindKeys = "/v1/gateway/"

// checkUnknown checks the answer to a request that the document has no operation
// for: an error in the standard body, or the answer to a browser's preflight.
func (v *Validator) checkUnknown(r *http.Request, found match, answer *http.Response, body []byte) []string {
	notAdmitted := strings.HasPrefix(r.URL.Path, behindKeys) &&
		(answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusTooManyRequests)
	preflight := r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
	want := http.StatusNotFound
	if len(found.methods) > 0 {
		want = http.StatusMethodNotAllowed
	}
	switch {
	case preflight && answer.StatusCode == http.StatusNoContent:
		return checkEmpty(answer, body)
	case answer.StatusCode != want && !notAdmitted:
		return []string{fmt.Sprintf("there is no such operation, so the status must be %d", want)}
	}
	var problems []string
	if answer.StatusCode == http.StatusMethodNotAllowed {
		if got := methods(answer.Header.Get("Allow")); !slices.Equal(got, methods(strings.Join(found.methods, ","))) {
			problems = append(problems, fmt.Sprintf("the header Allow lists %v, not %v", got, found.methods))
		}
	}
	return append(problems, v.checkError(r, answer, body)...)
}

// checkError checks an error that no operation describes.
func (v *Validator) checkError(r *http.Request, answer *http.Response, body []byte) []string {
	problems := v.checkJSON(r, v.answers.Components.Schemas[errorSchema].Value, answer, body)
	if answer.Header.Get("X-Request-Id") == "" {
		problems = append(problems, "the header X-Request-Id is missing")
	}
	return problems
}

// failsEverywhere says whether an answer is one of the errors that all operations may have.
func (v *Validator) failsEverywhere(answer *http.Response, body []byte) bool {
	var failed struct{ Code string }
	if len(v.everywhere) == 0 || json.Unmarshal(body, &failed) != nil {
		return false
	}
	status, ok := v.everywhere[failed.Code]
	return ok && status == answer.StatusCode
}

// methods reads a list of methods, sorted.
func methods(list string) []string {
	all := strings.FieldsFunc(list, func(c rune) bool { return c == ',' || c == ' ' })
	slices.Sort(all)
	return all
}

func checkHeaders(documented openapi3.Headers, got http.Header) []string {
	var problems []string
	for name, header := range documented {
		values := got.Values(name)
		switch {
		case len(values) == 0 && header.Value.Required:
			problems = append(problems, fmt.Sprintf("the header %s is missing", name))
		case len(values) > 1 && name != "Set-Cookie": // the one header that cannot be a list
			problems = append(problems, fmt.Sprintf("the header %s is there %d times", name, len(values)))
		case len(values) > 0:
			if err := header.Value.Schema.Value.VisitJSON(headerValue(header.Value.Schema.Value, values[0])); err != nil {
				problems = append(problems, fmt.Sprintf("the header %s is %q: %v", name, values[0], reason(err)))
			}
		}
	}
	for name := range got {
		known := slices.Contains(ordinary, name) || strings.HasPrefix(name, "Access-Control-")
		for other := range documented {
			known = known || http.CanonicalHeaderKey(other) == name
		}
		if !known {
			problems = append(problems, fmt.Sprintf("the header %s is not documented", name))
		}
	}
	slices.Sort(problems)
	return problems
}

func headerValue(schema *openapi3.Schema, text string) any {
	if schema.Type.Is(openapi3.TypeInteger) || schema.Type.Is(openapi3.TypeNumber) {
		if n, err := strconv.ParseFloat(text, 64); err == nil {
			return n
		}
	}
	return text
}

func (v *Validator) checkBody(r *http.Request, documented *openapi3.Response, answer *http.Response, body []byte) []string {
	if len(documented.Content) == 0 {
		return checkEmpty(answer, body)
	}
	media, _, err := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	content := documented.Content[media]
	if err != nil || content == nil {
		return []string{fmt.Sprintf("the Content-Type %q is not documented", answer.Header.Get("Content-Type"))}
	}
	switch {
	case r.Method == http.MethodHead:
		return nil
	case media == "application/json":
		return v.checkJSON(r, content.Schema.Value, answer, body)
	case media == "application/x-ndjson": // of which there may be no line
		return nil
	case len(body) == 0:
		return []string{"the body is empty"}
	}
	return nil
}

func checkEmpty(answer *http.Response, body []byte) []string {
	var problems []string
	if len(body) > 0 {
		problems = append(problems, "there must be no body")
	}
	if got := answer.Header.Get("Content-Type"); got != "" && answer.StatusCode == http.StatusNoContent {
		problems = append(problems, fmt.Sprintf("without a body there must be no Content-Type, not %q", got))
	}
	return problems
}

func (v *Validator) checkJSON(r *http.Request, schema *openapi3.Schema, answer *http.Response, body []byte) []string {
	media, params, err := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if err != nil || media != "application/json" || params["charset"] != "" && params["charset"] != "utf-8" {
		return []string{fmt.Sprintf("the Content-Type %q is not application/json in UTF-8", answer.Header.Get("Content-Type"))}
	}
	if r.Method == http.MethodHead && len(body) == 0 {
		return nil
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return []string{"the body is not JSON: " + err.Error()}
	}
	var problems []string
	if err := schema.VisitJSON(value, openapi3.MultiErrors(), openapi3.VisitAsResponse()); err != nil {
		problems = reasons(err)
	}
	if schema == v.answers.Components.Schemas[errorSchema].Value {
		problems = append(problems, checkAgreement(answer, value)...)
	}
	return problems
}

// checkAgreement compares what an error says in its body and in its headers.
func checkAgreement(answer *http.Response, value any) []string {
	body, _ := value.(map[string]any)
	retryAfter := ""
	if seconds, ok := body["retryAfter"].(float64); ok {
		retryAfter = strconv.FormatFloat(seconds, 'f', -1, 64)
	}
	var problems []string
	for _, c := range []struct{ member, where, inBody, outside string }{
		{"statusCode", "the status", fmt.Sprint(body["statusCode"]), strconv.Itoa(answer.StatusCode)},
		{"error", "the status", fmt.Sprint(body["error"]), http.StatusText(answer.StatusCode)},
		{"requestId", "X-Request-Id", fmt.Sprint(body["requestId"]), answer.Header.Get("X-Request-Id")},
		{"retryAfter", "Retry-After", retryAfter, answer.Header.Get("Retry-After")},
	} {
		if c.inBody != c.outside {
			problems = append(problems, fmt.Sprintf("%s is %q, but %s says %q", c.member, c.inBody, c.where, c.outside))
		}
	}
	return problems
}

// checkRequest checks a request that succeeded. One with an empty parameter in its
// path, such as /docs/, is beyond what OpenAPI can describe.
func (v *Validator) checkRequest(r *http.Request, sent []byte, found match) []string {
	for _, value := range found.values {
		if value == "" {
			return nil
		}
	}
	asked := r.Clone(r.Context())
	asked.Body = io.NopCloser(bytes.NewReader(sent))
	asked.ContentLength = int64(len(sent))
	if len(sent) == 0 {
		asked.Body = http.NoBody
	}
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if media == "" || strings.HasSuffix(media, "+json") {
		asked.Header.Set("Content-Type", "application/json") // what the gateway takes it for
	}
	err := openapi3filter.ValidateRequest(r.Context(), &openapi3filter.RequestValidationInput{
		Request:    asked,
		PathParams: found.values,
		Route:      routerRoute(v.requests, found),
		Options: &openapi3filter.Options{
			MultiError: true, SkipSettingDefaults: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc,
		},
	})
	if err == nil {
		return nil
	}
	problems := reasons(err)
	for i := range problems {
		problems[i] = "the request succeeded, but is not valid: " + problems[i]
	}
	return problems
}

// reasons takes an error apart into what it says about each member.
func reasons(err error) []string {
	var many openapi3.MultiError
	if errors.As(err, &many) {
		var all []string
		for _, one := range many {
			all = append(all, reasons(one)...)
		}
		return all
	}
	return []string{reason(err)}
}

// reason is an error without the whole schema, which kin-openapi repeats.
func reason(err error) string {
	var one *openapi3.SchemaError
	if errors.As(err, &one) {
		return strings.Join(one.JSONPointer(), ".") + ": " + one.Reason
	}
	return err.Error()
}
