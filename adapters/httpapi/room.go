package httpapi

import (
	"context"
	"slices"
	"sync"

	"github.com/sluicehq/sluice/domain/tenant"
)

// room bounds how many bytes of runs are held at the same time, of all tenants together
// and of each of them: so one whose clients read slowly leaves some to the others.
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

// take waits for room until ctx ends; the error then is its cause. It is no more than a
// share. Nobody overtakes who came before, but for those whose own tenant has no more.
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
		if full || r.of[c.owner]+c.size > r.share {
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

// holding is the room that one request has.
type holding struct {
	room  *room
	owner tenant.ID
	size  int
}

// holding has none yet. Whoever asks for it leaves.
func (a *API) holding(who tenant.Caller) *holding { return &holding{room: a.room, owner: who.Tenant} }

// most is what is held for something of a size: not more than a tenant may have, or what
// is larger would wait for ever.
func (h *holding) most(size int) int { return min(size, h.room.share) }

func (h *holding) has(size int) bool { return h.size >= h.most(size) }

// tryTake takes room in place of what is held, where it is there at once.
func (h *holding) tryTake(size int) bool {
	h.leave()
	if !h.room.tryTake(h.owner, h.most(size)) {
		return false
	}
	h.size = h.most(size)
	return true
}

// take waits for room in place of what is held; see [room.take].
func (h *holding) take(ctx context.Context, size int) error {
	h.leave()
	if size == 0 {
		return nil
	}
	err := h.room.take(ctx, h.owner, h.most(size))
	if err == nil {
		h.size = h.most(size)
	}
	return err
}

// leave gives everything back.
func (h *holding) leave() {
	if h.size > 0 {
		h.room.give(h.owner, h.size)
		h.size = 0
	}
}
