package workflow

import (
	"time"

	"github.com/sluicehq/sluice/domain"
)

// RetryPolicy governs the attempts at nodes with an effect outside: those of one node, or of
// all nodes of a trigger's runs.
type RetryPolicy struct {
	MaxRetries int           // further attempts after the first
	Backoff    time.Duration // before the first further attempt; it doubles with each
	MaxBackoff time.Duration // never longer than this
}

// Bounds of a retry policy, of a node's and of a trigger's. The greatest
// duration keeps every sum of them within what can be computed.
const (
	MaxRetries    = 10
	MinBackoff    = 100 * time.Millisecond
	MinMaxBackoff = time.Second
	MaxDuration   = 100 * 365 * 24 * time.Hour
)

// Bounds of how long one attempt at a node may take.
const (
	MinAttemptTimeout = time.Millisecond
	MaxAttemptTimeout = 5 * time.Minute
)

// checkAttempts reports what is wrong with how a node is to be attempted.
func (n Node) checkAttempts(fs *findings, about subject) {
	if n.Timeout != nil {
		fs.between(about.member("timeoutMs"), n.Timeout.Milliseconds(), MinAttemptTimeout.Milliseconds(), MaxAttemptTimeout.Milliseconds())
	}
	p := n.Retry
	if p == nil {
		return
	}
	about = about.member("retryPolicy")
	backoff, most := p.Backoff.Milliseconds(), p.MaxBackoff.Milliseconds()
	fs.between(about.member("maxRetries"), int64(p.MaxRetries), 0, MaxRetries)
	fs.between(about.member("backoffMs"), backoff, MinBackoff.Milliseconds(), MaxDuration.Milliseconds())
	fs.between(about.member("maxBackoffMs"), most, MinMaxBackoff.Milliseconds(), MaxDuration.Milliseconds())
	if most < backoff {
		fs.add(about.member("maxBackoffMs"), domain.TooSmall, "must be at least backoffMs, which is %d, not %d", backoff, most)
	}
}

// between reports a number that is out of its bounds.
func (fs *findings) between(about subject, n, least, most int64) {
	switch {
	case n < least:
		fs.add(about, domain.TooSmall, "must be at least %d, not %d", least, n)
	case n > most:
		fs.add(about, domain.TooLarge, "must be at most %d, not %d", most, n)
	}
}
