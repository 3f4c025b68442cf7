package node

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sluicehq/sluice/domain"
)

// MaxFindings bounds how many violations one check reports. What a client sends
// may hold a mistake in each of a million elements.
const MaxFindings = 200

// maxName bounds the name of a node, a field or a property, in characters.
const maxName = 255

// findings records violations up to [MaxFindings].
type findings struct {
	r     *domain.Rules
	count int
}

func newFindings(r *domain.Rules) *findings { return &findings{r: r} }

// check records a violation of field unless ok. The message is formatted only
// then.
func (f *findings) check(ok bool, field string, code domain.ViolationCode, format string, args ...any) {
	if !ok {
		f.count++
		if !f.full() {
			f.r.Check(false, field, code, format, args...)
		}
	}
}

// text checks a string as [domain.Rules.Text] does.
func (f *findings) text(value, field string, minLen, maxLen int) {
	var r domain.Rules
	r.Text(value, field, minLen, maxLen)
	for _, v := range r.Violations() {
		f.check(false, v.Field, v.Code, "%s", v.Message)
	}
}

func (f *findings) none() bool { return f.count == 0 }

// full says that no further violation will be recorded, so that a walk may end.
func (f *findings) full() bool { return f.count > MaxFindings }

// clip shortens a client's name for a path or a message. What does not print is written as
// JSON escapes it, a\u0000b, because not every store can keep it; what is no UTF-8 becomes
// U+FFFD.
func clip(name string) string {
	const longest = maxName * utf8.UTFMax
	end := ""
	if len(name) > longest {
		cut := longest
		for cut > 0 && !utf8.RuneStart(name[cut]) {
			cut--
		}
		name, end = name[:cut], "…"
	}
	for _, c := range name {
		if !unicode.IsPrint(c) || c == utf8.RuneError {
			return escaped(name) + end
		}
	}
	return name + end
}

func escaped(name string) string {
	var b strings.Builder
	for _, c := range name {
		switch high, low := utf16.EncodeRune(c); {
		case unicode.IsPrint(c) || c == utf8.RuneError:
			b.WriteRune(c)
		case c > 0xffff:
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, c)
		}
	}
	return b.String()
}
