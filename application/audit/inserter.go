package audit

import (
	"context"

	"github.com/sluicehq/sluice/domain/audit"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Inserter adds triggers of which the audit log has entries.
type Inserter struct {
	outbound.TriggerInserter
	random outbound.Random
}

var _ outbound.TriggerInserter = (*Inserter)(nil)

// NewInserter returns what adds triggers, and records the acts by which they are added.
func NewInserter(inserter outbound.TriggerInserter, random outbound.Random) *Inserter {
	return &Inserter{inserter, random}
}

// Insert gives each trigger its entry.
func (i *Inserter) Insert(ctx context.Context, all []*outbound.NewTrigger) error {
	for _, e := range all {
		if e.Act != nil {
			entry := newEntry(i.random, *e.Act, e.Trigger.Tenant(), audit.Target{Kind: triggerKind, ID: string(e.Trigger.ID())}, nil, e.Trigger.Facts(), e.Trigger.CreatedAt())
			e.Entry = &entry
		}
	}
	return i.TriggerInserter.Insert(ctx, all)
}
