// Package audit records what is changed, seals the records, and implements inbound.Audit.
package audit

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"maps"
	"strconv"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/audit"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Work is a unit of work that writes to the audit log what is changed in it by somebody's act. It stands between the use
// cases and the repositories, so that no use case can forget it.
type Work struct {
	outbound.UnitOfWork
	clock  outbound.Clock
	random outbound.Random
}

var _ outbound.UnitOfWork = (*Work)(nil)

// NewWork returns units of work that are recorded.
func NewWork(work outbound.UnitOfWork, clock outbound.Clock, random outbound.Random) *Work {
	return &Work{work, clock, random}
}

// Do runs fn; what it changes is recorded when ctx is under [inbound.Acting].
func (w *Work) Do(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	act, ok := inbound.ActOf(ctx)
	if !ok {
		return w.UnitOfWork.Do(ctx, fn)
	}
	return w.UnitOfWork.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		r := &recorder{act: act, random: w.random, now: w.clock.Now()} // anew for each time that fn runs
		if err := fn(ctx, r.around(st)); err != nil {
			return err
		}
		return st.Audit.Log.Append(ctx, r.entries()...)
	})
}

// recorder collects what one unit changes.
type recorder struct {
	act     audit.Act
	random  outbound.Random
	now     time.Time
	changes []*change
}

// operators is in whose log stands what belongs to no tenant.
const operators tenant.ID = ""

// change is what became of one record.
type change struct {
	log           tenant.ID
	on            audit.Target
	before, after domain.Facts
	always        bool // it is worth an entry although no field changed
}

// record adds what became of a record; of one that was changed before in the unit, the two are one change.
func (r *recorder) record(c change) {
	for _, earlier := range r.changes {
		if earlier.log == c.log && earlier.on == c.on {
			if c.before != nil || c.after != nil { // of one that was only touched, no field is told
				earlier.after = c.after
			}
			earlier.always = earlier.always || c.always
			return
		}
	}
	r.changes = append(r.changes, &c)
}

// byOwner says who the person is that changes an account, where that is not known yet: the one whose account it is.
func (r *recorder) byOwner(id tenant.UserID, name string) {
	if a := &r.act.Actor; a.Kind == audit.ByMember && a.ID == "" {
		a.ID, a.Name = string(id), name
	}
}

func (r *recorder) entries() (all []audit.Entry) {
	for _, c := range r.changes {
		all = append(all, r.entriesOf(*c)...)
	}
	return all
}

// entriesOf are what the logs say of a change; none where nothing worth an entry changed.
func (r *recorder) entriesOf(c change) []audit.Entry {
	e := newEntry(r.random, r.act, c.log, c.on, c.before, c.after, r.now)
	switch {
	case !c.always && len(e.Changes()) == 0:
		return nil
	case c.log != operators && r.byOperator():
		return []audit.Entry{e, r.operatorsEntry(c)}
	default:
		return []audit.Entry{e}
	}
}

// byOperator says whether the operator acts, whose log has what is done to tenants, too.
func (r *recorder) byOperator() bool {
	return r.act.Actor.Kind == audit.ByOperator || r.act.Actor.Kind == audit.ByCommandLine
}

// operatorsEntry says in the operator's log what stands in a tenant's, and whose record it is.
func (r *recorder) operatorsEntry(c change) audit.Entry {
	before, after := c.before, c.after
	if c.on.Kind != tenantKind {
		whose := &after
		if before != nil && after == nil { // it was removed
			whose = &before
		}
		said := domain.Facts{"tenantId": domain.TextFact(strconv.Quote(string(c.log)))}
		maps.Copy(said, *whose)
		*whose = said
	}
	return newEntry(r.random, r.act, operators, c.on, before, after, r.now)
}

func newEntry(random outbound.Random, act audit.Act, log tenant.ID, on audit.Target, before, after domain.Facts, now time.Time) audit.Entry {
	var salt [audit.SaltBytes]byte
	random.Fill(salt[:])
	return audit.New(audit.ID(random.ID(audit.IDPrefix)), act, log, on, before, after, now, hex.EncodeToString(salt[:]))
}

// described is a record that says what it is.
type described interface{ Facts() domain.Facts }

// made records a record that was inserted.
func (r *recorder) made(log tenant.ID, kind, id string, of described, err error) error {
	if err == nil {
		r.record(change{log: log, on: audit.Target{Kind: kind, ID: id}, after: of.Facts(), always: true})
	}
	return err
}

// changed writes a record and records what changed. read gives it as it is stored; where there is none, the write says so.
func changed[T described](r *recorder, log tenant.ID, kind, id string, of described, read func() (T, error), write func() error) error {
	stored, err := read()
	before, err := facts(stored, err)
	if failed := write(); failed != nil || err != nil {
		return cmp.Or(failed, err)
	}
	after, isSince := of.(interface {
		FactsSince(stored T, known domain.Facts) domain.Facts
	})
	c := change{log: log, on: audit.Target{Kind: kind, ID: id}, before: before}
	if isSince {
		c.after = after.FactsSince(stored, before)
	} else {
		c.after = of.Facts()
	}
	r.record(c)
	return nil
}

// facts are those of a record that was read. Of one whose secret nobody can decrypt nothing is known.
func facts[T described](found T, err error) (domain.Facts, error) {
	switch {
	case outbound.IsUnreadableSecret(err), errors.Is(err, outbound.ErrKeyMissing), errors.Is(err, outbound.ErrWrongKey):
		return domain.Facts{}, nil
	case err != nil:
		return nil, err
	}
	return found.Facts(), nil
}

// removed does the same for a record that is deleted.
func removed[T described](r *recorder, log tenant.ID, kind, id string, read func() (T, error), write func() error) error {
	before, err := facts(read())
	if failed := write(); failed != nil || err != nil {
		return cmp.Or(failed, err)
	}
	r.record(change{log: log, on: audit.Target{Kind: kind, ID: id}, before: before, always: true})
	return nil
}

// touched records a change of a record of which no field is told.
func (r *recorder) touched(log tenant.ID, kind, id string, err error) error {
	if err == nil {
		r.record(change{log: log, on: audit.Target{Kind: kind, ID: id}, always: true})
	}
	return err
}

// outcome records what has no repository of its own here: that somebody moved a run.
func (r *recorder) outcome(of any) {
	if moved, ok := of.(run.Summary); ok {
		r.record(change{log: moved.Tenant, on: audit.Target{Kind: "run", ID: string(moved.ID)}, always: true})
	}
}
