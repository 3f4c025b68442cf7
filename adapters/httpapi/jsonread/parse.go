package jsonread

import (
	"math"
	"unicode/utf8"

	"github.com/sluicehq/sluice/domain"
)

// MaxDepth is how deep arrays and objects may be nested, the outermost counted.
const MaxDepth = 64

// Parse reads one JSON object (RFC 8259) in UTF-8. A body that is empty or white
// space equals an empty object.
//
// The error is of the kind Invalid. Its code is wrong_type when the body is JSON
// but no object, and malformed_json for everything else: a syntax error, a byte
// order mark, a second document, a member written twice, nesting deeper than
// [MaxDepth], a number beyond what a double can hold, such as 1e400, and inside a string
// or name U+0000, half a surrogate pair or what is no UTF-8. The message names line and column (in characters, from 1) and the
// violations the paths; all of them are reported, except that nothing is known after
// a syntax error.
//
// Names are compared as they are spelled once escapes are resolved. The body may be
// changed afterwards.
func Parse(body []byte) (Object, error) {
	if len(body) > math.MaxInt32 {
		return Object{}, domain.Fail(domain.Invalid, "malformed_json", "The request body is larger than 2 GiB.")
	}
	p := &parser{tree: &tree{text: string(body)}, valid: utf8.Valid(body)}
	p.space()
	if p.pos == len(p.text) {
		return Object{}, nil
	}
	p.nodes = make([]node, 0, nodesOf(body))
	if err := p.document(); err != nil {
		return Object{}, err
	}
	if k := p.nodes[0].kind; k != object {
		return Object{}, &domain.Error{
			Kind: domain.Invalid, Code: string(domain.WrongType), Message: "The request body must be a JSON object, not " + k.String() + ".",
			Violations: []domain.Violation{{Code: domain.WrongType, Message: "the body must be a JSON object, not " + k.String()}},
		}
	}
	return Object{tree: p.tree}, nil
}

// nodesOf is how many nodes to reserve: of a large body exactly as many as it has,
// since a slice that grows takes more than twice as much for a moment.
func nodesOf(body []byte) int {
	if len(body) <= keepWhole {
		return len(body)/8 + 8
	}
	w := domain.WeighJSON(body)
	return int(w.Values + w.Names)
}

// parser reads the text from front to back. A method that returns false has met
// what makes the rest unreadable.
type parser struct {
	*tree
	valid  bool // the text is UTF-8
	pos    int
	spaces int // white space seen between the parts so far
	frames [MaxDepth]frame
	depth  int // frames in use
	found  findings
}

// frame is an array or object that is being read.
type frame struct {
	of    kind
	name  uint32 // of an object: the node of the current member's name, 0 between members
	index int    // of an array: the current element
}

func (p *parser) document() error {
	if len(p.text) >= 3 && p.text[:3] == "\xEF\xBB\xBF" {
		p.broken("expected the JSON to begin at once, not a byte order mark")
		return p.refusal()
	}
	if p.value() {
		p.space()
		if p.pos < len(p.text) {
			p.broken("expected the end of the body after the JSON document, not %s", p.here())
		}
	}
	return p.refusal()
}

func (p *parser) space() {
	from := p.pos
	for p.pos < len(p.text) && isSpace(p.text[p.pos]) {
		p.pos++
	}
	p.spaces += p.pos - from
}

// value reads the value that begins here.
func (p *parser) value() bool {
	if p.pos == len(p.text) {
		return p.broken("expected a value, not %s", p.here())
	}
	switch c := p.text[p.pos]; {
	case c == '"':
		return p.string()
	case c == '{':
		return p.object()
	case c == '[':
		return p.array()
	case c == '-' || isDigit(c):
		return p.number()
	case c == 't':
		return p.literal("true", boolean)
	case c == 'f':
		return p.literal("false", boolean)
	case c == 'n':
		return p.literal("null", null)
	}
	return p.broken("expected a value, not %s", p.here())
}

// scalar adds the node of a value without children, which ends here.
func (p *parser) scalar(k kind, start int, escaped bool) {
	p.nodes = append(p.nodes, node{
		start: uint32(start), end: uint32(p.pos), after: uint32(len(p.nodes) + 1), kind: k, escaped: escaped,
	})
}

func (p *parser) literal(word string, k kind) bool {
	start := p.pos
	if len(p.text)-start < len(word) || p.text[start:start+len(word)] != word {
		return p.broken("expected a value, not %s", p.word())
	}
	p.pos += len(word)
	p.scalar(k, start, false)
	return true
}

// enter opens an array or object and returns the index of its node.
func (p *parser) enter(k kind) (at uint32, ok bool) {
	if p.depth == MaxDepth {
		return 0, p.broken("expected at most %d levels of arrays and objects, one within the other", MaxDepth)
	}
	at = uint32(len(p.nodes))
	p.nodes = append(p.nodes, node{start: uint32(p.pos), kind: k})
	p.frames[p.depth] = frame{of: k}
	p.depth++
	p.pos++
	return at, true
}

// leave closes the array or object behind its bracket.
func (p *parser) leave(at uint32, spacesBefore int) bool {
	p.pos++
	p.depth--
	n := &p.nodes[at]
	n.end, n.after, n.spaced = uint32(p.pos), uint32(len(p.nodes)), p.spaces != spacesBefore
	return true
}

func (p *parser) array() bool {
	spaces := p.spaces
	at, ok := p.enter(array)
	if !ok {
		return false
	}
	f := &p.frames[p.depth-1]
	if p.space(); p.at(']') {
		return p.leave(at, spaces)
	}
	for {
		if !p.value() {
			return false
		}
		p.space()
		switch {
		case p.at(']'):
			return p.leave(at, spaces)
		case !p.at(','):
			return p.broken(`expected "," or "]" after an element, not %s`, p.here())
		}
		f.index++
		p.pos++
		if p.space(); p.at(']') {
			return p.broken(`expected another element after ",", not %s`, p.here())
		}
	}
}

func (p *parser) object() bool {
	spaces := p.spaces
	at, ok := p.enter(object)
	if !ok {
		return false
	}
	f := &p.frames[p.depth-1]
	if p.space(); p.at('}') {
		return p.leave(at, spaces)
	}
	var seen names
	for {
		if !p.name(f, &seen) || !p.value() {
			return false
		}
		f.name = 0
		p.space()
		switch {
		case p.at('}'):
			return p.leave(at, spaces)
		case !p.at(','):
			return p.broken(`expected "," or "}" after a member, not %s`, p.here())
		}
		p.pos++
		if p.space(); p.at('}') {
			return p.broken(`expected another member after ",", not %s`, p.here())
		}
	}
}

// name reads the name of a member and what leads to its value.
func (p *parser) name(f *frame, seen *names) bool {
	if !p.at('"') {
		return p.broken("expected the name of a member in double quotes, not %s", p.here())
	}
	start, at := p.pos, uint32(len(p.nodes))
	flaw, ok := p.quoted()
	if !ok {
		return false
	}
	f.name = at
	if flaw != sound {
		p.flawed(flaw, start)
	} else if !seen.add(p.tree, at) {
		p.refuse(start, domain.Duplicate, "must not occur twice in the same object")
	}
	p.space()
	if !p.at(':') {
		return p.broken(`expected ":" after the name of a member, not %s`, p.here())
	}
	p.pos++
	p.space()
	return true
}

func (p *parser) at(c byte) bool { return p.pos < len(p.text) && p.text[p.pos] == c }
