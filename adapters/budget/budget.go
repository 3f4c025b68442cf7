// Package budget divides what the process has among tenants: memory, calls in flight and
// turns to compute. It implements outbound.Budget in memory.
package budget

import (
	"context"
	"slices"
	"sync"

	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Budget implements outbound.Budget. It is safe for concurrent use.
type Budget struct {
	whole, share int64

	mu      sync.Mutex
	used    int64
	held    map[tenant.ID]int64
	waiting []*request // in the order in which they came
}

var _ outbound.Budget = (*Budget)(nil)

// request is an amount that somebody waits for.
type request struct {
	owner   tenant.ID
	amount  int64
	granted chan struct{}
}

// New returns a budget of an amount, of which a tenant has at most a quarter, or half of it
// for one thing.
func New(whole int64) *Budget { return NewShared(whole, whole/4) }

// NewShared is [New] with another share, which is at most a third of the whole.
func NewShared(whole, share int64) *Budget {
	return &Budget{whole: whole, share: share, held: make(map[tenant.ID]int64)}
}

// Most is what is left of the whole when two other tenants have their shares.
func (b *Budget) Most() int64 { return b.whole - 2*b.share }

// Used returns how much is held by all tenants.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Whole returns how much there is.
func (b *Budget) Whole() int64 { return b.whole }

// Reserve waits for an amount.
func (b *Budget) Reserve(ctx context.Context, owner tenant.ID, amount int64) error {
	amount = min(amount, b.Most())
	b.mu.Lock()
	if len(b.waiting) == 0 && b.allows(owner, amount) && b.used+amount <= b.whole {
		b.take(owner, amount)
		b.mu.Unlock()
		return nil
	}
	r := &request{owner, amount, make(chan struct{})}
	b.waiting = append(b.waiting, r)
	b.grant()
	b.mu.Unlock()
	select {
	case <-r.granted:
		return nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	at := slices.Index(b.waiting, r)
	if at < 0 {
		return nil // it was granted in the same moment
	}
	b.waiting = slices.Delete(b.waiting, at, at+1)
	b.grant() // to those who came later and want less
	return context.Cause(ctx)
}

// TryReserve takes an amount that is there at once, and that nobody waits for.
func (b *Budget) TryReserve(owner tenant.ID, amount int64) bool {
	amount = min(amount, b.Most())
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used+amount > b.whole || !b.allows(owner, amount) {
		return false
	}
	for _, r := range b.waiting {
		if b.allows(r.owner, r.amount) {
			return false // it waits for the whole, and comes first
		}
	}
	b.take(owner, amount)
	return true
}

// Adjust changes what a tenant holds.
func (b *Budget) Adjust(owner tenant.ID, difference int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.take(owner, difference)
	if difference < 0 {
		b.grant()
	}
}

// Release gives an amount back.
func (b *Budget) Release(owner tenant.ID, amount int64) {
	b.Adjust(owner, -min(amount, b.Most()))
}

// take changes what is held. The caller holds b.mu.
func (b *Budget) take(owner tenant.ID, amount int64) {
	b.used += amount
	if b.held[owner] += amount; b.held[owner] == 0 {
		delete(b.held, owner)
	}
}

// grant gives to those whose turn it is. The caller holds b.mu.
func (b *Budget) grant() {
	full := false
	b.waiting = slices.DeleteFunc(b.waiting, func(r *request) bool {
		if full || !b.allows(r.owner, r.amount) {
			return false
		}
		if full = b.used+r.amount > b.whole; full {
			return false
		}
		b.take(r.owner, r.amount)
		close(r.granted)
		return true
	})
}

// allows says whether a tenant may have that much. The caller holds b.mu.
func (b *Budget) allows(owner tenant.ID, amount int64) bool {
	held := b.held[owner]
	return held+amount <= b.share || held == 0 && b.used+amount <= b.Most()
}
