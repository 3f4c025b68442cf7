package hook

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sluicehq/sluice/domain"
)

// MaxItems bounds how many runs one delivery starts.
const MaxItems = 1000

// Payload is what a run gets of a delivery. What proved who sent it, and other secrets in it, are left out or
// read [Redacted].
type Payload struct {
	Method      string
	Path        string // what follows the token of the address
	Query       url.Values
	Headers     map[string]string // names in lower case; several values of one are joined by ", "
	ContentType string
	Body        json.RawMessage // any JSON value
	RawBody     []byte          // the bytes as they were received, except for secrets; nil unless they were asked for
	Event       string          // what the hook makes of the delivery; empty for none
	Index       *int            // of the item that the body is; nil without a split
}

// PayloadOptions say what else a run gets.
type PayloadOptions struct {
	RawBody bool // the bytes in base64
}

// Payload reads a delivery. A body that is not what its content type says is an error of the kind Invalid with the code
// hook_delivery_unreadable.
func (s Scheme) Payload(secrets []Secret, r Request, o PayloadOptions) (Payload, error) {
	body, err := readBody(r)
	if err != nil {
		return Payload{}, err
	}
	rd := s.redactor(secrets, r)
	p := Payload{
		Method: r.Method, Path: rd.text(r.Path), Query: rd.query(r.Query), Headers: rd.headers(r.Headers),
		ContentType: r.ContentType(), Body: rd.body(body),
	}
	if o.RawBody {
		p.RawBody = rd.rawBody(r)
	}
	return p, nil
}

// Item is the payload of a run of one item of the body, which is its body then.
func (p Payload) Item(index int, item json.RawMessage) Payload {
	p.Index, p.Body = &index, item
	return p
}

// Hash tells the same body, or the same item, from others: 64 hexadecimal digits.
func (p Payload) Hash() string {
	sum := sha256.Sum256(p.Body)
	return hex.EncodeToString(sum[:])
}

// wholeHash is the same whenever a sender repeats a delivery, whose headers may have other times and signatures then.
func (p Payload) wholeHash() string {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%q %q %q ", p.Method, p.Path, p.Query.Encode())
	_, _ = h.Write(p.Body)
	return hex.EncodeToString(h.Sum(nil))
}

// JSON is the payload as expressions and nodes see it.
func (p Payload) JSON() json.RawMessage {
	var b bytes.Buffer
	b.Grow(len(p.Body) + base64.StdEncoding.EncodedLen(len(p.RawBody)) + 1024)
	text := func(name, value string) {
		b.WriteString(`,"` + name + `":`)
		writeText(&b, value)
	}
	b.WriteString(`{"method":`)
	writeText(&b, p.Method)
	text("path", p.Path)
	b.WriteString(`,"query":`)
	writeValues(&b, p.Query)
	b.WriteString(`,"headers":{`)
	for i, name := range sortedKeys(p.Headers) {
		if i > 0 {
			b.WriteByte(',')
		}
		writeText(&b, name)
		b.WriteByte(':')
		writeText(&b, p.Headers[name])
	}
	b.WriteByte('}')
	text("contentType", p.ContentType)
	b.WriteString(`,"body":`)
	b.Write(p.Body)
	if p.RawBody != nil {
		text("rawBody", base64.StdEncoding.EncodeToString(p.RawBody))
	}
	if p.Event != "" {
		text("event", p.Event)
	}
	if p.Index != nil {
		b.WriteString(`,"index":` + strconv.Itoa(*p.Index))
	}
	b.WriteByte('}')
	return b.Bytes()
}

// writeValues writes a member for each name: its value, or an array of several.
func writeValues(b *bytes.Buffer, values url.Values) {
	b.WriteByte('{')
	for i, name := range sortedKeys(values) {
		if i > 0 {
			b.WriteByte(',')
		}
		writeText(b, name)
		b.WriteByte(':')
		if len(values[name]) == 1 {
			writeText(b, values[name][0])
			continue
		}
		b.WriteByte('[')
		for j, value := range values[name] {
			if j > 0 {
				b.WriteByte(',')
			}
			writeText(b, value)
		}
		b.WriteByte(']')
	}
	b.WriteByte('}')
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// writeText writes a JSON string. U+0000, which a store may not keep, and what is no UTF-8 become U+FFFD.
func writeText(b *bytes.Buffer, text string) {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, string(utf8.RuneError)), "\x00", string(utf8.RuneError))
	encoder := json.NewEncoder(b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		panic("hook: a string that JSON cannot hold: " + err.Error())
	}
	b.Truncate(b.Len() - len("\n"))
}

func quoted(text string) json.RawMessage {
	var b bytes.Buffer
	writeText(&b, text)
	return b.Bytes()
}

// unreadable says why a body is not what its content type says.
func unreadable(format string, args ...any) error {
	return domain.Fail(domain.Invalid, "hook_delivery_unreadable", format, args...)
}

// readBody gives a JSON value.
func readBody(r Request) (json.RawMessage, error) {
	contentType := r.ContentType()
	charset := strings.ToLower(parameter(contentType, "charset"))
	switch kind := sortOf(mediaType(contentType)); {
	case len(r.Body) == 0:
		return json.RawMessage("null"), nil
	case kind == typeJSON:
		return readJSON(r.Body, charset)
	case kind == typeForm:
		return readForm(r.Body)
	case kind == typeMultipart:
		return readMultipart(r.Body, parameter(contentType, "boundary"))
	case kind == typeXML, kind == typeText:
		if kind == typeXML && charset == "" {
			charset = xmlCharset(r.Body)
		}
		if text, ok := decodeText(r.Body, charset); ok {
			return quoted(text), nil
		}
	}
	return quoted(base64.StdEncoding.EncodeToString(r.Body)), nil
}
