package jsonread

import (
	"slices"
	"strings"
)

// Canonical returns one spelling for all texts that mean the same, for fingerprints:
// members sorted by name, no white space, only the necessary escapes, and numbers
// in a normal form. It follows RFC 8785 in spirit, with two differences: numbers are
// not rounded to doubles, so that 9007199254740993 is not taken for its neighbour,
// and names are sorted by their UTF-8. The zero Object gives {}.
func (o Object) Canonical() []byte {
	if o.tree == nil {
		return []byte("{}")
	}
	return o.tree.canonical(make([]byte, 0, len(o.tree.text)), o.at)
}

func (t *tree) canonical(b []byte, at uint32) []byte {
	switch n := t.nodes[at]; n.kind {
	case text:
		return t.canonicalString(b, at)
	case number:
		return parseDecimal(t.raw(at)).appendTo(b)
	case array:
		b = append(b, '[')
		for i := at + 1; i < n.after; i = t.nodes[i].after {
			if i > at+1 {
				b = append(b, ',')
			}
			b = t.canonical(b, i)
		}
		return append(b, ']')
	case object:
		b = append(b, '{')
		for i, m := range t.sorted(at) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(t.canonicalString(b, m.at), ':')
			b = t.canonical(b, m.at+1)
		}
		return append(b, '}')
	case null, boolean:
	}
	return append(b, t.raw(at)...)
}

type namedNode struct {
	name string
	at   uint32
}

func (t *tree) sorted(at uint32) []namedNode {
	count := 0
	for i := at + 1; i < t.nodes[at].after; i = t.nodes[i+1].after {
		count++
	}
	members := make([]namedNode, 0, count)
	for i := at + 1; i < t.nodes[at].after; i = t.nodes[i+1].after {
		members = append(members, namedNode{t.str(i), i})
	}
	slices.SortFunc(members, func(a, b namedNode) int { return strings.Compare(a.name, b.name) })
	return members
}

// canonicalString writes a string with nothing escaped but quotes, backslashes and
// control characters.
func (t *tree) canonicalString(b []byte, at uint32) []byte {
	if !t.nodes[at].escaped {
		return append(b, t.raw(at)...)
	}
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for _, c := range []byte(t.str(at)) {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ':
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
