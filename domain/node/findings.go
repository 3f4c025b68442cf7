package node

import (
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

// clip shortens a name that a client chose to what a path or a message can bear.
func clip(name string) string {
	const longest = maxName * utf8.UTFMax
	if len(name) <= longest {
		return name
	}
	cut := longest
	for cut > 0 && !utf8.RuneStart(name[cut]) {
		cut--
	}
	return name[:cut] + "…"
}
