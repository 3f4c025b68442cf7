package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/gin-gonic/gin"
)

// pieceSize bounds, in bytes, what is gathered of an answer before it is written.
const pieceSize = 32 << 10

// inPieces is an answer that may be large. It is written to the client as it is encoded,
// without ever being there as a whole.
type inPieces interface {
	// writeTo writes the same each time.
	writeTo(p *pieces)
}

// pieces writes JSON: what is small is encoded and gathered, and documents, which are
// kept as JSON, are written as they are. After an error it writes nothing any more.
type pieces struct {
	to       io.Writer // nil where only the first piece and the length are asked for
	gathered []byte    // not yet written; at most pieceSize
	full     bool      // without to: there is more than the first piece
	length   int       // of everything so far
	err      error

	small   bytes.Buffer // the value that is being encoded
	encoder *json.Encoder
}

var manyPieces = sync.Pool{New: func() any {
	p := &pieces{gathered: make([]byte, 0, pieceSize)}
	p.encoder = newEncoder(&p.small)
	return p
}}

func newPieces() *pieces {
	p, _ := manyPieces.Get().(*pieces) // New makes no other
	p.begin(nil)
	return p
}

// begin starts anew.
func (p *pieces) begin(to io.Writer) {
	p.to, p.gathered, p.full, p.length, p.err = to, p.gathered[:0], false, 0, nil
}

// done gives the memory back. Nobody may look at what was gathered any more.
func (p *pieces) done() {
	p.begin(nil)
	if p.small.Cap() <= pieceSize {
		manyPieces.Put(p)
	}
}

// raw writes a document as it is, and text what is JSON already.
func (p *pieces) raw(document []byte) { put(p, document) }
func (p *pieces) text(s string)       { put(p, s) }

// put writes in pieces of a bounded size.
func put[T string | []byte](p *pieces, text T) {
	p.length += len(text)
	for p.err == nil && !p.full {
		n := min(len(text), pieceSize-len(p.gathered))
		if whole, ok := any(text[:n]).([]byte); ok && p.to != nil && n == pieceSize { // there is nothing to gather it with
			_, p.err = p.to.Write(whole)
		} else {
			p.gathered = append(p.gathered, text[:n]...)
		}
		if text = text[n:]; len(text) == 0 {
			return
		}
		if p.to == nil {
			p.full = true
			return
		}
		p.flush()
	}
}

// flush writes what is gathered.
func (p *pieces) flush() {
	if p.err == nil && len(p.gathered) > 0 {
		_, p.err = p.to.Write(p.gathered)
	}
	p.gathered = p.gathered[:0]
}

// encode returns the JSON of a small value. It stands until the next one.
func (p *pieces) encode(value any) []byte {
	p.small.Reset()
	if err := p.encoder.Encode(value); err != nil && p.err == nil {
		p.err = err
	}
	return bytes.TrimSuffix(p.small.Bytes(), []byte("\n"))
}

// value writes a small value.
func (p *pieces) value(v any) { p.raw(p.encode(v)) }

// open writes an object that has at least one member, up to its last brace; what is
// written as [pieces.member] then belongs to it, until [pieces.close].
func (p *pieces) open(object any) { p.raw(bytes.TrimSuffix(p.encode(object), []byte("}"))) }

// member writes the name of another member, which needs no escapes. Its value follows.
func (p *pieces) member(name string) {
	p.text(`,"`)
	p.text(name)
	p.text(`":`)
}

func (p *pieces) close() { p.text("}") }

// document writes another member whose value is kept as JSON, unless there is none.
func (p *pieces) document(name string, text json.RawMessage) {
	if len(text) > 0 {
		p.member(name)
		p.raw(text)
	}
}

// rest writes further members, those of an object that has at least one.
func (p *pieces) rest(object any) {
	p.text(",")
	p.raw(bytes.TrimSuffix(bytes.TrimPrefix(p.encode(object), []byte("{")), []byte("}")))
}

// compact writes another member whose value is kept as its author spaced it, without what
// stands between its tokens, as encoding/json writes it.
func (p *pieces) compact(name, text string) {
	p.member(name)
	from, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case !quoted && (c == ' ' || c == '\t' || c == '\r' || c == '\n'):
			p.text(text[from:i])
			from = i + 1
		}
	}
	p.text(text[from:])
}

// list writes another member, an array of as many elements.
func (p *pieces) list(name string, length int, element func(i int)) {
	p.member(name)
	p.array(length, element)
}

func (p *pieces) array(length int, element func(i int)) {
	p.text("[")
	for i := range length {
		if i > 0 {
			p.text(",")
		}
		element(i)
	}
	p.text("]")
}

// bound makes it an error that so far there is more than so many bytes.
func (p *pieces) bound(most int, err error) {
	if p.length > most && p.err == nil {
		p.err = err
	}
}

// inOne is the whole of a value, behind a prefix.
func inOne(prefix string, value inPieces) ([]byte, error) {
	p := newPieces()
	defer p.done()
	if value.writeTo(p); p.err != nil {
		return nil, p.err
	}
	b := bytes.NewBuffer(make([]byte, 0, len(prefix)+p.length))
	b.WriteString(prefix)
	if !p.full {
		b.Write(p.gathered)
		return b.Bytes(), nil
	}
	p.begin(b)
	value.writeTo(p)
	p.flush()
	return b.Bytes(), p.err
}

var errOtherLength = errors.New("an answer is not as long as it was when it was measured")

// writeInPieces answers with a value. How long it is, is found out before anything is
// written: so the client knows when it has all, and what cannot be encoded becomes an
// error as any other. Where it goes wrong after that, the connection is cut, so that
// nobody takes what was written for the whole.
func writeInPieces(c *gin.Context, status int, value inPieces) error {
	p := newPieces()
	defer p.done()
	switch value.writeTo(p); {
	case p.err != nil:
		return p.err
	case !p.full:
		write(c, status, p.gathered)
		return nil
	}
	length := p.length
	setHead(c, status, length)
	p.begin(c.Writer)
	value.writeTo(p)
	p.flush()
	if p.err == nil && p.length != length {
		p.err = fmt.Errorf("%w: %d bytes and not %d", errOtherLength, p.length, length)
	}
	if p.err != nil {
		noteCause(c, p.err)
		panic(http.ErrAbortHandler)
	}
	return nil
}
