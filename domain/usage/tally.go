package usage

import (
	"maps"
	"sync"

	"github.com/sluicehq/sluice/domain/tenant"
)

// Refusals are the budgets beyond which something of a tenant was refused.
type Refusals map[tenant.BudgetName]bool

// Tally counts in the memory of a process, until somebody writes it down. It is for use by many at once; nil counts nothing.
type Tally struct {
	mu      sync.Mutex
	counts  map[tenant.ID]*Counts
	refused map[tenant.ID]Refusals
}

// NewTally returns an empty tally.
func NewTally() *Tally {
	return &Tally{counts: make(map[tenant.ID]*Counts), refused: make(map[tenant.ID]Refusals)}
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

// Refuse notes that something of a tenant was beyond a budget.
func (t *Tally) Refuse(owner tenant.ID, beyond tenant.BudgetName) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.refused[owner] == nil {
		t.refused[owner] = make(Refusals)
	}
	t.refused[owner][beyond] = true
}

// TakeRefusals returns what was refused since the last call.
func (t *Tally) TakeRefusals() map[tenant.ID]Refusals {
	t.mu.Lock()
	defer t.mu.Unlock()
	taken := maps.Clone(t.refused)
	clear(t.refused)
	return taken
}
