package worker

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicehq/sluice/domain/tenant"
)

// contention knows which tenants had runs worked on within the fairnessWindow. It is active
// while there are backlogs and runs of other tenants: one whose runs come and go does not
// contend with itself.
type contention struct {
	began                   time.Time
	lastOthers, lastBacklog atomic.Int64 // when the last ones were, since it began; 0 for never

	mu             sync.Mutex
	fairTenants    map[tenant.ID]int64 // when tenants with few runs last had some
	backlogTenants map[tenant.ID]int64 // the same of tenants with many
	swept          int64
}

func newContention(now time.Time) *contention {
	return &contention{began: now, fairTenants: make(map[tenant.ID]int64), backlogTenants: make(map[tenant.ID]int64)}
}

// now is the time since it began; never 0.
func (c *contention) now() int64 { return max(1, int64(time.Since(c.began))) }

// note says that a run of a tenant is worked on, and whether it is of a backlog.
func (c *contention) note(owner tenant.ID, isBacklog bool) {
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if now-c.swept >= int64(fairnessWindow) {
		c.sweep(now)
	}
	switch at, known := c.backlogTenants[owner]; {
	case isBacklog:
		c.backlogTenants[owner] = now
		c.lastBacklog.Store(now)
		if _, was := c.fairTenants[owner]; was {
			delete(c.fairTenants, owner)
			c.lastOthers.Store(latestOf(c.fairTenants))
		}
	case known && now-at < int64(fairnessWindow): // it still is
	default:
		c.fairTenants[owner] = now
		c.lastOthers.Store(now)
	}
}

// sweep forgets tenants that had none within the window.
func (c *contention) sweep(now int64) {
	old := func(_ tenant.ID, at int64) bool { return now-at >= int64(fairnessWindow) }
	maps.DeleteFunc(c.fairTenants, old)
	maps.DeleteFunc(c.backlogTenants, old)
	c.swept = now
}

func latestOf(times map[tenant.ID]int64) (last int64) {
	for _, at := range times {
		last = max(last, at)
	}
	return last
}

// isActive says whether there are backlogs and runs of other tenants.
func (c *contention) isActive() bool {
	others, backlog := c.lastOthers.Load(), c.lastBacklog.Load()
	if others == 0 || backlog == 0 {
		return false
	}
	now := c.now()
	return now-others < int64(fairnessWindow) && now-backlog < int64(fairnessWindow)
}

// yield is for how long backlogs leave the database and the processors to others, after a
// unit of their steps that took some time. Alone they go on at once.
func (c *contention) yield(took time.Duration) time.Duration {
	if !c.isActive() {
		return 0
	}
	return min(took/2, maxYield)
}
