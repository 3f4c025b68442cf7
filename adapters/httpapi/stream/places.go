package stream

import (
	"sync"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// Places counts the open streams in this process, of those whose requests are counted together. Streams do not count as
// concurrent requests: a few forgotten dashboards would lock their tenant out.
type Places struct {
	mu   sync.Mutex
	open map[string]int // by tenant.Caller.Counted
}

// Acquire takes a place until leave is called. Without a free one it is RateLimited with the
// code too_many_streams.
func (p *Places) Acquire(who tenant.Caller) (leave func(), err error) {
	most := who.Settings.Quota(who.KeyType).Concurrent
	p.mu.Lock()
	defer p.mu.Unlock()
	of := who.Counted()
	if p.open[of] >= most {
		e := domain.Fail(domain.RateLimited, "too_many_streams",
			"Too many open streams: at most %d with %s. Close one, or read instead.", most, who.KeyType.Called())
		e.RetryAfter = time.Second
		return nil, e
	}
	if p.open == nil {
		p.open = make(map[string]int)
	}
	p.open[of]++
	return func() { p.release(of) }, nil
}

func (p *Places) release(of string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open[of]--; p.open[of] == 0 {
		delete(p.open, of)
	}
}
