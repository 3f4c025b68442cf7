// Package changes reports what changes in lists.
package changes

import (
	"context"
	"sync"
	"time"

	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

const (
	// quietInterval is after how long a follower learns that nothing has happened.
	quietInterval = 15 * time.Second

	// batchPause is how long changes are collected after some were sent, so that a busy tenant's
	// follower gets them together.
	batchPause = 250 * time.Millisecond

	// reloadInterval is how often lists are to be read anew, whatever was reported.
	reloadInterval = 2 * time.Minute

	// linger is how long changes are kept for a follower that comes back.
	linger = time.Minute
)

// Service implements inbound.ListChanges. It keeps the latest changes of each scope that is
// followed in this process.
type Service struct {
	feed   outbound.ListChanges
	memory outbound.Budget
	random outbound.Random

	mu   sync.Mutex
	logs map[tenant.Scope]*changeLog
}

var _ inbound.ListChanges = (*Service)(nil)

// New returns the service. What it keeps is reserved from the memory.
func New(feed outbound.ListChanges, memory outbound.Budget, random outbound.Random) *Service {
	return &Service{feed: feed, memory: memory, random: random, logs: make(map[tenant.Scope]*changeLog)}
}

// Follow sends what changes, as long as ctx goes on.
func (s *Service) Follow(ctx context.Context, who tenant.Caller, after string, send func([]inbound.ListEvent) error) error {
	if err := who.May(tenant.FollowLists); err != nil {
		return err
	}
	log := s.enter(who.Scope)
	defer s.leave(log)
	seen := log.position(after)
	quiet := time.NewTimer(quietInterval)
	defer quiet.Stop()
	for isDue := true; ; {
		events, last, news := log.after(seen)
		if len(events) > 0 || isDue {
			if err := send(events); err != nil {
				return err
			}
			quiet.Reset(quietInterval)
		}
		if seen, isDue = last, false; len(events) > 0 && !outbound.Sleep(ctx, batchPause) {
			return ctx.Err()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-news:
		case <-quiet.C:
			isDue = true
		}
	}
}

// enter returns the log of a scope, which stays until everybody has left.
func (s *Service) enter(scope tenant.Scope) *changeLog {
	s.mu.Lock()
	defer s.mu.Unlock()
	log := s.logs[scope]
	if log == nil {
		log = newChangeLog(scope, s.random.ID("lst"), s.memory)
		log.stop = s.feed.FollowLists(scope.Tenant(), log.add)
		s.logs[scope] = log
	}
	log.followers++
	return log
}

// leave keeps the log for a while.
func (s *Service) leave(log *changeLog) {
	s.mu.Lock()
	defer s.mu.Unlock()
	log.left = time.Now()
	if log.followers--; log.followers == 0 {
		time.AfterFunc(linger, func() { s.drop(log) })
	}
}

// drop forgets a log that nobody has followed for a while.
func (s *Service) drop(log *changeLog) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if log.followers > 0 || time.Since(log.left) < linger || s.logs[log.scope] != log {
		return
	}
	delete(s.logs, log.scope)
	log.stop()
	log.release()
}
