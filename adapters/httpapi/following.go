package httpapi

import (
	"sync"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// following counts the open streams of each tenant in this process. A stream does not
// keep a place among the requests at the same time, or a few dashboards that are left
// open would lock their tenant out; so streams have places of their own, as many.
type following struct {
	mu   sync.Mutex
	open map[tenant.ID]int
}

// enter takes a place, until leave is called. Where none is free, it is RateLimited
// with the code too_many_streams.
func (f *following) enter(who tenant.Caller) (leave func(), err error) {
	most := who.Settings.Quota(who.KeyType).Concurrent
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open[who.Tenant] >= most {
		e := domain.Fail(domain.RateLimited, "too_many_streams",
			"Too many open streams: at most %d with a %s key. Close one, or read the run instead.", most, who.KeyType)
		e.RetryAfter = time.Second
		return nil, e
	}
	if f.open == nil {
		f.open = make(map[tenant.ID]int)
	}
	f.open[who.Tenant]++
	return func() { f.leave(who.Tenant) }, nil
}

func (f *following) leave(t tenant.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open[t]--; f.open[t] == 0 {
		delete(f.open, t)
	}
}
