package stream

import (
	"sync"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// Places counts the open streams of each tenant in this process. Streams do not count as
// concurrent requests: a few forgotten dashboards would lock their tenant out.
type Places struct {
	mu   sync.Mutex
	open map[tenant.ID]int
}

// Acquire takes a place until leave is called. Without a free one it is RateLimited with the
// code too_many_streams.
func (p *Places) Acquire(who tenant.Caller) (leave func(), err error) {
	most := who.Settings.Quota(who.KeyType).Concurrent
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open[who.Tenant()] >= most {
		e := domain.Fail(domain.RateLimited, "too_many_streams",
			"Too many open streams: at most %d with a %s key. Close one, or read instead.", most, who.KeyType)
		e.RetryAfter = time.Second
		return nil, e
	}
	if p.open == nil {
		p.open = make(map[tenant.ID]int)
	}
	p.open[who.Tenant()]++
	return func() { p.release(who.Tenant()) }, nil
}

func (p *Places) release(t tenant.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open[t]--; p.open[t] == 0 {
		delete(p.open, t)
	}
}
