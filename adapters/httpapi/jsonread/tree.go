package jsonread

import (
	"strings"
	"unicode/utf8"

	"github.com/sluicehq/sluice/domain"
)

// kind is the JSON type of a value.
type kind uint8

const (
	null kind = iota
	boolean
	number
	text
	array
	object
)

// String names the type with its article, for a message.
func (k kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "an array", "an object"}[k]
}

// node is one value of the tree, or the name of a member. Nodes lie in the order of
// the text, each before its children, so a tree is one slice: the children of an
// array follow it, those of an object too, as name, value, name, value.
type node struct {
	start, end uint32 // the text, quotes and brackets included
	after      uint32 // the index of the first node that is not a part of this one
	kind       kind
	escaped    bool // of a string: holds a backslash
	spaced     bool // of an array or object: white space stands between its parts
	use        use
}

// use is what has been asked of a value so far.
type use uint8

const (
	unasked use = iota
	asked       // for the member or element
	entered     // for its members or elements, one by one
)

type tree struct {
	text  string
	nodes []node
}

// keepWhole is the size of a body, in bytes, up to which its strings share its
// memory. A short string must not keep a large body alive.
const keepWhole = 4 << 10

// raw is the text of a node as it was sent.
func (t *tree) raw(at uint32) string { return t.text[t.nodes[at].start:t.nodes[at].end] }

// str is the value of a string or of a member's name.
func (t *tree) str(at uint32) string {
	n := t.nodes[at]
	inner := t.text[n.start+1 : n.end-1]
	if n.escaped {
		return unescape(inner)
	}
	return inner
}

// owned returns a text that may be kept for long.
func (t *tree) owned(s string) string {
	if len(t.text) <= keepWhole {
		return s
	}
	return strings.Clone(s)
}

// compact is the text of a node without white space between its parts.
func (t *tree) compact(at uint32) string {
	raw := t.raw(at)
	if !t.nodes[at].spaced {
		return t.owned(raw)
	}
	var b strings.Builder
	b.Grow(len(raw))
	quoted := false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			b.WriteByte(c)
			i++
			b.WriteByte(raw[i])
			continue
		case c == '"':
			quoted = !quoted
		case !quoted && isSpace(c):
			continue
		}
		b.WriteByte(raw[i])
	}
	return b.String()
}

// member returns the index of the value of a member; 0, which is the root and
// nobody's member, when there is none.
func (t *tree) member(of uint32, name string) uint32 {
	for i := of + 1; i < t.nodes[of].after; i = t.nodes[i+1].after {
		n := t.nodes[i]
		if !n.escaped && t.text[n.start+1:n.end-1] == name || n.escaped && t.str(i) == name {
			return i + 1
		}
	}
	return 0
}

// path is the way from the root to a value, as the client would write it:
// nodes[2].config. It is found by a walk, so that values need not carry it.
func (t *tree) path(to uint32) string {
	path, at := "", uint32(0)
	for at != to {
		i, index, step := at+1, 0, uint32(0)
		if t.nodes[at].kind == object {
			step = 1
		}
		for t.nodes[i+step].after <= to {
			i = t.nodes[i+step].after
			index++
		}
		if step == 1 {
			path = domain.Member(path, legible(t.str(i)))
		} else {
			path = domain.Index(path, index)
		}
		at = i + step
	}
	return path
}

// longestName bounds a name of the client's in a path or a message, in characters.
const longestName = 64

// legible is a name as a path or a message can show it: valid, printable and not
// too long.
func legible(name string) string {
	return domain.Clip(strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return utf8.RuneError
		}
		return c
	}, strings.ToValidUTF8(name, string(utf8.RuneError))), longestName)
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
