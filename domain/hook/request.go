package hook

import (
	"strings"
	"time"
)

// MaxBody bounds the body of a delivery, in bytes.
const MaxBody = 1 << 20

// Request is a delivery as it was received.
type Request struct {
	Method  string // in capitals
	Origin  string // of the address that the sender was given, as configured and without a slash at the end: https://hooks.example.com
	Token   string // of the address; empty for a delivery that was kept
	Address string // path and query as they were received, token included: /h/abc/rest?a=1
	Path    string // what follows the token: empty, or beginning with a slash
	Query   string // as it was received, without the question mark
	Headers Headers
	Body    []byte
	At      time.Time // when it was received
}

// URL is the address that was sent to: from what is configured, never from the header Host.
func (r Request) URL() string { return r.Origin + r.Address }

// Headers maps names in lower case to their values.
type Headers map[string][]string

// ReadHeaders copies headers whose names may be written in any case.
func ReadHeaders(sent map[string][]string) Headers {
	h := make(Headers, len(sent))
	for name, values := range sent {
		name = strings.ToLower(name)
		h[name] = append(h[name], values...)
	}
	return h
}

// ContentType is the header, empty when it is absent.
func (r Request) ContentType() string { return r.Headers.first("content-type") }

func (h Headers) first(name string) string {
	if values := h[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}
