package redis

import (
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of an outage.
const (
	firstProbe = 100 * time.Millisecond // from a failure to the first try whether Redis answers again
	lastProbe  = 5 * time.Second        // most from one try to the next
	calm       = 10 * time.Second       // how long Redis must answer before an outage counts as over
)

// outage is the circuit breaker: one failure opens it, so that an outage delays no
// request but those that are under way when it begins, and a probe in the background
// closes it, so that none is delayed for finding out. A server that fails again and
// again is probed less and less often, and is one outage.
type outage struct {
	era atomic.Uint64 // odd while Redis is out

	mu       sync.Mutex
	begun    bool // an outage was told of, and not its end
	delay    time.Duration
	answered time.Time // when Redis answered again
}

// up says whether Redis is to be asked, and in which era, for [outage.fail].
func (o *outage) up() (era uint64, yes bool) {
	era = o.era.Load()
	return era, era%2 == 0
}

// fail notes that Redis failed a request that was sent in the era. A request of an
// earlier era says nothing about this one. It says whether Redis is out now because of
// this failure, and whether that begins an outage.
func (o *outage) fail(era uint64) (out, begins bool) {
	if !o.era.CompareAndSwap(era, era+1) {
		return false, false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.begun {
		o.delay = min(2*o.delay, lastProbe)
		return true, false
	}
	o.begun, o.delay = true, firstProbe
	return true, true
}

// probeIn is how long to wait before the next try whether Redis answers again.
func (o *outage) probeIn() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.delay
}

// stillOut notes that a try failed.
func (o *outage) stillOut() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.delay = min(2*o.delay, lastProbe)
}

// restore notes that a try succeeded.
func (o *outage) restore(now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.answered = now
	o.era.Add(1)
}

// shut leaves Redis alone for good and says whether it was up. The keeper must have
// ended, which alone could restore it.
func (o *outage) shut() (wasUp bool) {
	era, up := o.up()
	return up && o.era.CompareAndSwap(era, era+1)
}

// over says once that an outage has ended.
func (o *outage) over(now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, up := o.up()
	if !o.begun || !up || now.Sub(o.answered) < calm {
		return false
	}
	o.begun = false
	return true
}
