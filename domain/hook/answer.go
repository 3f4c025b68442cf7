package hook

import (
	"encoding/json"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/domain"
)

// Answer is what a delivery is answered with, besides [AlwaysSent].
type Answer struct {
	Status      int
	ContentType string            // empty without a body
	Headers     map[string]string // names in lower case
	Body        []byte
}

// AlwaysSent are the headers of every answer at the address of a hook, whatever a tenant says: what is
// answered can do nothing in a browser, is kept nowhere, and the address, which is a secret, does not get out.
func AlwaysSent() map[string]string {
	return map[string]string{
		"content-security-policy":      "sandbox; default-src 'none'",
		"x-content-type-options":       "nosniff",
		"cache-control":                "no-store",
		"referrer-policy":              "no-referrer",
		"cross-origin-resource-policy": "same-origin",
	}
}

// allowedHeaders are what a tenant may answer with besides the content type: what senders ask for, and nothing that steers
// browsers, caches, proxies, origins or redirects.
var allowedHeaders = []string{
	"content-language", "retry-after", "x-request-id", "x-correlation-id",
	"x-hook-secret",                                  // Asana, "The webhook handshake"
	"webhook-allowed-origin", "webhook-allowed-rate", // CloudEvents, "HTTP 1.1 Web Hooks", §4.2
}

// allowedTypes are media types in which no browser finds a script. Of XML, which may hold one, see [readContentType].
var allowedTypes = []string{typeJSON, typeText, "text/csv", typeXML, "text/xml", typeForm, "application/octet-stream"}

const maxHeaderValue = 1024

// readAnswer reads status, headers and body. What is not allowed is left out, and recorded.
func readAnswer(o *object) Answer {
	a := Answer{Status: http.StatusOK}
	if status, given := o.whole("status", 200, 599); given {
		allowed := status < 300 || status >= 400
		o.rules.Check(allowed, o.at("status"), domain.NotAllowed, "must be from 200 to 299 or from 400 to 599, not %d: a hook redirects nobody", status)
		if allowed {
			a.Status = status
		}
	}
	a.ContentType, a.Body = readAnswerBody(o)
	readAnswerHeaders(o, &a)
	if bodiless := a.Status == http.StatusNoContent || a.Status == http.StatusResetContent; bodiless && a.Body != nil {
		o.refuse("body", domain.Conflicting, "must be left out where the status is %d", a.Status)
		a.Body = nil
	}
	if a.Body == nil {
		a.ContentType = ""
	}
	return a
}

// readAnswerBody takes a string as text, and every other value as JSON.
func readAnswerBody(o *object) (contentType string, body []byte) {
	value, given := o.get("body")
	if !given {
		return "", nil
	}
	var text string
	if value[0] == '"' && json.Unmarshal(value, &text) == nil {
		return typeText + "; charset=utf-8", []byte(text)
	}
	return typeJSON, value
}

func readAnswerHeaders(o *object, a *Answer) {
	value, given := o.get("headers")
	if !given {
		return
	}
	headers, ok := readObject(o.rules, o.at("headers"), value)
	if !ok {
		return
	}
	o.rules.Check(len(headers.names) <= maxAnswerHeaders, headers.path, domain.TooLong, "must hold at most %d headers", maxAnswerHeaders)
	for _, name := range headers.names[:min(len(headers.names), maxAnswerHeaders)] {
		lower, at := strings.ToLower(name), domain.Clip(name, 50)
		text, ok := headers.text(name, maxHeaderValue)
		switch {
		case !ok:
		case strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c > '~' }):
			headers.refuse(at, domain.BadText, "must hold printable ASCII characters only")
		case lower == "content-type":
			if contentType, ok := readContentType(text); ok {
				a.setContentType(contentType)
				continue
			}
			headers.refuse(at, domain.NotAllowed, "must be %s or a type that ends in +json, in UTF-8, not %q", domain.OneOf(allowedTypes...), text)
		case slices.Contains(allowedHeaders, lower):
			a.addHeader(lower, text)
		default:
			headers.refuse(at, domain.NotAllowed, "must be content-type, %s", domain.OneOf(allowedHeaders...))
		}
	}
}

// readContentType gives the type in one spelling. Text is always said to be in UTF-8, which it is, so that no browser guesses.
func readContentType(text string) (contentType string, ok bool) {
	name, parameters, err := mime.ParseMediaType(text)
	charset, hasCharset := parameters["charset"]
	isJSON := strings.HasPrefix(name, "application/") && strings.HasSuffix(name, "+json")
	switch {
	case err != nil, !isJSON && !slices.Contains(allowedTypes, name):
		return "", false
	case hasCharset && !strings.EqualFold(charset, "utf-8"), len(parameters) > 1, len(parameters) == 1 && !hasCharset:
		return "", false
	case strings.HasPrefix(name, "text/"), name == typeXML:
		return name + "; charset=utf-8", true
	default:
		return name, true
	}
}

// setContentType has browsers save XML, in which they would find scripts.
func (a *Answer) setContentType(contentType string) {
	a.ContentType = contentType
	if sortOf(mediaType(contentType)) == typeXML {
		a.addHeader("content-disposition", "attachment")
	}
}

func (a *Answer) addHeader(name, value string) {
	headers := maps.Clone(a.Headers)
	if headers == nil {
		headers = map[string]string{}
	}
	headers[name] = value
	a.Headers = headers
}
