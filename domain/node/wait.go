package node

import (
	"regexp"
	"time"

	"github.com/sluicehq/sluice/domain"
)

// checkWait demands one of the delay and the time.
func checkWait(r *domain.Rules, path string, config map[string]any) {
	_, hasDelay := config["delayMs"]
	_, hasUntil := config["until"]
	r.Check(hasDelay || hasUntil, domain.Member(path, "delayMs"), domain.Required, "must be given, unless until is")
	r.Check(!hasDelay || !hasUntil, domain.Member(path, "until"), domain.Conflicting, "must be left out when delayMs is given")
}

var timeLayouts = []string{time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly}

// ParseTime reads a time in ISO 8601, such as 2026-01-31T09:00:00Z or 2026-01-31, in UTC
// where it names no zone.
func ParseTime(text string) (at time.Time, ok bool) {
	for _, layout := range timeLayouts {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

var datePattern = regexp.MustCompile(`^\d{4}-\d{1,2}(-|T|$)`)

// IsDateLike says whether a text is meant to be a time, though it may be none: as an expression
// 2026-11-31 is a difference.
func IsDateLike(text string) bool { return datePattern.MatchString(text) }
