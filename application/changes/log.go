package changes

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/sluicehq/sluice/domain/change"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// maxKept is how many changes a log keeps. Who is further behind reads lists anew.
const maxKept = 256

// changeLog is the latest changes within a scope, numbered from 1. A scope has one of its own, so that
// its numbers, and what is too much, say nothing of what happens outside of it.
type changeLog struct {
	scope  tenant.Scope
	epoch  string // no other log has it, here or elsewhere
	memory outbound.Budget
	stop   func() // adding changes

	followers int       // guarded by the service, as is left
	left      time.Time // when the last follower did

	mu       sync.Mutex
	last     int64           // number of the last change
	kept     []change.Change // up to last, without a gap
	reserved int64           // for them
	reload   int64           // who has seen less than this number reads lists anew
	reloaded time.Time       // when that was raised
	news     chan struct{}   // closed and replaced with the next change
}

func newChangeLog(scope tenant.Scope, epoch string, memory outbound.Budget) *changeLog {
	return &changeLog{scope: scope, epoch: epoch, memory: memory, reloaded: time.Now(), news: make(chan struct{})}
}

// add takes in changes; none says that some may have been lost.
func (l *changeLog) add(changes []change.Change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.last
	if len(changes) == 0 {
		l.lose()
	}
	for _, c := range changes {
		switch {
		case !c.Within(l.scope):
		case c.Kind == "":
			l.lose()
		default:
			l.keep(c)
		}
	}
	if l.last > before {
		l.wake()
	}
}

func (l *changeLog) wake() {
	close(l.news)
	l.news = make(chan struct{})
}

// keep adds a change in the place of the oldest, if need be. Where there is no memory for it, lists are to be read anew.
func (l *changeLog) keep(c change.Change) {
	for len(l.kept) >= maxKept {
		l.reload = max(l.reload, l.last-int64(len(l.kept))+1)
		l.free(sizeOf(l.kept[0]))
		l.kept = slices.Delete(l.kept, 0, 1)
	}
	if size := sizeOf(c); l.memory.TryReserve(l.scope.Tenant(), size) {
		l.reserved += size
		l.kept = append(l.kept, copied(c))
		l.last++
		return
	}
	l.lose()
}

// lose has everybody read lists anew.
func (l *changeLog) lose() {
	l.last++
	l.reload, l.reloaded, l.kept = l.last, time.Now(), nil
	l.free(l.reserved)
}

func (l *changeLog) free(size int64) {
	if size > 0 {
		l.memory.Release(l.scope.Tenant(), size)
		l.reserved -= size
	}
}

// release gives back all memory. Nothing is added any more.
func (l *changeLog) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = nil
	l.free(l.reserved)
}

// after returns what follows a change, and the number of the last. news is closed when there is more.
func (l *changeLog) after(seen int64) (events []inbound.ListEvent, last int64, news <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.reloaded) >= reloadInterval {
		l.lose()
		l.wake()
	}
	if seen < l.reload {
		return []inbound.ListEvent{{ID: l.id(l.last)}}, l.last, l.news
	}
	first := l.last - int64(len(l.kept)) + 1
	place := make(map[change.Record]int)
	for i, c := range l.kept[max(0, seen+1-first):] {
		if at, known := place[c.Record()]; known {
			c = c.After(events[at].Change)
			events[at].ID = ""
		}
		place[c.Record()] = len(events)
		events = append(events, inbound.ListEvent{ID: l.id(max(seen+1, first) + int64(i)), Change: c})
	}
	return slices.DeleteFunc(events, func(e inbound.ListEvent) bool { return e.ID == "" }), l.last, l.news
}

func (l *changeLog) id(number int64) string { return l.epoch + "-" + strconv.FormatInt(number, 10) }

// position is the number of the change that has the identifier, and -1 for one of another log.
func (l *changeLog) position(id string) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	epoch, text, _ := strings.Cut(id, "-")
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || epoch != l.epoch || number < 0 || number > l.last {
		return -1
	}
	return number
}

// sizeOf is about how many bytes a change takes.
func sizeOf(c change.Change) int64 {
	return int64(unsafe.Sizeof(c)) + int64(len(c.SubTenant)+len(c.ID)+len(c.Node)+len(c.Workflow)+len(c.Parent)+len(c.Endpoint))
}

// copied keeps nothing of the texts in memory that parts of it may be cut from.
func copied(c change.Change) change.Change {
	c.SubTenant, c.ID, c.Node = tenant.SubTenantID(strings.Clone(string(c.SubTenant))), strings.Clone(c.ID), workflow.NodeID(strings.Clone(string(c.Node)))
	c.Workflow, c.Parent, c.Endpoint = workflow.ID(strings.Clone(string(c.Workflow))), run.ID(strings.Clone(string(c.Parent))), event.EndpointID(strings.Clone(string(c.Endpoint)))
	return c
}
