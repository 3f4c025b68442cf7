package stream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// chunkSize is how many bytes of an answer are collected before they are written.
const chunkSize = 32 << 10

// Body is an answer that may be large. It is written as it is encoded, and is never in
// memory as a whole.
type Body interface {
	// EncodeTo writes the same each time.
	EncodeTo(e *Encoder)
}

// Encoder writes JSON: it encodes small values and copies documents that are kept as JSON.
// After an error it writes nothing more.
type Encoder struct {
	to     io.Writer // nil to get only the first chunk and the length
	chunk  []byte    // not yet written; at most chunkSize
	full   bool      // without to: there is more than the first chunk
	length int       // of everything so far
	err    error

	small   bytes.Buffer // the value that is being encoded
	encoder *json.Encoder
}

var encoders = sync.Pool{New: func() any {
	e := &Encoder{chunk: make([]byte, 0, chunkSize)}
	e.encoder = NewJSON(&e.small)
	return e
}}

// NewJSON is an encoder that leaves characters as they are that matter only inside HTML.
func NewJSON(to io.Writer) *json.Encoder {
	enc := json.NewEncoder(to)
	enc.SetEscapeHTML(false)
	return enc
}

func borrowEncoder() *Encoder {
	e, _ := encoders.Get().(*Encoder) // New makes no other
	e.reset(nil)
	return e
}

func (e *Encoder) reset(to io.Writer) {
	e.to, e.chunk, e.full, e.length, e.err = to, e.chunk[:0], false, 0, nil
}

// giveBack ends the use of the encoder and of its chunk.
func (e *Encoder) giveBack() {
	e.reset(nil)
	if e.small.Cap() <= chunkSize {
		encoders.Put(e)
	}
}

// Raw writes a document as it is.
func (e *Encoder) Raw(document []byte) { put(e, document) }

// Text writes what is JSON already.
func (e *Encoder) Text(s string) { put(e, s) }

func put[T string | []byte](e *Encoder, text T) {
	e.length += len(text)
	for e.err == nil && !e.full {
		n := min(len(text), chunkSize-len(e.chunk))
		if whole, ok := any(text[:n]).([]byte); ok && e.to != nil && n == chunkSize { // the chunk is empty
			_, e.err = e.to.Write(whole)
		} else {
			e.chunk = append(e.chunk, text[:n]...)
		}
		if text = text[n:]; len(text) == 0 {
			return
		}
		if e.to == nil {
			e.full = true
			return
		}
		e.flush()
	}
}

func (e *Encoder) flush() {
	if e.err == nil && len(e.chunk) > 0 {
		_, e.err = e.to.Write(e.chunk)
	}
	e.chunk = e.chunk[:0]
}

// encode returns the JSON of a small value, until the next call.
func (e *Encoder) encode(value any) []byte {
	e.small.Reset()
	if err := e.encoder.Encode(value); err != nil && e.err == nil {
		e.err = err
	}
	return bytes.TrimSuffix(e.small.Bytes(), []byte("\n"))
}

// Value writes a small value.
func (e *Encoder) Value(v any) { e.Raw(e.encode(v)) }

// Open writes an object with at least one member, without its last brace. More members may
// follow, then [Encoder.Close].
func (e *Encoder) Open(object any) { e.Raw(bytes.TrimSuffix(e.encode(object), []byte("}"))) }

// Members writes further members: those of an object that has at least one.
func (e *Encoder) Members(object any) {
	e.Text(",")
	e.Raw(bytes.TrimSuffix(bytes.TrimPrefix(e.encode(object), []byte("{")), []byte("}")))
}

// Name writes the name of another member, which needs no escapes. Its value follows.
func (e *Encoder) Name(name string) {
	e.Text(`,"`)
	e.Text(name)
	e.Text(`":`)
}

// Close ends an object.
func (e *Encoder) Close() { e.Text("}") }

// Document writes another member whose value is kept as JSON, unless there is none.
func (e *Encoder) Document(name string, text json.RawMessage) {
	if len(text) > 0 {
		e.Name(name)
		e.Raw(text)
	}
}

// Compact writes another member, without the white space between the tokens of its value,
// as encoding/json does.
func (e *Encoder) Compact(name, text string) {
	e.Name(name)
	from, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case !quoted && (c == ' ' || c == '\t' || c == '\r' || c == '\n'):
			e.Text(text[from:i])
			from = i + 1
		}
	}
	e.Text(text[from:])
}

// List writes another member, an array.
func (e *Encoder) List(name string, length int, element func(i int)) {
	e.Name(name)
	e.Array(length, element)
}

// Array writes an array.
func (e *Encoder) Array(length int, element func(i int)) {
	e.Text("[")
	for i := range length {
		if i > 0 {
			e.Text(",")
		}
		element(i)
	}
	e.Text("]")
}

// Limit makes it an error that more than so many bytes were written so far.
func (e *Encoder) Limit(most int, err error) {
	if e.length > most && e.err == nil {
		e.err = err
	}
}

// Marshal returns a whole body, behind a prefix.
func Marshal(prefix string, body Body) ([]byte, error) {
	e := borrowEncoder()
	defer e.giveBack()
	if body.EncodeTo(e); e.err != nil {
		return nil, e.err
	}
	b := bytes.NewBuffer(make([]byte, 0, len(prefix)+e.length))
	b.WriteString(prefix)
	if !e.full {
		b.Write(e.chunk)
		return b.Bytes(), nil
	}
	e.reset(b)
	body.EncodeTo(e)
	e.flush()
	return b.Bytes(), e.err
}

var errOtherLength = errors.New("an answer is not as long as it was when it was measured")

// Send writes a body. begin is called once with its length, before anything is written, so
// that what cannot be encoded is an error like any other. An error after begin was called
// leaves an answer that has to be cut off.
func Send(body Body, begin func(length int) io.Writer) (begun bool, err error) {
	e := borrowEncoder()
	defer e.giveBack()
	switch body.EncodeTo(e); {
	case e.err != nil:
		return false, e.err
	case !e.full:
		_, _ = begin(e.length).Write(e.chunk) // the server notices a client that is gone
		return true, nil
	}
	length := e.length
	e.reset(begin(length))
	body.EncodeTo(e)
	e.flush()
	if e.err == nil && e.length != length {
		e.err = fmt.Errorf("%w: %d bytes and not %d", errOtherLength, e.length, length)
	}
	return true, e.err
}
