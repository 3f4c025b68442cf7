package event

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"time"
)

// MaxAttempts is how often a delivery is tried before it has failed.
const MaxAttempts = 8

// MaxRetryAfter bounds how long an endpoint can put off the next attempt: by no more
// than the longest step of the schedule.
const MaxRetryAfter = 10 * time.Hour

// steps is how long each attempt waits for, counted from the end of the one before; the
// first from the delivery's creation.
var steps = [MaxAttempts]time.Duration{
	0, 5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 10 * time.Hour,
}

// jitter is by which part of itself a step may be shorter or longer, so that deliveries
// that failed together are not repeated together.
const jitter = 0.2

// Delay returns how long an attempt, 1 for the first, waits after the end of the one
// before: its step ±20 %, to the millisecond. It depends on its arguments only. ok is
// false when the schedule has no such attempt.
func Delay(of DeliveryID, attempt int) (wait time.Duration, ok bool) {
	if attempt < 1 || attempt > MaxAttempts {
		return 0, false
	}
	step := steps[attempt-1]
	sum := sha256.Sum256([]byte(string(of) + "#" + strconv.Itoa(attempt)))
	share := float64(binary.BigEndian.Uint64(sum[:])>>11) / (1 << 53) // in [0, 1)
	wait = step + time.Duration((2*share-1)*jitter*float64(step))
	return wait.Truncate(time.Millisecond), true
}
