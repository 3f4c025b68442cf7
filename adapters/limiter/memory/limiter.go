// Package memory is the driven adapter that counts requests in this process.
package memory

import (
	"context"
	"sync"
	"time"

	"github.com/sluicehq/sluice/ports/outbound"
)

// shards spreads the subjects over locks.
const shards = 64

// newSubjectsPerSweep is after how many new subjects a shard forgets the idle ones.
const newSubjectsPerSweep = 256

// Limiter counts in this process. It keeps the time of every granted request in the
// current window, so the limit holds in every span, not only in aligned ones; a subject
// costs at most 8 bytes times its limit.
type Limiter struct {
	clock  outbound.Clock
	shards [shards]shard
}

var _ outbound.Limiter = (*Limiter)(nil)

// New returns a limiter without any counts.
func New(clock outbound.Clock) *Limiter {
	l := &Limiter{clock: clock}
	for i := range l.shards {
		l.shards[i].subjects = make(map[string]*subject)
	}
	return l
}

type shard struct {
	mu              sync.Mutex
	subjects        map[string]*subject
	addedSinceSweep int
}

// subject has a ring of the instants of grants, in Unix milliseconds, and the number of
// slots taken.
type subject struct {
	granted []int64
	first   int
	count   int
	window  int64
	inside  int
}

// Allow counts one request unless the window is full.
func (l *Limiter) Allow(ctx context.Context, name string, limit int, window time.Duration) (outbound.Allowance, error) {
	if err := ctx.Err(); err != nil {
		return outbound.Allowance{}, err
	}
	now := l.clock.Now().UnixMilli()
	sh := l.shard(name)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.subject(name, now).take(now, limit, window), nil
}

// Acquire counts one request and takes a slot if one is free.
func (l *Limiter) Acquire(ctx context.Context, name string, limit int, window time.Duration, slots int) (outbound.Acquisition, error) {
	entry := outbound.Acquisition{Release: func() {}}
	if err := ctx.Err(); err != nil {
		return entry, err
	}
	now := l.clock.Now().UnixMilli()
	sh := l.shard(name)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	s := sh.subject(name, now)
	entry.Allowance = s.take(now, limit, window)
	if !entry.Granted || s.inside >= slots {
		return entry, nil
	}
	s.inside++
	entry.Acquired = true
	entry.Release = sync.OnceFunc(func() {
		sh.mu.Lock()
		defer sh.mu.Unlock()
		s.inside--
	})
	return entry, nil
}

// Full says whether one more request would be refused now, and with which answer. It
// counts nothing.
func (l *Limiter) Full(name string, limit int, window time.Duration) (refusal outbound.Allowance, full bool) {
	now := l.clock.Now().UnixMilli()
	sh := l.shard(name)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	s, ok := sh.subjects[name]
	if !ok {
		return outbound.Allowance{}, false
	}
	return s.full(now, limit, window)
}

func (l *Limiter) shard(name string) *shard {
	h := uint32(2166136261) // FNV-1a
	for i := range len(name) {
		h = (h ^ uint32(name[i])) * 16777619
	}
	return &l.shards[h%shards]
}

// subject finds or makes a subject. Now and then it forgets the idle ones, so that
// memory does not grow with every tenant ever seen.
func (sh *shard) subject(name string, now int64) *subject {
	if s, ok := sh.subjects[name]; ok {
		return s
	}
	if sh.addedSinceSweep++; sh.addedSinceSweep >= newSubjectsPerSweep {
		sh.addedSinceSweep = 0
		for key, s := range sh.subjects {
			if s.dropExpired(now); s.count == 0 && s.inside == 0 {
				delete(sh.subjects, key)
			}
		}
	}
	s := &subject{}
	sh.subjects[name] = s
	return s
}

// take grants one request unless the window is full.
func (s *subject) take(now int64, limit int, window time.Duration) outbound.Allowance {
	if refusal, full := s.full(now, limit, window); full {
		return refusal
	}
	grantedAt := now
	if s.count > 0 { // a clock may be set back, or read before that of another request
		grantedAt = max(now, s.at(s.count-1))
	}
	s.push(grantedAt, limit)
	a := outbound.Allowance{Granted: true, Remaining: limit - s.count, Reset: time.UnixMilli(grantedAt + s.window).UTC()}
	if a.Remaining == 0 {
		a.RetryAfter = time.Duration(s.at(0)+s.window-now) * time.Millisecond
	}
	return a
}

// full says whether the window is full, and the answer to that.
func (s *subject) full(now int64, limit int, window time.Duration) (refusal outbound.Allowance, full bool) {
	s.window = window.Milliseconds()
	s.dropExpired(now)
	if s.count < limit {
		return outbound.Allowance{}, false
	}
	// The (count-limit+1)-th oldest grant must leave the window first: after a limit
	// was lowered there can be more grants than the limit.
	wait := s.at(s.count-limit) + s.window - now
	return outbound.Allowance{
		Reset:      time.UnixMilli(s.at(s.count-1) + s.window).UTC(),
		RetryAfter: time.Duration(wait) * time.Millisecond,
	}, true
}

// dropExpired drops the grants that have left the window. When the clock was set back by
// more than the window, it moves the grants back too: they would refuse everything until
// the clock is there again.
func (s *subject) dropExpired(now int64) {
	if s.count > 0 {
		if ahead := s.at(s.count-1) - now; ahead > s.window {
			for i := range s.count {
				s.granted[(s.first+i)%len(s.granted)] -= ahead
			}
		}
	}
	for s.count > 0 && s.at(0)+s.window <= now {
		s.first = (s.first + 1) % len(s.granted)
		s.count--
	}
}

func (s *subject) at(i int) int64 { return s.granted[(s.first+i)%len(s.granted)] }

// push appends a grant, growing the ring up to the limit.
func (s *subject) push(now int64, limit int) {
	if s.count == len(s.granted) {
		larger := make([]int64, max(s.count+1, min(2*s.count+8, limit)))
		for i := range s.count {
			larger[i] = s.at(i)
		}
		s.granted, s.first = larger, 0
	}
	s.granted[(s.first+s.count)%len(s.granted)] = now
	s.count++
}
