package noderunner

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sluicehq/sluice/ports/outbound"
)

// longestRetryAfter bounds how long another side may ask to wait.
const longestRetryAfter = 24 * time.Hour

// maxShownBody bounds how much of an answer a message repeats, in characters.
const maxShownBody = 300

// retryable says which answers another attempt may change.
func retryable(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status >= 500
}

// retryAfter reads how long the answer asks to wait (RFC 9110, §10.2.3): seconds or
// a date. What cannot be read, or has passed, is zero.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	wait := time.Duration(0)
	if isDigits(text) {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil || seconds > int64(longestRetryAfter/time.Second) {
			return longestRetryAfter
		}
		wait = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), longestRetryAfter)
}

func isDigits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// unexpected is the failure that the answer's status means.
func (r *Runner) unexpected(host string, got *answer) outbound.NodeFailed {
	message := fmt.Sprintf("%s answered %d", host, got.status)
	if name := http.StatusText(got.status); name != "" {
		message += " " + name
	}
	if text := strings.TrimSpace(string(got.body)); text != "" {
		message += ": " + clip(text, maxShownBody)
	}
	return outbound.NodeFailed{
		Code: "unexpected_status", Message: message, Redacted: got.redacted,
		Retryable: retryable(got.status), RetryAfter: retryAfter(got.header, r.clock.Now()),
	}
}
