package language

import (
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// JavaScript's strings are sequences of UTF-16 code units. Here they are Go
// strings in WTF-8: UTF-8 in which half of a surrogate pair, which split("") or
// slice can cut out, stands as the three bytes that UTF-8 would give it. Two halves
// that meet again are joined (see TextBuilder), so equal strings have equal bytes.

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// decode reads the first code point of s, a lone surrogate included. Bytes that
// are neither count as U+FFFD each.
func decode(s string) (rune, int) {
	r, size := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && size == 1 && isHalf(s) {
		return rune(s[0]&0x0f)<<12 | rune(s[1]&0x3f)<<6 | rune(s[2]&0x3f), 3
	}
	return r, size
}

// isHalf reports whether s begins with a lone surrogate.
func isHalf(s string) bool {
	return len(s) >= 3 && s[0] == 0xed && s[1] >= 0xa0 && s[1] <= 0xbf && s[2] >= 0x80 && s[2] <= 0xbf
}

func endsWithHigh[T string | []byte](s T) bool {
	n := len(s)
	return n >= 3 && s[n-3] == 0xed && s[n-2] >= 0xa0 && s[n-2] <= 0xaf
}

func startsWithLow(s string) bool {
	return isHalf(s) && s[1] >= 0xb0
}

// wellFormed reports whether s holds no lone surrogate.
func wellFormed(s string) bool {
	for i := strings.IndexByte(s, 0xed); i >= 0 && i < len(s); i++ {
		if isHalf(s[i:]) {
			return false
		}
		next := strings.IndexByte(s[i+1:], 0xed)
		if next < 0 {
			return true
		}
		i += next
	}
	return true
}

// unitLen counts the code units of s.
func (m *Machine) unitLen(s string) int {
	if len(s) > 64 {
		m.work(len(s))
	}
	return unitLen(s)
}

func unitLen(s string) int {
	n := 0
	for i := 0; i < len(s); {
		n++
		switch c := s[i]; {
		case c < utf8.RuneSelf:
			i++
			continue
		case c >= 0xc2 && c < 0xe0 && i+1 < len(s) && isContinuation(s[i+1]):
			i += 2
			continue
		case c > 0xe0 && c < 0xf0 && i+2 < len(s) && isContinuation(s[i+1]) && isContinuation(s[i+2]):
			i += 3 // half of a pair, too
			continue
		}
		r, size := decode(s[i:])
		i += size
		if r > 0xffff {
			n++
		}
	}
	return n
}

// isContinuation reports whether a byte is one of UTF-8 that does not begin a character.
func isContinuation(c byte) bool { return c&0xc0 == 0x80 }

// units returns the code units of s.
func (m *Machine) units(s string) []uint16 {
	m.work(len(s))
	m.alloc(2 * len(s))
	return appendUnits(make([]uint16, 0, len(s)), s)
}

func appendUnits(to []uint16, s string) []uint16 {
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			to = append(to, uint16(s[i]))
			i++
			continue
		}
		r, size := decode(s[i:])
		i += size
		if r > 0xffff {
			high, low := utf16.EncodeRune(r)
			to = append(to, uint16(high), uint16(low))
		} else {
			to = append(to, uint16(r))
		}
	}
	return to
}

// fromUnits is the reverse of units.
func (m *Machine) fromUnits(units []uint16) string {
	m.work(4 * len(units))
	m.alloc(3 * len(units))
	size := 0
	for _, u := range units { // half of a pair takes more than it needs
		size += max(1, utf8.RuneLen(min(rune(u), 0xd7ff)))
	}
	b := make([]byte, 0, size)
	for i := 0; i < len(units); i++ {
		r := rune(units[i])
		if utf16.IsSurrogate(r) {
			if i+1 < len(units) {
				if pair := utf16.DecodeRune(r, rune(units[i+1])); pair != utf8.RuneError {
					b = utf8.AppendRune(b, pair)
					i++
					continue
				}
			}
			b = append(b, 0xe0|byte(r>>12), 0x80|byte(r>>6&0x3f), 0x80|byte(r&0x3f))
			continue
		}
		b = utf8.AppendRune(b, r)
	}
	return unsafe.String(unsafe.SliceData(b), len(b)) // nothing else sees b
}

// substring returns the code units from up to to, both within bounds.
func (m *Machine) substring(s string, from, to int) string {
	if from >= to {
		return ""
	}
	if m.work(len(s)); isASCII(s) {
		return s[from:to]
	}
	return m.fromUnits(m.units(s)[from:to])
}

// codePoints splits s into what the iteration of a string gives.
func (m *Machine) codePoints(s string) []any {
	m.spend(len(s), 16*len(s))
	points := make([]any, 0, utf8.RuneCountInString(s))
	for len(s) > 0 {
		_, size := decode(s)
		points = append(points, s[:size])
		s = s[size:]
	}
	return points
}

// compareText orders strings by their code units.
func (m *Machine) compareText(a, b string) int {
	n := min(len(a), len(b))
	m.work(n)
	i := 0
	for i < n && a[i] == b[i] {
		i++
	}
	if i == n {
		return len(a) - len(b)
	}
	if a[i] < 0xed || b[i] < 0xed {
		return int(a[i]) - int(b[i])
	}
	x, _ := decode(a[i:])
	y, _ := decode(b[i:])
	if first := int(firstUnit(x)) - int(firstUnit(y)); first != 0 {
		return first
	}
	return slices.Compare(m.units(a[i:]), m.units(b[i:])) // half a pair and a whole one
}

func firstUnit(r rune) rune {
	if r > 0xffff {
		r, _ = utf16.EncodeRune(r)
	}
	return r
}

// concat joins two strings.
func (m *Machine) concat(a, b string) string {
	if a == "" {
		return b
	}
	if endsWithHigh(a) && startsWithLow(b) {
		t := TextBuilder{m: m}
		t.Add(a)
		t.Add(b)
		return t.String()
	}
	m.alloc(len(a) + len(b))
	m.work(len(a) + len(b))
	return a + b
}
