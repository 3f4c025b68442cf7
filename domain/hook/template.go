package hook

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// part is a piece of what is signed.
type part struct {
	kind partKind
	text string // the literal, or the name of the header in lower case
}

type partKind uint8

const (
	partLiteral partKind = iota
	partBody
	partTimestamp // as it was sent
	partID
	partMethod
	partURL
	partHeader
	partForm // names and values of a form, sorted by name; of presets only
)

// template says what a sender signs.
type template []part

// placeholders are what a client can write in a template.
var placeholders = map[string]partKind{
	"body": partBody, "timestamp": partTimestamp, "id": partID, "method": partMethod, "url": partURL,
}

// parseTemplate reads the text; wrong says what is the matter with it, empty for nothing.
func parseTemplate(text string) (t template, wrong string) {
	for text != "" {
		open := strings.IndexAny(text, "{}")
		if open < 0 {
			return append(t, part{kind: partLiteral, text: text}), ""
		}
		if open > 0 {
			t = append(t, part{kind: partLiteral, text: text[:open]})
		}
		inside, rest, closed := strings.Cut(text[open:], "}")
		name, isHeader := strings.CutPrefix(inside, "{header:")
		switch kind, known := placeholders[strings.TrimPrefix(inside, "{")]; {
		case !closed || inside == "":
			return nil, "must close each { by a }"
		case isHeader && isHeaderName(name):
			t = append(t, part{kind: partHeader, text: strings.ToLower(name)})
		case known:
			t = append(t, part{kind: kind})
		default:
			return nil, fmt.Sprintf("must hold {body}, {timestamp}, {id}, {method}, {url} and {header:Name} between braces, not %q", inside+"}")
		}
		text = rest
	}
	return t, ""
}

// signs is the template of a preset.
func signs(text string) template {
	t, wrong := parseTemplate(text)
	if wrong != "" {
		panic("hook: a template of a preset " + wrong)
	}
	return t
}

func (t template) has(kind partKind) bool {
	return slices.ContainsFunc(t, func(p part) bool { return p.kind == kind })
}

// isHeaderName says whether the text is a token (RFC 9110, §5.6.2).
func isHeaderName(text string) bool {
	return text != "" && strings.IndexFunc(text, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", c)
	}) < 0
}

// signable is what a template is filled in with.
type signable struct {
	request   Request
	address   string
	timestamp string
	id        string
}

// fill writes what is signed. ok is false where a header that is signed is absent or repeated, or
// the body is no form where one is signed.
func (t template) fill(s signable) (signed []byte, ok bool) {
	signed = make([]byte, 0, len(s.request.Body)+len(s.address)+64)
	for _, p := range t {
		switch p.kind {
		case partLiteral:
			signed = append(signed, p.text...)
		case partBody:
			signed = append(signed, s.request.Body...)
		case partTimestamp:
			signed = append(signed, s.timestamp...)
		case partID:
			signed = append(signed, s.id...)
		case partMethod:
			signed = append(signed, s.request.Method...)
		case partURL:
			signed = append(signed, s.address...)
		case partHeader:
			values := s.request.Headers[p.text]
			if len(values) != 1 {
				return nil, false
			}
			signed = append(signed, values[0]...)
		case partForm:
			if signed, ok = appendForm(signed, s.request); !ok {
				return nil, false
			}
		}
	}
	return signed, true
}

// appendForm writes each name once, in order, with its values behind it; equal values of one name
// count once (Twilio's helper library, getExpectedTwilioSignature and toFormUrlEncodedParam).
// A body that is no form adds nothing.
func appendForm(signed []byte, r Request) ([]byte, bool) {
	if mediaType(r.ContentType()) != typeForm {
		return signed, true
	}
	form, err := url.ParseQuery(string(r.Body))
	if err != nil {
		return nil, false
	}
	names := make([]string, 0, len(form))
	for name := range form {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		values := form[name]
		slices.Sort(values)
		for _, value := range slices.Compact(values) {
			signed = append(append(signed, name...), value...)
		}
	}
	return signed, true
}
