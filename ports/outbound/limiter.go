package outbound

import (
	"context"
	"time"
)

// Limiter counts requests in a sliding window, and requests at the same time.
// Limits and slots are at least 1. A clock that is set back never lets more pass,
// and delays no grant by more than another window.
type Limiter interface {
	// Allow counts one request of the subject unless limit were counted in the window
	// that ends now: in no span of that length are more than limit granted. A refused
	// request is not counted.
	Allow(ctx context.Context, subject string, limit int, window time.Duration) (Allowance, error)

	// Acquire counts one request like Allow and, when that is granted, takes one of the
	// subject's slots in the same step. A request that finds no slot free is counted
	// all the same. The slot is held until Release is called or the process that holds
	// it is gone. The process that called Release finds the slot free at once; others
	// that share the limits find it so a moment later.
	Acquire(ctx context.Context, subject string, limit int, window time.Duration, slots int) (Acquisition, error)
}

// Allowance is the answer of a [Limiter].
type Allowance struct {
	Granted    bool
	Remaining  int           // how many more would be granted now
	Reset      time.Time     // when the window is empty again, if nothing more is granted
	RetryAfter time.Duration // how long until one more would be granted; 0 when one would be now
}

// Acquisition is the answer of [Limiter.Acquire].
type Acquisition struct {
	Allowance
	Acquired bool   // a slot was taken; never without Granted
	Release  func() // gives the slot back; does not wait, may be called more than once, and is never nil
}
