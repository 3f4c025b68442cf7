package jsonread

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sluicehq/sluice/domain"
)

// flaw is what makes a well-formed string unacceptable.
type flaw uint8

const (
	sound         flaw = iota
	holdsNUL           // PostgreSQL stores it neither in text nor in jsonb
	halfSurrogate      // no character, so no UTF-8 either
	notUTF8
)

// string reads a string that is a value.
func (p *parser) string() bool {
	start := p.pos
	f, ok := p.quoted()
	if ok && f != sound {
		p.flawed(f, start)
	}
	return ok
}

// quoted reads a string and adds its node. It reports the first flaw.
func (p *parser) quoted() (f flaw, ok bool) {
	start, escaped := p.pos, false
	for i := start + 1; i < len(p.text); {
		switch c := p.text[i]; {
		case c == '"':
			p.pos = i + 1
			p.scalar(text, start, escaped)
			return f, true
		case c == '\\':
			escaped = true
			size, found := p.escape(i)
			if size == 0 {
				return f, false
			}
			f, i = first(f, found), i+size
		case c == 0:
			f, i = first(f, holdsNUL), i+1
		case c < ' ':
			p.pos = i
			return f, p.broken("expected the end of the string or an escape, not %s", p.here())
		case c >= utf8.RuneSelf && !p.valid:
			r, size := utf8.DecodeRuneInString(p.text[i:])
			if r == utf8.RuneError && size == 1 {
				f = first(f, notUTF8)
			}
			i += size
		default:
			i++
		}
	}
	p.pos = len(p.text)
	return f, p.broken("expected the end of the string, not %s", p.here())
}

func first(a, b flaw) flaw {
	if a != sound {
		return a
	}
	return b
}

// escape checks the escape at i and returns its size, 0 when it is none. A pair of
// surrogates is one escape.
func (p *parser) escape(i int) (size int, f flaw) {
	if i+1 < len(p.text) {
		switch p.text[i+1] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			return len(`\n`), sound
		case 'u':
			r, ok := hexRune(p.text[i:])
			switch {
			case !ok:
				p.pos = i
				p.broken(`expected four hexadecimal digits after \u`)
				return 0, sound
			case r == 0:
				return len(`\u0000`), holdsNUL
			case !utf16.IsSurrogate(r):
				return len(`\u0000`), sound
			}
			low, ok := hexRune(p.text[i+len(`\u0000`):])
			if ok && utf16.DecodeRune(r, low) != utf8.RuneError {
				return len(`\u0000\u0000`), sound
			}
			return len(`\u0000`), halfSurrogate
		}
	}
	p.pos = i
	p.broken(`expected one of "\/bfnrtu after the backslash`)
	return 0, sound
}

// hexRune reads \uXXXX at the front of s.
func hexRune(s string) (r rune, ok bool) {
	if len(s) < len(`\u0000`) || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	for _, c := range []byte(s[2:6]) {
		switch {
		case isDigit(c):
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// unescape resolves the escapes of a string that was read.
func unescape(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		c, size := s[i+1], len(`\n`)
		switch c {
		case 'b':
			b.WriteByte('\b')
		case 'f':
			b.WriteByte('\f')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case 'u':
			r, _ := hexRune(s[i:])
			size = len(`\u0000`)
			if low, ok := hexRune(s[i+size:]); ok && utf16.IsSurrogate(r) {
				r, size = utf16.DecodeRune(r, low), 2*size
			}
			b.WriteRune(r)
		default:
			b.WriteByte(c)
		}
		s = s[i+size:]
	}
}

// number reads a number (RFC 8259, §6).
func (p *parser) number() bool {
	start := p.pos
	if p.at('-') {
		p.pos++
	}
	if p.at('0') {
		p.pos++
		if p.pos < len(p.text) && isDigit(p.text[p.pos]) {
			return p.broken("expected a number without leading zeros")
		}
	} else if !p.digits() {
		return p.broken("expected a digit, not %s", p.here())
	}
	if p.at('.') {
		p.pos++
		if !p.digits() {
			return p.broken("expected a digit after the decimal point, not %s", p.here())
		}
	}
	exponent := p.at('e') || p.at('E')
	if exponent {
		p.pos++
		if p.at('+') || p.at('-') {
			p.pos++
		}
		if !p.digits() {
			return p.broken("expected a digit in the exponent, not %s", p.here())
		}
	}
	if raw := p.text[start:p.pos]; exponent || len(raw) > maxDigits {
		p.checkRange(raw, start)
	}
	p.scalar(number, start, false)
	return true
}

// maxDigits is how long a number without an exponent may be and is still no greater than
// a double can be.
const maxDigits = 308

// checkRange refuses a number that no double can hold, which most readers of JSON could
// not read back (RFC 7493, §2.2).
func (p *parser) checkRange(raw string, pos int) {
	if _, err := strconv.ParseFloat(raw, 64); err == nil {
		return
	}
	if raw[0] == '-' {
		p.refuse(pos, domain.TooSmall, "must be at least "+domain.LeastDouble+", not "+legible(raw))
		return
	}
	p.refuse(pos, domain.TooLarge, "must be at most "+domain.GreatestDouble+", not "+legible(raw))
}

// digits reads as many digits as there are and says whether there are any.
func (p *parser) digits() bool {
	from := p.pos
	for p.pos < len(p.text) && isDigit(p.text[p.pos]) {
		p.pos++
	}
	return p.pos > from
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// here describes what stands at the position, for a message.
func (p *parser) here() string {
	if p.pos >= len(p.text) {
		return "the end of the body"
	}
	r, size := utf8.DecodeRuneInString(p.text[p.pos:])
	switch {
	case r == utf8.RuneError && size == 1:
		return "a byte that is no UTF-8"
	case r == '"':
		return "a string"
	}
	return strconv.QuoteRune(r)
}

// word describes the letters that stand at the position.
func (p *parser) word() string {
	end := p.pos
	for end < len(p.text) && end < p.pos+longestName && 'a' <= p.text[end]|' ' && p.text[end]|' ' <= 'z' {
		end++
	}
	return strconv.Quote(p.text[p.pos:end])
}
