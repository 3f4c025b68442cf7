package event

import (
	"net/http"
	"strings"
	"time"
	"unicode/utf8"
)

// SendTimeout is within what an endpoint has to answer.
const SendTimeout = 15 * time.Second

// MaxExcerpt bounds what is kept of an answer that is no success, in bytes.
const MaxExcerpt = 1024

// AttemptResult is what became of sending a message once.
type AttemptResult struct {
	Status     int           // of the answer, when it came in time; else 0
	Duration   time.Duration // until the answer or the failure
	Code       string        // lower_snake slug of why it is no success; empty when it is one
	Error      string        // the same for people; it names the host and tells nothing of the gateway's network
	Excerpt    string        // what the answer began with, at most [MaxExcerpt] bytes; empty for a success
	RetryAfter time.Duration // how long an answer 429 or 503 asked to wait; 0 when it did not
}

// Succeeded says whether the endpoint took the message: it answered 2xx in time. A
// redirect is none, since a signed message is not sent elsewhere.
func (o AttemptResult) Succeeded() bool { return o.Status >= 200 && o.Status <= 299 }

// Gone says whether the endpoint wants no more messages at all (Standard Webhooks,
// "Delivery success and failure").
func (o AttemptResult) Gone() bool { return o.Status == http.StatusGone }

const internalError = "internal_error"

// InternalFailure is the outcome of an attempt that a defect of the gateway ended after a
// time. It says nothing about the endpoint.
func InternalFailure(after time.Duration) AttemptResult {
	return AttemptResult{Duration: max(after, 0), Code: internalError, Error: "The gateway failed to make the attempt. This is not the endpoint's doing."}
}

// Internal says whether it is an [InternalFailure].
func (o AttemptResult) Internal() bool { return o.Status == 0 && o.Code == internalError }

// Excerpt is the beginning of an answer as text that every store can keep: at most
// [MaxExcerpt] bytes of UTF-8 without U+0000.
func Excerpt(answer []byte) string {
	text := strings.ToValidUTF8(strings.ReplaceAll(string(answer[:min(len(answer), 2*MaxExcerpt)]), "\x00", "\uFFFD"), "\uFFFD")
	if len(text) <= MaxExcerpt {
		return text
	}
	end := MaxExcerpt
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// Attempt is one sending of a delivery.
type Attempt struct {
	Number   int       // 1 for the first
	At       time.Time // when it began
	Duration time.Duration
	Status   int // of the answer; 0 when none came in time
	Code     string
	Error    string
	Excerpt  string
	Manual   bool // somebody asked for it
}

// Succeeded says whether the endpoint took the message.
func (a Attempt) Succeeded() bool { return AttemptResult{Status: a.Status}.Succeeded() }
