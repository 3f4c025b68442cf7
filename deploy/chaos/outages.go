package main

import (
	"slices"
	"sync"
	"time"
)

// span is from when to when.
type span struct{ from, to time.Time }

// outages are when something did not answer.
type outages struct {
	mu    sync.Mutex
	spans []*span // one that lasts ends at zero
}

// begin notes an outage that begins now, and ends when the returned function is called.
func (o *outages) begin() (end func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	outage := &span{from: time.Now()}
	o.spans = append(o.spans, outage)
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		outage.to = time.Now()
	}
}

// during lists the parts of the outages that lie between the two.
func (o *outages) during(from, to time.Time) (all []span) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range o.spans {
		end := s.to
		if end.IsZero() || end.After(to) {
			end = to
		}
		begin := s.from
		if begin.Before(from) {
			begin = from
		}
		if begin.Before(end) {
			all = append(all, span{begin, end})
		}
	}
	return all
}

// awayBetween says how long, between the two, one of them or another did not answer.
func awayBetween(from, to time.Time, of ...*outages) (sum time.Duration) {
	var all []span
	for _, o := range of {
		all = append(all, o.during(from, to)...)
	}
	slices.SortFunc(all, func(a, b span) int { return a.from.Compare(b.from) })
	for _, s := range all {
		if s.from.Before(from) {
			s.from = from // as far as it was counted
		}
		if s.to.After(s.from) {
			sum += s.to.Sub(s.from)
			from = s.to
		}
	}
	return sum
}
