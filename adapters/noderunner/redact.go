package noderunner

import (
	"bytes"
	"encoding/json"

	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/ports/outbound"
)

// redact replaces a secret in what came back, before anything is made of it.
func (a *answer) redact(r connection.Redactor) {
	if r.IsZero() {
		return
	}
	for name, values := range a.header {
		if r.Holds(name) { // of which net/http has changed the case
			delete(a.header, name)
			a.redacted = true
		}
		for i, value := range values {
			values[i] = a.note(r.Text(value))
		}
	}
	if json.Valid(bytes.TrimPrefix(a.body, []byte("\ufeff"))) {
		clean, held := r.JSON(a.body)
		a.body, a.redacted = clean, a.redacted || held
		return
	}
	if clean, held := r.Text(string(a.body)); held {
		a.body, a.redacted = []byte(clean), true
	}
}

// note keeps in mind that the secret was in a text.
func (a *answer) note(clean string, held bool) string {
	a.redacted = a.redacted || held
	return clean
}

// markRedacted says of an outcome that a secret was in the answer.
func markRedacted(o outbound.NodeOutcome, redacted bool) outbound.NodeOutcome {
	switch o := o.(type) {
	case outbound.NodeCompleted:
		o.Redacted = redacted
		return o
	case outbound.NodeFailed:
		o.Redacted = redacted
		return o
	case outbound.NodePaused:
		o.Redacted = redacted
		return o
	}
	return o
}
