package outbound

import (
	"context"
	"time"
)

// Clock tells the time.
type Clock interface {
	// Now is in UTC and truncated to milliseconds, so that every store and the JSON
	// hold the same instant.
	Now() time.Time
}

// Random makes what must not be guessed or must not repeat.
type Random interface {
	// ID returns prefix, an underscore and the 26 base32 characters of a UUIDv7. The
	// identifiers that one process makes sort in the order they were made.
	ID(prefix string) string

	// Fill fills the slice with bytes from a cryptographically secure source.
	Fill(p []byte)
}

// Sleep waits, and says whether ctx goes on.
func Sleep(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// Await waits for a signal, at most for a time, and says whether there was one.
func Await(ctx context.Context, signal <-chan struct{}, most time.Duration) (woken bool) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return false
	case <-signal:
		return true
	}
}
