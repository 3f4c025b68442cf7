package sqlstore

import (
	"context"
	"errors"
	"slices"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/audit"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/outbound"
)

// TriggerInserter adds triggers in batches: with one statement where that is faster, else in
// one unit of work.
type TriggerInserter struct{ store *Store }

var _ outbound.TriggerInserter = (*TriggerInserter)(nil)

// NewTriggerInserter returns what adds triggers to the store.
func NewTriggerInserter(store *Store) *TriggerInserter { return &TriggerInserter{store: store} }

// Parallel is as the database has it.
func (i *TriggerInserter) Parallel() int { return max(1, i.store.dialect.ParallelInserts) }

// Insert adds a batch. A trigger that the database refuses takes the whole batch along, and
// so does one that collides: then each is left to a unit of its own.
func (i *TriggerInserter) Insert(ctx context.Context, all []*outbound.NewTrigger) error {
	for _, e := range all {
		e.Added = false
	}
	if len(all) == 0 {
		return nil
	}
	insert := i.store.insertEach
	if i.store.dialect.InsertTriggers != nil {
		insert = i.store.insertBatch
	}
	err := insert(ctx, all)
	if err == nil {
		return nil
	}
	for _, e := range all {
		e.Added = false
	}
	if domain.KindOf(err) == domain.Unavailable || core.IsContext(err) {
		return err
	}
	return nil
}

// insertEach adds the triggers one after another in one unit.
func (s *Store) insertEach(ctx context.Context, all []*outbound.NewTrigger) error {
	return s.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		for _, e := range all {
			e.Added = false
			owner, now := e.Trigger.Tenant(), e.Trigger.CreatedAt()
			if err := st.Idempotency.Claim(ctx, owner, e.IdempotencyKey, now); err != nil {
				if isDatabaseFailure(err) {
					return err
				}
				continue
			}
			if _, err := st.Versions.Parent(ctx, tenant.All(owner), e.Trigger.Version()); errors.Is(err, domain.NotFound) {
				continue
			} else if err != nil {
				return err
			}
			if err := st.Triggers.Insert(ctx, e.Trigger); err != nil {
				return err
			}
			if err := st.Idempotency.Record(ctx, owner, e.IdempotencyKey, e.Trigger, now); err != nil {
				return err
			}
			if e.Entry != nil {
				if err := st.Audit.Log.Append(ctx, *e.Entry); err != nil {
					return err
				}
			}
			e.Added = true
		}
		return nil
	})
}

// isDatabaseFailure tells an error of the database from an answer.
func isDatabaseFailure(err error) bool {
	var replay *domain.Replay
	kind := domain.KindOf(err)
	return !errors.As(err, &replay) && kind != domain.Conflict && kind != domain.Invalid
}

// insertBatch adds the triggers with one statement, which is a transaction of its own.
func (s *Store) insertBatch(ctx context.Context, all []*outbound.NewTrigger) error {
	rows, index, err := entriesOf(all)
	if err != nil {
		return err
	}
	statement, args := s.dialect.InsertTriggers(rows)
	var n int64
	err = s.Statements(ctx, func(u *core.Unit) (err error) {
		if slices.ContainsFunc(all, func(e *outbound.NewTrigger) bool { return e.Entry != nil }) {
			u.NoteAudited()
		}
		n, err = u.Exec(ctx, "insert triggers", statement, args...)
		return err
	})
	if err != nil && (domain.KindOf(err) == domain.Unavailable || core.IsContext(err)) {
		return err
	}
	switch {
	case err == nil && n == 0:
	case err == nil && n == int64(len(rows)):
		for _, at := range index {
			all[at].Added = true
		}
	default: // only some were, or the database refuses what it may have taken before: see added
		added, err := s.added(ctx, rows)
		if err != nil {
			return err
		}
		for _, id := range added {
			all[index[id]].Added = true
		}
	}
	return nil
}

// added is which of some new triggers are there. Their identifiers are new as well: who is
// there was added by the statement, even by one that failed, for a driver sends a statement
// again whose answer was lost with its connection. Any error is that of a database which
// does not say, since nobody may take it for nothing having been added.
func (s *Store) added(ctx context.Context, rows []TriggerEntry) (ids []string, err error) {
	statement, args := s.dialect.AddedTriggers(rows)
	err = s.Statements(ctx, func(u *core.Unit) error {
		return u.ReadRows(ctx, "see which triggers were inserted", &ids, statement, args...)
	})
	if err == nil || domain.KindOf(err) == domain.Unavailable || core.IsContext(err) {
		return ids, err
	}
	return nil, core.Busy(err)
}

// entriesOf is what is to be added for a batch, with the places of the identifiers in
// the batch. Of entries that share a key, all but the first are left out.
func entriesOf(all []*outbound.NewTrigger) (rows []TriggerEntry, index map[string]int, err error) {
	rows, index = make([]TriggerEntry, 0, len(all)), make(map[string]int, len(all))
	keys := make(map[[3]string]bool)
	for i, e := range all {
		if e.IdempotencyKey.Wanted() {
			key := [3]string{string(e.Trigger.Tenant()), e.IdempotencyKey.Scope, e.IdempotencyKey.Key}
			if keys[key] {
				continue
			}
			keys[key] = true
		}
		st := e.Trigger.State()
		index[string(st.ID)] = i
		var said string
		var digest []byte
		if e.Entry != nil {
			if said, err = encodeSaid(e.Entry); err != nil {
				return nil, nil, err
			}
			hash := e.Entry.Digest()
			digest = hash[:]
		}
		rows = append(rows, TriggerEntry{
			Audit: e.Entry, Said: said, Digest: digest,
			State: st, SearchText: core.SearchText(st.Name, nil), Event: listensFor(e.Trigger),
			Scope: e.IdempotencyKey.Scope, Key: e.IdempotencyKey.Key, Fingerprint: e.IdempotencyKey.Fingerprint, Answer: e.Answer,
		})
	}
	return rows, index, nil
}

// TriggerEntry is a new trigger and the outcome to keep with it, for
// [Dialect.InsertTriggers]. An empty key keeps none.
type TriggerEntry struct {
	State      trigger.State
	SearchText string
	Event      *string // by which it is looked for, nil for none

	Scope, Key, Fingerprint string
	Answer                  []byte

	Audit  *audit.Entry // nil for none
	Said   string       // its values, as they are stored
	Digest []byte
}
