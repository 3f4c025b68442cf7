package domain

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Violation is one broken rule of a request.
type Violation struct {
	Field   string        // dotted path as the client wrote it: config.retryPolicy.maxRetries, nodes[2].id; empty for the whole
	Message string        // what is wrong and what would be right, beginning in lower case after the field's name
	Code    ViolationCode // stable slug

	// Of a graph and of the texts in it; empty and 0 elsewhere.
	Node, Edge   string // what it is about
	Line, Column int    // where in the text of the field it is, from 1, columns in Unicode code points
}

// String renders the violation as "field message".
func (v Violation) String() string {
	if v.Field == "" {
		return v.Message
	}
	return v.Field + " " + v.Message
}

// ViolationCode names the sort of rule that is broken.
type ViolationCode string

// The sorts of broken rule. They are part of the public contract.
const (
	Required    ViolationCode = "required"      // absent, or empty where something must stand
	WrongType   ViolationCode = "wrong_type"    // another JSON type than the one asked for
	TooShort    ViolationCode = "too_short"     // fewer characters or items than the minimum
	TooLong     ViolationCode = "too_long"      // more characters or items than the maximum
	TooSmall    ViolationCode = "too_small"     // below the inclusive minimum
	TooLarge    ViolationCode = "too_large"     // above the inclusive maximum
	NotWhole    ViolationCode = "not_whole"     // a number with a fraction where a whole one is asked for
	NotAllowed  ViolationCode = "not_allowed"   // a value or member that is not among the permitted ones
	BadFormat   ViolationCode = "bad_format"    // text that does not parse as what it must be
	Unknown     ViolationCode = "unknown"       // names something that does not exist
	Duplicate   ViolationCode = "duplicate"     // names something a second time
	Conflicting ViolationCode = "conflicting"   // contradicts another member of the same request
	BadText     ViolationCode = "bad_character" // a character that cannot be stored
)

// MaxViolations is how many broken rules of a request are reported.
const MaxViolations = 500

// Rules collects every broken rule of a request, so that all are reported at
// once, up to [MaxViolations]. The zero value is ready to use. A field is reported once: the first
// finding about it is kept, because the later ones follow from it.
type Rules struct {
	violations []Violation
	broken     map[string]struct{} // the fields that were reported
}

// Check records a violation of field unless ok. The message is formatted only
// then.
func (r *Rules) Check(ok bool, field string, code ViolationCode, format string, args ...any) {
	if !ok && len(r.violations) < MaxViolations {
		r.Add(Violation{Field: field, Code: code, Message: fmt.Sprintf(format, args...)})
	}
}

// Add records violations, dropping each whose field was reported before.
func (r *Rules) Add(found ...Violation) {
	for _, v := range found {
		if len(r.violations) == MaxViolations {
			return
		}
		if r.Broken(v.Field) {
			continue
		}
		if r.broken == nil {
			r.broken = make(map[string]struct{})
		}
		r.broken[v.Field] = struct{}{}
		r.violations = append(r.violations, v)
	}
}

// Broken says whether a violation of exactly this field was recorded.
func (r *Rules) Broken(field string) bool {
	_, ok := r.broken[field]
	return ok
}

// Full says that nothing more is recorded, so that what describes it need not be computed.
func (r *Rules) Full() bool { return len(r.violations) >= MaxViolations }

// Violations returns what was recorded, in order; nil when nothing was.
func (r *Rules) Violations() []Violation { return r.violations }

// Err returns nil when no rule is broken, else an Invalid [*Error] with the
// code, the message and all violations.
func (r *Rules) Err(code, message string) error {
	if len(r.violations) == 0 {
		return nil
	}
	return &Error{Kind: Invalid, Code: code, Message: message, Violations: r.violations}
}

// Text checks a string of the client: at least min and at most max characters
// (Unicode code points), valid UTF-8, no NUL. A min of 1 on an empty string is
// reported as Required.
func (r *Rules) Text(value, field string, minLen, maxLen int) {
	n := 0
	for _, c := range value {
		if c == 0 {
			r.Check(false, field, BadText, "must not contain the character U+0000")
			return
		}
		n++
	}
	switch {
	case !utf8.ValidString(value):
		r.Check(false, field, BadText, "must be valid UTF-8")
	case n == 0 && minLen > 0:
		r.Check(false, field, Required, "must not be empty")
	case n < minLen:
		r.Check(false, field, TooShort, "must be at least %d characters long, not %d", minLen, n)
	case n > maxLen:
		r.Check(false, field, TooLong, "must be at most %d characters long, not %d", maxLen, n)
	}
}

// Member returns the path of a member of the object at path: "config" and
// "timeoutMs" give "config.timeoutMs". An empty path gives the name alone.
func Member(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// Index returns the path of element i of the array at path: "nodes[2]".
func Index(path string, i int) string {
	return path + "[" + strconv.Itoa(i) + "]"
}

// OneOf lists permitted values for a message: "schedule", "webhook" become
// `"schedule" or "webhook"`.
func OneOf[T ~string](values ...T) string {
	var b strings.Builder
	for i, v := range values {
		switch {
		case i == 0:
		case i == len(values)-1:
			b.WriteString(" or ")
		default:
			b.WriteString(", ")
		}
		b.WriteString(strconv.Quote(string(v)))
	}
	return b.String()
}
