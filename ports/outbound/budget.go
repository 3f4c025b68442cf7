package outbound

import (
	"context"

	"github.com/sluicehq/sluice/domain/tenant"
)

// Budgets are those of moving runs on, in bytes of memory. Whoever holds some of one may
// wait for those behind it in the order here, and for none before it.
type Budgets struct {
	Calls     Budget // calls of nodes that are under way
	Answers   Budget // what they were answered with, until it is recorded
	Computing Budget // what runs look at and compute
	Planning  Budget // versions that are made ready to run
}

// Budget divides something scarce among tenants: bytes of memory, calls in flight, turns
// to compute. Whoever needs some reserves it before taking it, and releases it afterwards.
//
// A tenant has at most a share of the whole. Something larger than a share is granted to a
// tenant that holds nothing else, where two shares are left then, so that one tenant never
// holds everything.
type Budget interface {
	// Reserve waits until the amount is there or ctx ends; the error then is its cause.
	// Those who came first come first, except behind a tenant that has used up its share.
	// An amount above [Budget.Most] counts as that; release the amount that was asked for.
	Reserve(ctx context.Context, owner tenant.ID, amount int64) error

	// TryReserve takes what is there at once, and says whether it did.
	TryReserve(owner tenant.ID, amount int64) bool

	// Adjust changes what a tenant holds by a difference, without waiting: something has
	// turned out larger or smaller than it was reserved for. It may exceed the whole; then
	// nothing is granted until it fits again.
	Adjust(owner tenant.ID, difference int64)

	// Release gives back what was reserved.
	Release(owner tenant.ID, amount int64)

	// Most is the largest amount that can be reserved at once.
	Most() int64
}
