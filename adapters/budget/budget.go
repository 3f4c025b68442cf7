// Package budget divides what the process has among tenants: memory, calls in flight and
// turns to compute. It implements outbound.Budget in memory.
package budget

import (
	"context"
	"slices"
	"sync"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Budget implements outbound.Budget. It is safe for concurrent use.
type Budget struct {
	whole, share int64

	mu      sync.Mutex
	used    int64
	large   int64 // of what is used, what tenants hold that have more than a share
	held    map[tenant.ID]int64
	waiting []*queue // whose turn it is first is first
}

var _ outbound.Budget = (*Budget)(nil)

// queue is what one tenant waits for, in the order in which it asked.
type queue struct {
	owner    tenant.ID
	requests []*request
}

// request is an amount that somebody waits for.
type request struct {
	amount  int64
	granted chan struct{}
}

// New returns a budget of an amount of at least 1, of which a tenant has at most a quarter,
// or half of it for one thing.
func New(whole int64) *Budget { return NewShared(whole, whole/4) }

// NewShared is [New] with another share, which is at least 1. Nothing is larger than a share
// that is more than a third of the whole.
func NewShared(whole, share int64) *Budget {
	return &Budget{whole: whole, share: min(max(share, 1), whole), held: make(map[tenant.ID]int64)}
}

// Max is what is left of the whole when two other tenants have their shares, and a share
// at least.
func (b *Budget) Max() int64 { return max(b.share, b.whole-2*b.share) }

// Used returns how much is held by all tenants.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Whole returns how much there is.
func (b *Budget) Whole() int64 { return b.whole }

// Waiting returns how many requests wait.
func (b *Budget) Waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, q := range b.waiting {
		n += len(q.requests)
	}
	return n
}

// Reserve waits for an amount.
func (b *Budget) Reserve(ctx context.Context, owner tenant.ID, amount int64) error {
	if b.TryReserve(owner, amount) {
		return nil
	}
	r := &request{min(amount, b.Max()), make(chan struct{})}
	b.mu.Lock()
	q := b.queueOf(owner)
	if q == nil {
		q = &queue{owner: owner}
		b.waiting = append(b.waiting, q)
	}
	q.requests = append(q.requests, r)
	b.grant() // something may have been released since
	b.mu.Unlock()
	select {
	case <-r.granted:
		return nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.cancel(owner, r) {
		return nil // it was granted in the same moment
	}
	b.grant() // to those who came later and want less
	return context.Cause(ctx)
}

// TryReserve takes an amount that is there at once, and that nobody waits for.
func (b *Budget) TryReserve(owner tenant.ID, amount int64) bool {
	if amount <= 0 || !run.AccountingEnabled {
		return true
	}
	amount = min(amount, b.Max())
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.obstacle(owner, amount) != none || b.queueOf(owner) != nil {
		return false
	}
	for _, q := range b.waiting {
		switch b.obstacle(q.owner, q.requests[0].amount) {
		case theWhole:
			return false // it comes first
		case otherLarge:
			if amount > b.share {
				return false
			}
		case none, itsOwn:
		}
	}
	b.take(owner, amount)
	return true
}

// Release gives an amount back.
func (b *Budget) Release(owner tenant.ID, amount int64) {
	if amount <= 0 || !run.AccountingEnabled {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.take(owner, -min(amount, b.Max()))
	b.grant()
}

func (b *Budget) queueOf(owner tenant.ID) *queue {
	for _, q := range b.waiting {
		if q.owner == owner {
			return q
		}
	}
	return nil
}

// cancel takes a request back, and says whether it still waited.
func (b *Budget) cancel(owner tenant.ID, r *request) bool {
	q := b.queueOf(owner)
	if q == nil {
		return false
	}
	at := slices.Index(q.requests, r)
	if at < 0 {
		return false
	}
	q.requests = slices.Delete(q.requests, at, at+1)
	if len(q.requests) == 0 {
		b.waiting = slices.Delete(b.waiting, slices.Index(b.waiting, q), slices.Index(b.waiting, q)+1)
	}
	return true
}

// take changes what is held. The caller holds b.mu.
func (b *Budget) take(owner tenant.ID, amount int64) {
	before := b.held[owner]
	after := before + amount
	b.used += amount
	b.large += b.largePart(after) - b.largePart(before)
	if b.held[owner] = after; after == 0 {
		delete(b.held, owner)
	}
}

// largePart is what a tenant that holds so much holds of [Budget.large].
func (b *Budget) largePart(held int64) int64 {
	if held > b.share {
		return held
	}
	return 0
}

// grant gives to those whose turn it is. Whoever got something is the last one to get
// something again. The caller holds b.mu.
func (b *Budget) grant() {
	for at := b.next(); at >= 0; at = b.next() {
		q := b.waiting[at]
		r := q.requests[0]
		b.take(q.owner, r.amount)
		close(r.granted)
		b.waiting = slices.Delete(b.waiting, at, at+1)
		if q.requests = q.requests[1:]; len(q.requests) > 0 {
			b.waiting = append(b.waiting, q)
		}
	}
}

// next is whose turn it is, -1 for nobody's.
func (b *Budget) next() int {
	largeWaits := false
	for at, q := range b.waiting {
		amount := q.requests[0].amount
		switch b.obstacle(q.owner, amount) {
		case theWhole:
			return -1 // nobody overtakes it, or it might wait for ever
		case otherLarge:
			largeWaits = true
		case none:
			if amount <= b.share || !largeWaits {
				return at
			}
		case itsOwn:
		}
	}
	return -1
}

// obstacle is what an amount has to wait for.
type obstacle int

const (
	none       obstacle = iota
	itsOwn              // that its tenant releases something
	otherLarge          // that another tenant releases something larger than a share
	theWhole            // that anybody releases something
)

// obstacle says what stands in the way of an amount. The caller holds b.mu.
func (b *Budget) obstacle(owner tenant.ID, amount int64) obstacle {
	held := b.held[owner]
	switch {
	case held+amount > b.share && held > 0:
		return itsOwn
	case amount > b.share && b.large+amount > b.Max():
		return otherLarge
	case b.used+amount > b.whole:
		return theWhole
	}
	return none
}
