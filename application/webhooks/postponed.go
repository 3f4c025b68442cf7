package webhooks

import (
	"time"

	"github.com/sluicehq/sluice/ports/outbound"
)

// maxPostponed bounds how many events are remembered as postponed. One more is tried
// again with each batch that fails with it.
const maxPostponed = 1000

// postponed are events of which no deliveries could be made although the store works. Only
// this process remembers them: another one tries them itself. One goroutine uses it.
type postponed struct {
	limit  int
	events map[outbound.EventKey]postponement
}

type postponement struct{ since, until time.Time }

// add postpones an event, for longer each time if it panicked, and says until when. Any
// other failure may be the store's, and no event should be late for it.
func (p *postponed) add(key outbound.EventKey, now time.Time, panicked bool) (until time.Time) {
	one, known := p.events[key]
	if !known || !panicked {
		one.since = now
	}
	one.until = outbound.RetryAt(one.since, now)
	if p.events == nil {
		p.events = make(map[outbound.EventKey]postponement)
	}
	if known || len(p.events) < p.limit {
		p.events[key] = one
	}
	return one.until
}

// remove forgets events.
func (p *postponed) remove(keys []outbound.EventKey) {
	for _, key := range keys {
		delete(p.events, key)
	}
}

// at lists the events that are not to be tried yet.
func (p *postponed) at(now time.Time) (keys []outbound.EventKey) {
	for key, one := range p.events {
		if one.until.After(now) {
			keys = append(keys, key)
		}
	}
	return keys
}
