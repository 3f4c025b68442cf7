package language

import (
	"slices"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// TextBuilder builds a string and joins the halves of surrogate pairs.
type TextBuilder struct {
	m *Machine
	b []byte
}

// reserve counts n more bytes and makes room for them.
func (t *TextBuilder) reserve(n int) {
	t.m.work(n)
	t.m.alloc(n)
	if cap(t.b)-len(t.b) < n {
		t.b = slices.Grow(t.b, max(n, len(t.b), 16))
	}
}

// Add appends s, after its bytes are counted.
func (t *TextBuilder) Add(s string) {
	t.reserve(len(s))
	if startsWithLow(s) && endsWithHigh(t.b) {
		n := len(t.b)
		high := rune(t.b[n-3]&0x0f)<<12 | rune(t.b[n-2]&0x3f)<<6 | rune(t.b[n-1]&0x3f)
		low, _ := decode(s)
		t.b = utf8.AppendRune(t.b[:n-3], utf16.DecodeRune(high, low))
		s = s[3:]
	}
	t.b = append(t.b, s...)
}

// String ends the text; nothing is added afterwards.
func (t *TextBuilder) String() string { return unsafe.String(unsafe.SliceData(t.b), len(t.b)) }

// Bytes are those that were added; they must not be changed.
func (t *TextBuilder) Bytes() []byte { return t.b }
