package runs

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
)

// The topics by which processes ask each other for word of what runs do under their
// workers, and tell it. Most runs are followed by nobody, and go without.
const (
	wantedTopic   = "sluice_runs_wanted"
	advancedTopic = "sluice_runs_advanced"
)

// progress is what processes tell each other of runs that go on under their workers.
type progress struct {
	wanted   map[run.ID]time.Time // by other processes, until when
	wanting  map[run.ID]struct{}  // by this one; to be said to others
	advanced map[run.ID]struct{}  // to be told to others
}

// take returns what is to be said and told, in a fixed order, which it is rid of then.
func (p *progress) take() (advanced, wanting []run.ID) {
	advanced, wanting = slices.Sorted(maps.Keys(p.advanced)), slices.Sorted(maps.Keys(p.wanting))
	p.advanced, p.wanting = nil, nil
	return advanced, wanting
}

// advance keeps those of the runs that others want word of, and says whether there are
// any.
func (p *progress) advance(runs []run.ID, now time.Time) (some bool) {
	if len(p.wanted) == 0 {
		return false
	}
	for _, id := range runs {
		if until, known := p.wanted[id]; known && now.Before(until) {
			if p.advanced == nil {
				p.advanced = make(map[run.ID]struct{})
			}
			p.advanced[id], some = struct{}{}, true
		}
	}
	return some
}

// want notes that others want word of runs, and forgets what they do not want any more.
func (p *progress) want(runs []run.ID, now time.Time) {
	maps.DeleteFunc(p.wanted, func(_ run.ID, until time.Time) bool { return !now.Before(until) })
	if p.wanted == nil {
		p.wanted = make(map[run.ID]time.Time)
	}
	for _, id := range runs {
		p.wanted[id] = now.Add(outbound.ProgressRequestTTL)
	}
}

// NotifyProgress passes on word of what runs do under their workers.
func (s *Signals) NotifyProgress(runs ...run.ID) {
	s.mu.Lock()
	if s.telling && s.progress.advance(runs, time.Now()) {
		s.ring()
	}
	s.mu.Unlock()
	if len(runs) > 0 {
		s.tellClosely(runs)
	}
}

// SubscribeProgress hears of what runs do under their workers as well.
func (s *Signals) SubscribeProgress(ctx context.Context, heard func(changed []run.ID)) error {
	return s.follow(ctx, &follower{heard: heard, closely: true})
}

// RequestProgress asks other processes for word of runs.
func (s *Signals) RequestProgress(runs ...run.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.telling || len(runs) == 0 {
		return
	}
	if s.progress.wanting == nil {
		s.progress.wanting = make(map[run.ID]struct{})
	}
	for _, id := range runs {
		s.progress.wanting[id] = struct{}{}
	}
	s.ring()
}

func (s *Signals) wants(runs []run.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.progress.want(runs, time.Now())
}

func (s *Signals) tellClosely(runs []run.ID) {
	s.mu.Lock()
	followers := s.followers
	s.mu.Unlock()
	for _, f := range followers {
		if f.closely {
			f.heard(runs)
		}
	}
}

// notices writes as few notices as name all of the runs.
func notices(origin string, runs []run.ID) (texts []string) {
	for len(runs) > 0 {
		size, n := len(origin), 0
		for n < len(runs) && (n == 0 || size+1+len(runs[n]) <= core.MaxNotice) {
			size += 1 + len(runs[n])
			n++
		}
		texts = append(texts, notice(origin, runs[:n], false))
		runs = runs[n:]
	}
	return texts
}
