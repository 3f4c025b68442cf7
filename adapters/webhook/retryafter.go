package webhook

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sluicehq/sluice/domain/event"
)

// retryAfter reads how long an answer that the endpoint has too much to do asks to wait
// (RFC 9110, §10.2.3; RFC 6585, §4): seconds or a date. What cannot be read, or has
// passed, is zero.
func retryAfter(resp *http.Response, now time.Time) time.Duration {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable {
		return 0
	}
	text := strings.TrimSpace(resp.Header.Get("Retry-After"))
	if text != "" && strings.Trim(text, "0123456789") == "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil || seconds > int64(event.MaxRetryAfter/time.Second) {
			return event.MaxRetryAfter
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), event.MaxRetryAfter)
}
