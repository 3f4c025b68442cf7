package node

import (
	"time"

	"github.com/sluicehq/sluice/domain"
)

// checkWait demands one of the delay and the time, and that the time is one.
func checkWait(r *domain.Rules, path string, config map[string]any) {
	_, hasDelay := config["delayMs"]
	until, hasUntil := config["until"]
	delayAt, untilAt := domain.Member(path, "delayMs"), domain.Member(path, "until")
	r.Check(hasDelay || hasUntil, delayAt, domain.Required, "must be given, unless until is")
	r.Check(!hasDelay || !hasUntil, untilAt, domain.Conflicting, "must be left out when delayMs is given")
	if text, ok := until.(string); ok {
		_, err := time.Parse(time.RFC3339, text)
		r.Check(err == nil, untilAt, domain.BadFormat, "must be a time in RFC 3339, such as 2026-01-31T09:00:00Z")
	}
}
