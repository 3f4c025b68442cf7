package outbound

import (
	"context"
	"time"
)

// Limiter counts requests in a sliding window, and requests at the same time.
type Limiter interface {
	// Take counts one request of the subject unless limit were counted in the window
	// that ends now: in no span of that length are more than limit granted. A refused
	// request is not counted.
	Take(ctx context.Context, subject string, limit int, window time.Duration) (Allowance, error)

	// Enter takes one of a subject's places and says whether one was free. The place
	// is held until leave is called; leave may be called more than once and is never
	// nil.
	Enter(ctx context.Context, subject string, places int) (leave func(), ok bool, err error)
}

// Allowance is the answer of a [Limiter].
type Allowance struct {
	Granted    bool
	Remaining  int           // how many more would be granted now
	Reset      time.Time     // when the window is empty again, if nothing more is granted
	RetryAfter time.Duration // how long until one more would be granted; 0 when one would be now
}
