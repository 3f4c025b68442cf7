package node

import (
	"encoding/json"
	"mime"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"

	"github.com/sluicehq/sluice/domain"
)

// FormType is the media type of an httpRequest's body that is sent as a form.
const FormType = "application/x-www-form-urlencoded"

// checkRequest checks what the schema of an httpRequest cannot say.
func checkRequest(r *domain.Rules, path string, config map[string]any) {
	if text, isText := config["url"].(string); isText {
		CheckURL(r, domain.Member(path, "url"), text)
	}
	contentType := checkHeaders(r, domain.Member(path, headersMember), config[headersMember])
	checkScalars(r, domain.Member(path, "query"), config["query"])
	if kind, _, _ := mime.ParseMediaType(contentType); kind == FormType {
		checkScalars(r, domain.Member(path, "body"), config["body"])
	}
	ReadStatuses(r, domain.Member(path, "expectStatus"), config["expectStatus"])
}

const headersMember = "headers"

// isIdempotentRequest says whether RFC 9110 (§9.2.2) calls the method idempotent.
func isIdempotentRequest(config map[string]any) bool {
	return config["method"] != http.MethodPost && config["method"] != http.MethodPatch
}

// checkRequestTemplate checks what stands around the expressions of a URL or a header.
func checkRequestTemplate(r *domain.Rules, config, path, text string) {
	switch headers := domain.Member(domain.Member(config, headersMember), ""); {
	case path == domain.Member(config, "url"):
		checkURLTemplate(r, path, text)
	case strings.HasPrefix(path, headers):
		checkHeaderTemplate(r, path, text)
	}
}

// CheckURL records in r, under at, what keeps a text from being a URL that can be called.
func CheckURL(r *domain.Rules, at, text string) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		r.Check(false, at, domain.BadFormat, "must be an absolute http or https URL, such as https://example.com/orders")
		return
	}
	r.Check(u.User == nil, at, domain.NotAllowed, "must not hold credentials; send them in a header, such as Authorization")
	r.Check(!strings.ContainsFunc(u.Hostname(), isInvalidHostRune), at, domain.BadFormat, "must name a host such as example.com, not %s", show(u.Hostname()))
	port := u.Port()
	n, err := strconv.ParseUint(port, 10, 16)
	r.Check(port == "" || err == nil && n > 0, at, domain.BadFormat, "must have a port from 1 to 65535, not %s", show(port))
}

// isInvalidHostRune says of a character that no host has it. Those beyond ASCII are of
// international names; the colon and the zone's percent sign are of IPv6 addresses.
func isInvalidHostRune(c rune) bool {
	return c < 0x80 && !isLetter(byte(c)) && !isDigit(byte(c)) && !strings.ContainsRune("-._~:%", c)
}

// checkURLTemplate records in r, under path, what is wrong with the part of a URL that
// no expression gives: what stands before the first {{ must be the beginning of an http
// or https URL, if anything stands there.
func checkURLTemplate(r *domain.Rules, path, text string) {
	before, _, _ := strings.Cut(text, "{{")
	before = strings.TrimLeft(before, " \t\r\n")
	if before == "" {
		return
	}
	const wrong = "must begin with http:// or https:// and a host, as https://example.com/ does, or with an expression that gives them"
	low := strings.ToLower(before)
	for _, scheme := range []string{"http://", "https://"} {
		if strings.HasPrefix(scheme, low) {
			return // the rest of it is an expression's
		}
		host, fits := strings.CutPrefix(low, scheme)
		if !fits {
			continue
		}
		if end := strings.IndexAny(host, "/?#"); end >= 0 {
			CheckURL(r, path, scheme+host[:end])
			return
		}
		r.Check(!strings.Contains(host, "@"), path, domain.NotAllowed, "must not hold credentials; send them in a header, such as Authorization")
		r.Check(!strings.ContainsFunc(strings.TrimLeft(host, "["), isInvalidHostRune), path, domain.BadFormat, wrong)
		return
	}
	r.Check(false, path, domain.BadFormat, wrong)
}

// checkHeaderTemplate records in r, under path, what is wrong with the parts of a
// header's value before its first expression and behind its last one.
func checkHeaderTemplate(r *domain.Rules, path, text string) {
	before, _, _ := strings.Cut(text, "{{")
	behind := text[strings.LastIndex(text, "}}")+1:]
	r.Check(domain.IsHeaderValue(before) && domain.IsHeaderValue(behind), path, domain.BadText, badFieldText)
}

const badFieldText = "must not contain line breaks or other control characters"

// checkHeaders checks the names and the values of headers and returns the Content-Type
// among them.
func checkHeaders(r *domain.Rules, path string, value any) (contentType string) {
	headers, _ := value.(map[string]any)
	found := newFindings(r)
	spelled := make(map[string]string)
	for _, name := range sortedKeys(headers) {
		if headers[name] == nil || found.full() {
			continue // left out
		}
		at, canonical := domain.Member(path, clip(name)), textproto.CanonicalMIMEHeaderKey(name)
		found.check(domain.IsHeaderName(name), at, domain.BadFormat, "must have the name of a header, such as X-Request-Source; a name holds no expressions")
		found.check(!domain.IsManagedHeader(name), at, domain.NotAllowed, "must be left out: the gateway sets this header")
		before, given := spelled[canonical]
		found.check(!given, at, domain.Duplicate, "repeats the header %s", before)
		spelled[canonical] = name
		eachScalar(found, at, headers[name], func(text string) {
			found.check(domain.IsHeaderValue(text), at, domain.BadText, badFieldText)
			if canonical == "Content-Type" && contentType == "" {
				contentType = text
			}
		})
	}
	return contentType
}

// checkScalars checks the fields of a query or a form.
func checkScalars(r *domain.Rules, path string, value any) {
	fields, _ := value.(map[string]any)
	found := newFindings(r)
	for _, name := range sortedKeys(fields) {
		if found.full() {
			return
		}
		eachScalar(found, domain.Member(path, clip(name)), fields[name], func(string) {})
	}
}

// eachScalar visits the texts of a field: a text, a number or a boolean is one, an array
// of them several, null none.
func eachScalar(found *findings, at string, value any, visit func(text string)) {
	values, several := value.([]any)
	if !several {
		values = []any{value}
	}
	for _, v := range values {
		switch v := v.(type) {
		case nil, bool, float64, json.Number:
		case string:
			visit(v)
		default:
			found.check(false, at, domain.WrongType, "must be a string, a number, a boolean or an array of such")
		}
	}
}
