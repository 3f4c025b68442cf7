// Package stream sends what is large or lasts: JSON documents in bounded chunks, and
// server-sent events. It also bounds what requests hold meanwhile: memory and places.
package stream

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/sluicehq/sluice/domain/tenant"
)

// Budget divides bytes of memory, or turns, among tenants: each has at most a share.
type Budget interface {
	// Reserve waits until the amount is there or ctx ends; the error then is its cause. An
	// amount above Most counts as Most.
	Reserve(ctx context.Context, owner tenant.ID, amount int64) error

	// TryReserve takes the amount if it is there at once.
	TryReserve(owner tenant.ID, amount int64) bool

	// Release gives back what was reserved.
	Release(owner tenant.ID, amount int64)

	// Max is the largest amount that can be reserved at once.
	Max() int64
}

// Defaults of [Memory].
const (
	defaultSimulation = 64 << 20
	defaultMaxWait    = 5 * time.Second

	// MaxReading is how many runs and pages are read at a time: each takes several times its
	// size while it is read.
	MaxReading = 4
)

// Memory is what requests share.
type Memory struct {
	Intake      Budget // bytes of request bodies and what they become, and of simulations
	Pages       Budget // bytes of whole runs and large pages, until their readers have them
	Simulations Budget // turns to simulate

	SimulationBytes int           // how much of Intake a simulation takes at most; 0 for 64 MiB
	MaxWait         time.Duration // how long a request waits for memory or a turn; 0 for 5 s
	Reading         Turns         // to read a whole run or a large page; nil for [MaxReading]
}

// Complete returns the memory with its defaults. It fails when a budget is missing.
func (m Memory) Complete() (*Memory, error) {
	if m.Intake == nil || m.Pages == nil || m.Simulations == nil {
		return nil, errors.New("the API needs the budgets Intake, Pages and Simulations")
	}
	m.SimulationBytes = cmp.Or(m.SimulationBytes, defaultSimulation)
	m.MaxWait = cmp.Or(m.MaxWait, defaultMaxWait)
	if m.Reading == nil {
		m.Reading = make(Turns, MaxReading)
	}
	return &m, nil
}

// Wait returns a context that ends after MaxWait, with busy as its cause.
func (m *Memory) Wait(ctx context.Context, busy error) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, m.MaxWait, busy)
}

// MaxPage is how many bytes a page has at most, so that one tenant can hold two.
func (m *Memory) MaxPage() int { return int(m.Pages.Max() / 2) }

// Reservation is what one request holds of a budget, nothing at first. Its owner calls
// Release. It waits only while it holds nothing, so that no two wait for each other.
type Reservation struct {
	budget Budget
	owner  tenant.ID
	size   int64
}

// Reserve begins a reservation.
func Reserve(b Budget, owner tenant.ID) Reservation { return Reservation{budget: b, owner: owner} }

// Begun says whether it is of a budget; the zero value is not.
func (h *Reservation) Begun() bool { return h.budget != nil }

// Size is how much is held.
func (h *Reservation) Size() int64 { return h.size }

// Has says whether as much is held.
func (h *Reservation) Has(size int) bool { return h.size >= min(int64(size), h.budget.Max()) }

// TryReplace reserves an amount in place of what is held, if it is there at once.
func (h *Reservation) TryReplace(size int) bool {
	h.Release()
	amount := min(int64(size), h.budget.Max())
	if !h.budget.TryReserve(h.owner, amount) {
		return false
	}
	h.size = amount
	return true
}

// Replace waits for an amount in place of what is held until ctx ends; the error then is
// its cause.
func (h *Reservation) Replace(ctx context.Context, size int) error {
	h.Release()
	amount := min(int64(size), h.budget.Max())
	err := h.budget.Reserve(ctx, h.owner, amount)
	if err == nil {
		h.size = amount
	}
	return err
}

// Resize holds another amount, if it is there at once; else nothing is held any more.
func (h *Reservation) Resize(size int) bool {
	more := min(int64(size), h.budget.Max()) - h.size
	switch {
	case more <= 0:
		h.budget.Release(h.owner, -more)
	case !h.budget.TryReserve(h.owner, more):
		return h.TryReplace(size) // alone it may be more than a share
	}
	h.size += more
	return true
}

// Release gives all of it back.
func (h *Reservation) Release() {
	if h.size > 0 {
		h.budget.Release(h.owner, h.size)
		h.size = 0
	}
}

// Turns lets a few do something at the same time.
type Turns chan struct{}

// Acquire waits for a turn until ctx ends; the error then is its cause. A free turn is taken
// in any case.
func (t Turns) Acquire(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	default:
	}
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Release gives the turn back.
func (t Turns) Release() { <-t }
