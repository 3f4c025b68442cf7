package sqlstore

import (
	"context"
	"errors"
	"sync"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Bounds of an intake.
const (
	fullBatch = 64 // that many do not wait for the batch at work
	maxBatch  = 128
)

// TriggerIntake commits the triggers of requests that arrive at the same time
// together (group commit). Nothing waits for a timer: a request that finds none at work
// goes at once; the others wait until that one is done, and then the first of them goes
// with all the rest. Two small batches side by side would cost more than one large, so a
// second one goes only when it is full.
type TriggerIntake struct {
	store *Store

	mu      sync.Mutex
	waiting []*entry
	atWork  int
}

var _ outbound.TriggerIntake = (*TriggerIntake)(nil)

// NewTriggerIntake returns an intake into the store.
func NewTriggerIntake(store *Store) *TriggerIntake { return &TriggerIntake{store: store} }

// entry is a trigger that is to be added, with the outcome to record under its
// idempotency key.
type entry struct {
	trg     *trigger.Trigger
	once    domain.Once
	answer  []byte
	verdict chan verdict // receives once
}

// verdict tells a request that waits what became of it, or that it is its turn to
// commit a batch, which it is the first of.
type verdict struct {
	done  bool
	err   error
	batch []*entry
}

// Insert adds a trigger together with those of other requests.
func (q *TriggerIntake) Insert(ctx context.Context, trg *trigger.Trigger, once domain.Once) (bool, error) {
	e := &entry{trg: trg, once: once, verdict: make(chan verdict, 1)}
	if once.Wanted() {
		answer, err := once.Answer(trg)
		if err != nil {
			return false, err
		}
		e.answer = answer
	}
	batch := q.enter(e)
	if batch == nil {
		v := <-e.verdict
		if v.batch == nil {
			return v.done, v.err
		}
		batch = v.batch
	}
	return q.goWith(ctx, batch)
}

// enter lets the entry wait, or returns the batch that it goes with at once.
func (q *TriggerIntake) enter(e *entry) []*entry {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.atWork == 0 { // then nobody waits: handOver leaves nobody behind
		q.atWork++
		return []*entry{e}
	}
	if len(q.waiting)+1 >= fullBatch && q.atWork < q.store.dialect.Intakes {
		q.atWork++
		batch := append([]*entry{e}, q.waiting...)
		q.waiting = nil
		return batch
	}
	q.waiting = append(q.waiting, e)
	return nil
}

// goWith commits a batch for the first of its entries, and hands over to the next. What
// others wait for is not ended by the client of one, nor by a deadline, for which the
// driver would start a goroutine each time and which it cannot hold against a database
// that is silent: locks and the network have bounds of their own.
func (q *TriggerIntake) goWith(ctx context.Context, batch []*entry) (bool, error) {
	done, err := q.commit(context.WithoutCancel(ctx), batch)
	q.handOver()
	if err != nil {
		done = make([]bool, len(batch))
	}
	for i, other := range batch[1:] {
		other.verdict <- verdict{done: done[i+1], err: err}
	}
	return done[0], err
}

// handOver gives the first of those who wait the turn, with as many behind it as make
// a batch.
func (q *TriggerIntake) handOver() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.waiting = nil
		q.atWork--
		return
	}
	n := min(len(q.waiting), maxBatch)
	batch := q.waiting[:n:n]
	q.waiting = q.waiting[n:]
	batch[0].verdict <- verdict{batch: batch}
}

// commit adds a batch and says for each entry whether it was added. An entry that
// the database refuses takes the whole batch along, and so does one that collides:
// then each is left to a unit of its own.
func (q *TriggerIntake) commit(ctx context.Context, batch []*entry) ([]bool, error) {
	insert := q.store.insertEach
	if q.store.dialect.InsertTriggers != nil {
		insert = q.store.insertAtOnce
	}
	done, err := insert(ctx, batch)
	switch kind := domain.KindOf(err); {
	case err == nil:
		return done, nil
	case kind == domain.Unavailable, isContext(err):
		return nil, err
	default:
		return make([]bool, len(batch)), nil
	}
}

// insertEach adds the entries one after another in one unit.
func (s *Store) insertEach(ctx context.Context, batch []*entry) ([]bool, error) {
	var done []bool
	err := s.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		done = make([]bool, len(batch))
		for i, e := range batch {
			owner, now := e.trg.Tenant(), e.trg.CreatedAt()
			if err := st.Outcomes.Claim(ctx, owner, e.once, now); err != nil {
				if isDatabaseFailure(err) {
					return err
				}
				continue
			}
			if _, err := st.Versions.Belongs(ctx, owner, e.trg.Version()); errors.Is(err, domain.NotFound) {
				continue
			} else if err != nil {
				return err
			}
			if err := st.Triggers.Insert(ctx, e.trg); err != nil {
				return err
			}
			if err := st.Outcomes.Keep(ctx, owner, e.once, e.trg, now); err != nil {
				return err
			}
			done[i] = true
		}
		return nil
	})
	return done, err
}

// isDatabaseFailure tells an error of the database from an answer.
func isDatabaseFailure(err error) bool {
	var replay *domain.Replay
	kind := domain.KindOf(err)
	return !errors.As(err, &replay) && kind != domain.Conflict && kind != domain.Invalid
}

// insertAtOnce adds the entries with one statement, which is a transaction of its own.
func (s *Store) insertAtOnce(ctx context.Context, batch []*entry) ([]bool, error) {
	rows, index := entriesOf(batch)
	u := &unit{pool: s.writer, store: s, writing: true}
	defer func() { s.writer.prepare(ctx, u.unprepared) }()
	statement, args := s.dialect.InsertTriggers(rows)
	n, err := u.exec(ctx, "insert triggers", statement, args...)
	if err != nil {
		if err = s.diagnosed(ctx, err); domain.KindOf(err) == domain.Unavailable || isContext(err) {
			return nil, err
		}
	}
	done := make([]bool, len(batch))
	switch {
	case err == nil && n == 0:
	case err == nil && n == int64(len(rows)):
		for _, at := range index {
			done[at] = true
		}
	default: // only some were, or the database refuses what it may have taken before: see added
		added, err := s.added(ctx, rows)
		if err != nil {
			return nil, err
		}
		for _, id := range added {
			done[index[id]] = true
		}
	}
	return done, nil
}

// added is which of some new triggers are there. Their identifiers are new as well: who is
// there was added by the statement, even by one that failed, for a driver sends a statement
// again whose answer was lost with its connection. Any error is that of a database which
// does not say, since nobody may take it for nothing having been added.
func (s *Store) added(ctx context.Context, rows []TriggerEntry) (ids []string, err error) {
	u := &unit{pool: s.writer, store: s}
	defer func() { s.writer.prepare(ctx, u.unprepared) }()
	statement, args := s.dialect.AmongTriggers(rows)
	err = u.list(ctx, "see which triggers were inserted", &ids, statement, args...)
	if err = s.diagnosed(ctx, err); err == nil || domain.KindOf(err) == domain.Unavailable || isContext(err) {
		return ids, err
	}
	return nil, busy(err)
}

// entriesOf is what is to be added for a batch, with the places of the identifiers in
// the batch. Of entries that share a key, all but the first are left out.
func entriesOf(batch []*entry) (rows []TriggerEntry, index map[string]int) {
	rows, index = make([]TriggerEntry, 0, len(batch)), make(map[string]int, len(batch))
	keys := make(map[[3]string]bool)
	for i, e := range batch {
		if e.once.Wanted() {
			key := [3]string{string(e.trg.Tenant()), e.once.Scope, e.once.Key}
			if keys[key] {
				continue
			}
			keys[key] = true
		}
		st := e.trg.State()
		index[string(st.ID)] = i
		rows = append(rows, TriggerEntry{
			State: st, SearchText: searchText(st.Name, nil), Event: listensFor(e.trg),
			Scope: e.once.Scope, Key: e.once.Key, Fingerprint: e.once.Fingerprint, Answer: e.answer,
		})
	}
	return rows, index
}

// TriggerEntry is a new trigger and the outcome to keep with it, for
// [Dialect.InsertTriggers]. An empty key keeps none.
type TriggerEntry struct {
	State      trigger.State
	SearchText string
	Event      *string // by which it is looked for, nil for none

	Scope, Key, Fingerprint string
	Answer                  []byte
}
