package core

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicehq/sluice/domain/change"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// maxPendingChanges is how many changes wait to be sent to other processes at most.
const maxPendingChanges = 2000

// listRequestTTL is how long other processes report changes of a tenant that were requested once.
const listRequestTTL = 30 * time.Second

// ListRequestInterval is how often changes are requested again while somebody follows them.
const ListRequestInterval = listRequestTTL / 3

// tenantSet is never changed.
type tenantSet map[tenant.ID]struct{}

func (s *tenantSet) has(owner tenant.ID) bool {
	if s == nil {
		return false
	}
	_, ok := (*s)[owner]
	return ok
}

// Lists passes on what units of work change in lists: to those who follow in this process, and to other processes
// that request it. What carries notices between processes takes from it what is to be sent.
type Lists struct {
	followed atomic.Pointer[tenantSet] // here or elsewhere; nil while nobody follows

	mu        sync.Mutex
	followers map[tenant.ID][]*listFollower
	requested map[tenant.ID]time.Time // by other processes, until when
	wake      func()                  // to send; nil while notices are not sent
	pending   []change.Change         // to be sent
	lost      tenantSet               // to be sent: of these tenants changes were not reported
	requests  tenantSet               // to be sent
}

type listFollower struct{ onChange func([]change.Change) }

var _ outbound.ListChanges = (*Store)(nil)

// Lists passes on what changes in lists.
func (s *Store) Lists() *Lists { return &s.lists }

// FollowLists reports changes of a tenant's lists.
func (s *Store) FollowLists(owner tenant.ID, onChange func([]change.Change)) (stop func()) {
	return s.lists.follow(owner, onChange)
}

func (l *Lists) follow(owner tenant.ID, onChange func([]change.Change)) (stop func()) {
	f := &listFollower{onChange}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.followers == nil {
		l.followers = make(map[tenant.ID][]*listFollower)
	}
	l.followers[owner] = append(l.followers[owner], f)
	l.update()
	l.request(owner)
	return func() { l.leave(owner, f) }
}

func (l *Lists) leave(owner tenant.ID, f *listFollower) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.followers[owner] = slices.DeleteFunc(l.followers[owner], func(other *listFollower) bool { return other == f })
	if len(l.followers[owner]) == 0 {
		delete(l.followers, owner)
	}
	l.update()
}

// update publishes which tenants are followed, if that has changed.
func (l *Lists) update() {
	now := make(tenantSet, len(l.followers)+len(l.requested))
	for owner := range l.followers {
		now[owner] = struct{}{}
	}
	for owner := range l.requested {
		now[owner] = struct{}{}
	}
	switch before := l.followed.Load(); {
	case len(now) == 0:
		l.followed.Store(nil)
	case before == nil || !maps.Equal(*before, now):
		l.followed.Store(&now)
	}
}

// publish reports the changes of a unit that has committed. unnoted says that it may have made others, of tenants
// of whom nobody knew, when it began, that somebody follows them.
func (l *Lists) publish(followed *tenantSet, changes []change.Change, unnoted bool) {
	now := l.followed.Load()
	unnoted = unnoted && now != nil && now != followed
	if len(changes) == 0 && !unnoted {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.report(changes)
	for _, c := range changes {
		if _, ok := l.requested[c.Tenant]; ok {
			l.send(c)
		}
	}
	if !unnoted {
		return
	}
	for owner := range *now {
		if !followed.has(owner) {
			l.reportLost(owner)
			l.sendLost(owner)
		}
	}
}

// report calls those who follow here, once for all changes of a tenant that follow each other.
func (l *Lists) report(changes []change.Change) {
	for len(changes) > 0 {
		owner, n := changes[0].Tenant, 1
		for n < len(changes) && changes[n].Tenant == owner {
			n++
		}
		for _, f := range l.followers[owner] {
			f.onChange(changes[:n])
		}
		changes = changes[n:]
	}
}

func (l *Lists) reportLost(owner tenant.ID) {
	for _, f := range l.followers[owner] {
		f.onChange(nil)
	}
}

// send keeps a change for other processes, or, when there are too many, that some were lost.
func (l *Lists) send(c change.Change) {
	switch {
	case l.wake == nil:
		return
	case len(l.pending) >= maxPendingChanges:
		for _, waiting := range l.pending {
			l.sendLost(waiting.Tenant)
		}
		l.pending = nil
		l.sendLost(c.Tenant)
		return
	}
	l.pending = append(l.pending, c)
	l.wake()
}

func (l *Lists) sendLost(owner tenant.ID) {
	if _, ok := l.requested[owner]; !ok || l.wake == nil {
		return
	}
	if l.lost == nil {
		l.lost = make(tenantSet)
	}
	l.lost[owner] = struct{}{}
	l.wake()
}

func (l *Lists) request(owner tenant.ID) {
	if l.wake == nil {
		return
	}
	if l.requests == nil {
		l.requests = make(tenantSet)
	}
	l.requests[owner] = struct{}{}
	l.wake()
}

// ListsFollowed says whether what the unit changes in lists of a tenant is to be noted.
func (u *Unit) ListsFollowed(owner tenant.ID) bool {
	if u.followed.has(owner) {
		return true
	}
	u.unnoted = true
	return false
}

// NoteLists notes changes of lists, to be reported once the unit has committed.
func (u *Unit) NoteLists(changes ...change.Change) { u.listChanges = append(u.listChanges, changes...) }
