package hook

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/sluicehq/sluice/domain"
)

// Mode says when and with what a delivery is answered that starts a run.
type Mode string

// The modes.
const (
	Immediately Mode = "immediately" // when the run is durable, with what the sender wants
	Fixed       Mode = "fixed"       // when the run is durable, with what the hook says
	WhenDone    Mode = "whenDone"    // with what the run gives, or with its id when that takes too long
)

// Bounds of answers.
const (
	MaxWait          = 25 * time.Second // for a run
	minWait          = 100 * time.Millisecond
	maxFixedBody     = 64 << 10 // bytes
	maxRespondBytes  = 128 << 10
	maxAnswerHeaders = 20
)

// Respond says what deliveries are answered with. The zero value answers immediately. Build one with [ParseRespond] or
// [RestoreRespond].
type Respond struct {
	document domain.Document
	mode     Mode
	fixed    Answer
	wait     time.Duration
}

// ParseRespond reads what a client sent: {"mode": …} with status, headers and body of a fixed answer, or timeoutMs.
func ParseRespond(r *domain.Rules, path string, text []byte) Respond {
	r.Check(len(text) <= maxRespondBytes, path, domain.TooLong, "must be at most %d bytes of JSON", maxRespondBytes)
	o, ok := readObject(r, path, text)
	if !ok || r.Broken(path) {
		return Respond{}
	}
	p := Respond{document: domain.RestoreDocument(string(text)), wait: MaxWait}
	p.mode, ok = needChoice(o, "mode", Immediately, Fixed, WhenDone)
	switch {
	case !ok:
		return p
	case p.mode == Fixed:
		p.fixed = readAnswer(o)
		r.Check(len(p.fixed.Body) <= maxFixedBody, o.at("body"), domain.TooLong, "must be at most %d bytes, not %d", maxFixedBody, len(p.fixed.Body))
	case p.mode == WhenDone:
		if ms, given := o.whole("timeoutMs", int(minWait.Milliseconds()), int(MaxWait.Milliseconds())); given {
			p.wait = time.Duration(ms) * time.Millisecond
		}
	}
	o.done("where the mode is " + string(p.mode))
	return p
}

// RestoreRespond reads what a store kept; one that cannot be read answers immediately.
func RestoreRespond(text string) Respond {
	var r domain.Rules
	p := ParseRespond(&r, "", []byte(text))
	if len(r.Violations()) > 0 {
		return Respond{document: domain.RestoreDocument(text)}
	}
	return p
}

// Document is what was sent.
func (p Respond) Document() domain.Document {
	if p.document == (domain.Document{}) {
		return domain.RestoreDocument(`{"mode":"` + string(Immediately) + `"}`)
	}
	return p.document
}

// Mode says when and with what a delivery is answered.
func (p Respond) Mode() Mode {
	if p.mode == "" {
		return Immediately
	}
	return p.mode
}

// Wait is how long a run is waited for; 0 for not at all.
func (p Respond) Wait() time.Duration {
	if p.mode != WhenDone {
		return 0
	}
	return p.wait
}

// WithoutRun is the answer to a delivery whose run is not waited for: it is durable, or there is none, since the delivery is a duplicate, was
// filtered, or the hook is switched off.
func (p Respond) WithoutRun(s Scheme) Answer {
	if p.mode == Fixed {
		return p.fixed
	}
	return s.Accepted()
}

// AnswerOf makes an answer of what a run gives: {status?, headers?, body?} if it has at least one of the three and nothing else, and otherwise the
// value as JSON with 200. What the run may not answer with is left out, and recorded.
func AnswerOf(output json.RawMessage) (Answer, []domain.Violation) {
	var r, notAnswer domain.Rules
	o, isObject := readObject(&notAnswer, "", output)
	if !isObject || len(notAnswer.Violations()) > 0 || !isAnswer(o) {
		return Answer{Status: http.StatusOK, ContentType: typeJSON, Body: output}, nil
	}
	o.rules = &r
	return readAnswer(o), r.Violations()
}

func isAnswer(o *object) bool {
	for _, name := range o.names {
		if name != "status" && name != "headers" && name != "body" {
			return false
		}
	}
	return len(o.names) > 0
}
