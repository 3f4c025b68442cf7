package httpapi

import (
	"context"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// Budget divides bytes of memory, or turns, among tenants: each has at most a share.
type Budget interface {
	// Reserve waits until the amount is there or ctx ends; the error then is its cause. An
	// amount above Most counts as that.
	Reserve(ctx context.Context, owner tenant.ID, amount int64) error

	// TryReserve takes what is there at once.
	TryReserve(owner tenant.ID, amount int64) bool

	// Release gives back what was reserved.
	Release(owner tenant.ID, amount int64)

	// Most is the largest amount that can be reserved at once.
	Most() int64
}

// errMemoryBusy says that there was no memory for a request.
var errMemoryBusy = func() error {
	e := domain.Fail(domain.Unavailable, "memory_busy",
		"There is no memory for a request of this size at the moment. Try again in a second, or send less at a time.")
	e.RetryAfter = time.Second
	return e
}()

// reservation is what one request holds of a budget. Whoever reserves something for it
// releases it. It waits only while it holds nothing, so that no two wait for each other.
type reservation struct {
	budget Budget
	owner  tenant.ID
	size   int64
}

// intakeOf is what the request holds of the intake. It is released when it is answered.
func (a *API) intakeOf(c *gin.Context) *reservation {
	v := visitOf(c)
	if v.intake.budget == nil {
		v.intake = reservation{budget: a.opts.Intake, owner: v.caller.Tenant}
	}
	return &v.intake
}

// pagesFor is what a request holds of the pages at first: nothing. Whoever reserves
// something for it releases it.
func (a *API) pagesFor(who tenant.Caller) *reservation {
	return &reservation{budget: a.opts.Pages, owner: who.Tenant}
}

func (h *reservation) has(size int) bool { return h.size >= min(int64(size), h.budget.Most()) }

// tryReplace reserves an amount in place of what is held, where it is there at once.
func (h *reservation) tryReplace(size int) bool {
	h.release()
	amount := min(int64(size), h.budget.Most())
	if !h.budget.TryReserve(h.owner, amount) {
		return false
	}
	h.size = amount
	return true
}

// replace waits for an amount in place of what is held until ctx ends; the error then is
// its cause.
func (h *reservation) replace(ctx context.Context, size int) error {
	h.release()
	amount := min(int64(size), h.budget.Most())
	err := h.budget.Reserve(ctx, h.owner, amount)
	if err == nil {
		h.size = amount
	}
	return err
}

// resize holds another amount. More is had only where it is there at once; else nothing is
// held any more.
func (h *reservation) resize(size int) bool {
	more := min(int64(size), h.budget.Most()) - h.size
	switch {
	case more <= 0:
		h.budget.Release(h.owner, -more)
	case !h.budget.TryReserve(h.owner, more):
		return h.tryReplace(size) // alone it may be more than a share
	}
	h.size += more
	return true
}

// release gives all of it back.
func (h *reservation) release() {
	if h.size > 0 {
		h.budget.Release(h.owner, h.size)
		h.size = 0
	}
}
