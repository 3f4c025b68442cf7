package hook

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// Redacted stands where a secret was.
const Redacted = "[redacted]"

// minSearched is how long a secret is whose text is looked for everywhere: a shorter one stands in many texts by chance.
const minSearched = 8

// neverGiven are headers that authenticate somebody, whatever the scheme.
var neverGiven = []string{authorization, "proxy-authorization", "cookie", "set-cookie"}

// redactor knows what of a delivery is secret.
type redactor struct {
	leftOut    map[string]bool // headers
	parameters map[string]bool // of the query
	members    []string        // paths in the body, in which items have the name []
	texts      []string        // secrets themselves
}

func (s Scheme) redactor(secrets []Secret, r Request) redactor {
	rd := redactor{leftOut: map[string]bool{}, parameters: map[string]bool{}}
	for _, name := range neverGiven {
		rd.leftOut[name] = true
	}
	for _, m := range s.methods {
		if m.header != "" {
			rd.leftOut[m.header] = true
		}
		switch m.kind {
		case KindURLSecret:
			rd.parameters[m.carried] = true
		case kindBodySecret:
			rd.members = append(rd.members, m.carried)
		}
	}
	known := presets[s.preset]
	for _, name := range known.left {
		rd.leftOut[name] = true
	}
	rd.members = append(rd.members, known.sent...)
	for _, name := range known.asked {
		rd.parameters[name] = true
	}
	for _, secret := range secrets {
		if text := secret.text(); secret.Kind() == SecretText && len(text) >= minSearched {
			rd.texts = append(rd.texts, text, url.QueryEscape(text), url.PathEscape(text))
		}
	}
	if len(r.Token) >= minSearched {
		rd.texts = append(rd.texts, r.Token)
	}
	return rd
}

// text blanks what is secret wherever it stands.
func (rd redactor) text(text string) string {
	for _, secret := range rd.texts {
		text = strings.ReplaceAll(text, secret, Redacted)
	}
	return text
}

func (rd redactor) headers(sent Headers) map[string]string {
	given := make(map[string]string, len(sent))
	for name, values := range sent {
		if !rd.leftOut[name] {
			given[name] = rd.text(strings.Join(values, ", "))
		}
	}
	return given
}

// query keeps what can be read.
func (rd redactor) query(sent string) url.Values {
	values, _ := url.ParseQuery(sent) // what is malformed is left out
	for name := range values {
		for i := range values[name] {
			if rd.parameters[name] {
				values[name][i] = Redacted
			} else {
				values[name][i] = rd.text(values[name][i])
			}
		}
	}
	return values
}

// body blanks secrets in JSON, whose other bytes stay as they are.
func (rd redactor) body(body json.RawMessage) json.RawMessage {
	for _, secret := range rd.texts {
		inside := quoted(secret)
		body = json.RawMessage(strings.ReplaceAll(string(body), string(inside[1:len(inside)-1]), Redacted))
	}
	for _, path := range rd.members {
		body = replaceAt(body, strings.Split(path, "."), quoted(Redacted))
	}
	return body
}

// Keep is what is stored of a delivery: what is needed to verify a signature again, and no secret that was sent.
func (s Scheme) Keep(secrets []Secret, r Request) Request {
	rd := s.redactor(secrets, r)
	kept := r
	kept.Token = ""
	kept.Headers = make(Headers, len(r.Headers))
	for name, values := range r.Headers {
		switch {
		case s.signsWith(name):
			kept.Headers[name] = slices.Clone(values)
		case !rd.leftOut[name]:
			kept.Headers[name] = rd.all(values)
		}
	}
	kept.Path = rd.text(r.Path)
	if !s.SignsAddress() {
		kept.Query, kept.Address = rd.rawQuery(r.Query), ""
	}
	if !s.signsBody(r) {
		kept.Body = rd.rawBody(r)
	}
	return kept
}

// Show is what people see of a delivery: what is kept without signatures and without the address.
func (s Scheme) Show(secrets []Secret, r Request) Request {
	rd := s.redactor(secrets, r)
	shown := r
	shown.Token, shown.Address, shown.Origin = "", "", ""
	shown.Path, shown.Query, shown.Body = rd.text(r.Path), rd.rawQuery(r.Query), rd.rawBody(r)
	shown.Headers = make(Headers, len(r.Headers))
	for name, values := range r.Headers {
		if rd.leftOut[name] {
			shown.Headers[name] = []string{Redacted}
		} else {
			shown.Headers[name] = rd.all(values)
		}
	}
	return shown
}

// signsWith says whether a header is needed to verify a signature.
func (s Scheme) signsWith(header string) bool {
	return slices.ContainsFunc(s.methods, func(m method) bool {
		return m.signs() && (header == m.header || header == m.id || header == m.time.header || slices.Contains(m.signed, part{partHeader, header}))
	})
}

// signsBody says whether the body has to stay as it is.
func (s Scheme) signsBody(r Request) bool {
	return slices.ContainsFunc(s.methods, func(m method) bool { return m.signs() && len(r.Headers[m.header]) > 0 })
}

func (rd redactor) all(values []string) []string {
	out := make([]string, len(values))
	for i, value := range values {
		out[i] = rd.text(value)
	}
	return out
}

// rawQuery blanks secrets in a query, whose other bytes stay as they are.
func (rd redactor) rawQuery(sent string) string {
	if sent == "" {
		return ""
	}
	pairs := strings.Split(sent, "&")
	for i, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		plain, err := url.QueryUnescape(name)
		unescaped, errValue := url.QueryUnescape(value)
		if err != nil || errValue != nil || rd.parameters[plain] || rd.text(unescaped) != unescaped {
			pairs[i] = name + "=" + Redacted
		}
	}
	return rd.text(strings.Join(pairs, "&"))
}

// rawBody blanks secrets in the bytes of a body.
func (rd redactor) rawBody(r Request) []byte {
	if sortOf(mediaType(r.ContentType())) == typeJSON && json.Valid(r.Body) {
		return rd.body(r.Body)
	}
	if sortOf(mediaType(r.ContentType())) == typeForm {
		form := rd
		form.parameters = make(map[string]bool, len(rd.members))
		for _, path := range rd.members {
			name, _, _ := strings.Cut(path, ".")
			form.parameters[name] = true
		}
		return []byte(form.rawQuery(string(r.Body)))
	}
	return []byte(rd.text(string(r.Body)))
}
