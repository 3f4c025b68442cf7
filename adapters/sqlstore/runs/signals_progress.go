package runs

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
)

// The topics by which processes request the progress of runs under their workers from each
// other, and report it. Most runs are followed by nobody, and go without.
const (
	progressRequestTopic = "sluice_runs_wanted"
	progressTopic        = "sluice_runs_advanced"
)

// progress is what processes exchange about runs that go on under their workers.
type progress struct {
	requested map[run.ID]time.Time // by other processes, until when
	requests  map[run.ID]struct{}  // of this one, to be sent
	advanced  map[run.ID]struct{}  // to be sent
}

// take removes what is to be sent, and returns it in a fixed order.
func (p *progress) take() (advanced, requests []run.ID) {
	advanced, requests = slices.Sorted(maps.Keys(p.advanced)), slices.Sorted(maps.Keys(p.requests))
	p.advanced, p.requests = nil, nil
	return advanced, requests
}

// advance keeps those of the runs that others requested, and says whether there are any.
func (p *progress) advance(runs []run.ID, now time.Time) (some bool) {
	if len(p.requested) == 0 {
		return false
	}
	for _, id := range runs {
		if until, known := p.requested[id]; known && now.Before(until) {
			if p.advanced == nil {
				p.advanced = make(map[run.ID]struct{})
			}
			p.advanced[id], some = struct{}{}, true
		}
	}
	return some
}

// request notes what others request, and forgets what has expired.
func (p *progress) request(runs []run.ID, now time.Time) {
	maps.DeleteFunc(p.requested, func(_ run.ID, until time.Time) bool { return !now.Before(until) })
	if p.requested == nil {
		p.requested = make(map[run.ID]time.Time)
	}
	for _, id := range runs {
		p.requested[id] = now.Add(outbound.ProgressRequestTTL)
	}
}

// NotifyProgress reports steps of runs under their workers.
func (s *Signals) NotifyProgress(runs ...run.ID) {
	s.mu.Lock()
	if s.connected && s.progress.advance(runs, time.Now()) {
		s.wake()
	}
	s.mu.Unlock()
	if len(runs) > 0 {
		s.publish(runs, progressed)
	}
}

// SubscribeProgress is Subscribe with steps of runs under their workers as well.
func (s *Signals) SubscribeProgress(ctx context.Context, onSignal func(changed []run.ID)) error {
	return s.subscribe(ctx, &subscriber{onSignal: onSignal, wants: changed | progressed})
}

// SubscribeRequests calls onRequest for runs whose progress is requested until ctx ends, and then returns nil.
func (s *Signals) SubscribeRequests(ctx context.Context, onRequest func(runs []run.ID)) error {
	return s.subscribe(ctx, &subscriber{onSignal: onRequest, wants: requested})
}

// RequestProgress asks all processes for the progress of runs.
func (s *Signals) RequestProgress(runs ...run.ID) {
	if len(runs) == 0 {
		return
	}
	s.sendRequests(runs)
	s.publish(runs, requested)
}

func (s *Signals) sendRequests(runs []run.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.connected {
		return
	}
	if s.progress.requests == nil {
		s.progress.requests = make(map[run.ID]struct{})
	}
	for _, id := range runs {
		s.progress.requests[id] = struct{}{}
	}
	s.wake()
}

func (s *Signals) addRequests(runs []run.ID) {
	s.mu.Lock()
	s.progress.request(runs, time.Now())
	s.mu.Unlock()
	s.publish(runs, requested)
}
