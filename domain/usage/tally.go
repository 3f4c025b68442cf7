package usage

import (
	"maps"
	"sync"

	"github.com/sluicehq/sluice/domain/tenant"
)

// Tally counts in the memory of a process, until somebody writes it down. It is for use by many at once; nil counts nothing.
type Tally struct {
	mu     sync.Mutex
	counts map[tenant.ID]*Counts
	full   map[tenant.ID]bool
}

// NewTally returns an empty tally.
func NewTally() *Tally {
	return &Tally{counts: make(map[tenant.ID]*Counts), full: make(map[tenant.ID]bool)}
}

// Count adds to what is counted of a tenant.
func (t *Tally) Count(owner tenant.ID, c Counts) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts[owner] == nil {
		t.counts[owner] = new(Counts)
	}
	t.counts[owner].Add(c)
}

// Take returns what was counted since the last call.
func (t *Tally) Take() map[tenant.ID]*Counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	taken := maps.Clone(t.counts)
	clear(t.counts)
	return taken
}

// LiveFull notes that a tenant had as many live runs as it may.
func (t *Tally) LiveFull(owner tenant.ID) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.full[owner] = true
}

// TakeLiveFull returns which tenants had since the last call.
func (t *Tally) TakeLiveFull() map[tenant.ID]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	taken := maps.Clone(t.full)
	clear(t.full)
	return taken
}
