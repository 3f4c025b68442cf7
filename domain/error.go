package domain

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Kind says what sort of failure an [Error] is. A Kind is itself an error, so
// that errors.Is(err, domain.NotFound) answers whatever wraps it.
type Kind string

// The kinds of failure. A driving adapter maps each to the answer of its
// protocol; the core knows no status codes.
const (
	Invalid         Kind = "invalid"          // the request breaks a rule; Violations say which
	Unauthenticated Kind = "unauthenticated"  // nobody known is asking
	Forbidden       Kind = "forbidden"        // who asks may not do this
	NotFound        Kind = "not found"        // it does not exist, or belongs to another tenant
	Conflict        Kind = "conflict"         // it collides with what is stored
	RateLimited     Kind = "rate limited"     // too often; RetryAfter says when again
	Unavailable     Kind = "unavailable"      // a needed part is out of reach; the same call may succeed later
	Internal        Kind = "internal failure" // a defect; its cause is never shown to a client
)

// Error makes a Kind usable with errors.Is.
func (k Kind) Error() string { return string(k) }

// Error is how the gateway's core reports a failure.
type Error struct {
	Kind       Kind
	Code       string        // stable slug in lower_snake, part of the public contract
	Message    string        // one sentence for the client; never shown for Internal
	Violations []Violation   // every broken rule, in the order of the fields; Invalid only
	Warnings   []Violation   // what was found next to them that does not stand against it
	Job        string        // the job that is in the way; empty for none
	UsedBy     []RecordName  // the records that are in the way
	RetryAfter time.Duration // how long to wait before the same call may succeed; 0 when waiting does not help
	Cause      error         // for the log, never for a client
}

// RecordName names a record to a client.
type RecordName struct {
	Kind string // such as workflowVersion
	ID   string
}

// Fail builds an error of a kind with its code and a message for the client.
func Fail(kind Kind, code, format string, args ...any) *Error {
	return &Error{Kind: kind, Code: code, Message: fmt.Sprintf(format, args...)}
}

// Because adds the cause, which is for the log only, and returns the error.
func (e *Error) Because(cause error) *Error {
	e.Cause = cause
	return e
}

// Error renders the code, the message, every violation and the cause.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Code)
	b.WriteString(": ")
	b.WriteString(e.Message)
	for _, v := range e.Violations {
		b.WriteString("; ")
		b.WriteString(v.String())
	}
	if e.Cause != nil {
		b.WriteString(": ")
		b.WriteString(e.Cause.Error())
	}
	return b.String()
}

// Unwrap yields the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Cause}
}

// KindOf returns the kind of err: that of the outermost [Error] in its chain,
// and Internal for an error that carries none.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	var k Kind
	if errors.As(err, &k) {
		return k
	}
	return Internal
}
