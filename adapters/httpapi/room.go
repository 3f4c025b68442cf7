package httpapi

import (
	"context"
	"slices"
	"sync"

	"github.com/sluicehq/sluice/domain/tenant"
)

// room bounds how many bytes of runs and pages are held at the same time, of all tenants
// together and of each of them: so one whose clients read slowly leaves some to the others. What is
// larger than a share is held by a tenant that holds nothing else, and only where two shares
// are left then: so two tenants never have all.
type room struct {
	whole, share int

	mu      sync.Mutex
	taken   int
	of      map[tenant.ID]int
	waiting []*claim // in the order in which they came
}

// claim is room that somebody waits for.
type claim struct {
	owner   tenant.ID
	size    int
	granted chan struct{}
}

func newRoom(whole, share int) *room {
	return &room{whole: whole, share: share, of: make(map[tenant.ID]int)}
}

// take waits for room until ctx ends; the error then is its cause. It is no more than
// [room.most]. Nobody overtakes who came before, but for those whose own tenant has no more.
func (r *room) take(ctx context.Context, owner tenant.ID, size int) error {
	c := &claim{owner, size, make(chan struct{})}
	r.mu.Lock()
	r.waiting = append(r.waiting, c)
	r.grant()
	r.mu.Unlock()
	select {
	case <-c.granted:
		return nil
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at := slices.Index(r.waiting, c)
	if at < 0 {
		return nil // it was granted in the same moment
	}
	r.waiting = slices.Delete(r.waiting, at, at+1)
	r.grant() // to those who came later and want less
	return context.Cause(ctx)
}

// tryTake takes room that is there at once.
func (r *room) tryTake(owner tenant.ID, size int) bool { return r.take(over, owner, size) == nil }

// over is a context that has ended.
var over = func() context.Context {
	ctx, end := context.WithCancel(context.Background())
	end()
	return ctx
}()

// give gives room back.
func (r *room) give(owner tenant.ID, size int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken -= size
	if r.of[owner] -= size; r.of[owner] == 0 {
		delete(r.of, owner)
	}
	r.grant()
}

// grant gives room to those whose turn it is.
func (r *room) grant() {
	full := false
	r.waiting = slices.DeleteFunc(r.waiting, func(c *claim) bool {
		if full || !r.allows(c) {
			return false
		}
		if full = r.taken+c.size > r.whole; full {
			return false
		}
		r.taken += c.size
		r.of[c.owner] += c.size
		close(c.granted)
		return true
	})
}

// allows says whether the tenant of a claim may have as much.
func (r *room) allows(c *claim) bool {
	of := r.of[c.owner]
	return of+c.size <= r.share || of == 0 && r.taken+c.size <= r.most()
}

// most is how much one thing can have.
func (r *room) most() int { return r.whole - 2*r.share }

// holding is the room that one request has.
type holding struct {
	room  *room
	owner tenant.ID
	size  int
}

// nothingHeld is where a request begins. Whoever takes room for it gives it back.
func (a *API) nothingHeld(who tenant.Caller) *holding {
	return &holding{room: a.room, owner: who.Tenant}
}

// counted is what is taken for something of a size: not more than there can be, or what is
// larger would wait for ever.
func (h *holding) counted(size int) int { return min(size, h.room.most()) }

func (h *holding) has(size int) bool { return h.size >= h.counted(size) }

// tryTake takes room in place of what is held, where it is there at once.
func (h *holding) tryTake(size int) bool {
	h.giveBack()
	if !h.room.tryTake(h.owner, h.counted(size)) {
		return false
	}
	h.size = h.counted(size)
	return true
}

// take waits for room in place of what is held; see [room.take].
func (h *holding) take(ctx context.Context, size int) error {
	h.giveBack()
	if size == 0 {
		return nil
	}
	err := h.room.take(ctx, h.owner, h.counted(size))
	if err == nil {
		h.size = h.counted(size)
	}
	return err
}

// giveBack gives all of it back.
func (h *holding) giveBack() {
	if h.size > 0 {
		h.room.give(h.owner, h.size)
		h.size = 0
	}
}
