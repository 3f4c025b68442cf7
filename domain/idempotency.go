package domain

import "time"

// IdempotencyRetention is how long a command's outcome is kept for repeats of its key.
const IdempotencyRetention = 24 * time.Hour

// IdempotencyKey asks that a command take effect at most once for its key. The zero value
// asks for nothing. Whoever runs the command records the outcome in the same
// transaction as the effect, so a crash leaves both or neither.
type IdempotencyKey struct {
	Scope       string // what the key is unique within, in the tenant: the operation and its target
	Key         string // chosen by the client
	Fingerprint string // digest of the request; the same key with another one is a mistake of the client

	// Answer renders the outcome into the bytes that a repeat gets back. It has no
	// side effect. It is called inside the unit of work.
	Answer func(outcome any) ([]byte, error)
}

// Wanted says whether a key was given.
func (k IdempotencyKey) Wanted() bool { return k.Key != "" }

// Replay is returned in place of a result when the command took effect before:
// Answer holds the bytes that were recorded then. It is an error so that a unit
// of work that meets it ends without writing anything.
type Replay struct {
	Answer []byte
}

// Error says that the command took effect before.
func (*Replay) Error() string { return "this command took effect before; its answer is on record" }

// CheckReplay returns the [*Replay] when the recorded fingerprint is that of the repeat,
// else an Invalid error with the code idempotency_key_reused.
func (k IdempotencyKey) CheckReplay(recordedFingerprint string, answer []byte) error {
	if recordedFingerprint != k.Fingerprint {
		return Fail(Invalid, "idempotency_key_reused",
			"This idempotency key was used before with another request. Send a new key, or the same request.")
	}
	return &Replay{Answer: answer}
}

// OnceInProgress is the Conflict that a second command meets while the first one
// with its key still runs.
func OnceInProgress() *Error {
	e := Fail(Conflict, "idempotency_in_progress",
		"The first request with this idempotency key is still running. Try again in a second.")
	e.RetryAfter = time.Second
	return e
}
