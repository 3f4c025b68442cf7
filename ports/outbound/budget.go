package outbound

import (
	"context"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
)

// Budgets are those of moving runs on, in bytes of memory where they do not say otherwise. Whoever holds some of one may
// wait for those behind it in the order here, and for none before it.
type Budgets struct {
	Calls     Budget // calls of nodes that are under way
	Growing   Budget // runs whose results may become large
	Computing Budget // what runs look at and compute
	Brief     Budget // the same, of what takes a moment and at most [BriefMemory]
	Planning  Budget // versions that are made ready to run

	// Processors are turns to compute for long, which leave processors to others.
	Processors Budget
}

// BriefMemory is with how much memory nobody computes for long, in bytes.
const BriefMemory = run.MaxComputed + 4<<20

// Budget divides something scarce among tenants: bytes of memory, calls in flight, turns
// to compute. Whoever needs some reserves it before taking it, and releases it afterwards.
// Nobody waits for more while holding some, except with a bound of time: two who do wait for
// each other.
//
// A tenant has at most a share of the whole. Something larger than a share is granted to a
// tenant that holds nothing else. All that tenants hold that have more than a share is
// at most [Budget.Most], which leaves two shares to the others.
type Budget interface {
	// Reserve waits until the amount is there or ctx ends; the error then is its cause.
	//
	// Tenants that wait take turns, and what a tenant asks for is granted in that order.
	// Nobody is overtaken who waits because the whole is used up. A tenant that has used up
	// its share holds up nobody else; neither does one that asks for more than a share
	// while others hold more than a share, except those who ask for that, too.
	//
	// An amount above Most counts as that; release the amount that was asked for. Nothing is
	// always there.
	Reserve(ctx context.Context, owner tenant.ID, amount int64) error

	// TryReserve takes what is there at once, and says whether it did. It overtakes nobody
	// whom Reserve would not overtake, and nobody of its own tenant.
	TryReserve(owner tenant.ID, amount int64) bool

	// Release gives back what was reserved.
	Release(owner tenant.ID, amount int64)

	// Max is the largest amount that can be reserved at once.
	Max() int64
}
