package execution

import (
	"context"
	"sync"
	"time"

	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/usage"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Allowance admits runs within what tenants may use. What is used is read once for many runs: a reading admits an eighth of
// what it left, for a second, and then is made again. So eight gateways together start no more than a budget has left, other than
// what is being started at the same time, and what one that stood still in that second had of its part; and a run that is refused is refused by a reading of its own, one of this second, or one
// that cannot become less.
type Allowance struct {
	clock outbound.Clock
	tally *usage.Tally

	mu    sync.Mutex
	known map[tenant.ID]*reading
}

const (
	readingPart   = 8
	readingPeriod = time.Second
	maxReadings   = 10_000 // of as many tenants
)

// reading is what a tenant has used.
type reading struct {
	at       time.Time
	standing usage.Standing
	admitted int64 // runs since
}

// NewAllowance returns one for a process. The tally gets to know whose budgets are spent.
func NewAllowance(clock outbound.Clock, tally *usage.Tally) *Allowance {
	return &Allowance{clock: clock, tally: tally, known: make(map[tenant.ID]*reading)}
}

// UnitAllowance is an [Allowance] within one unit of work, which does not read what it has started itself.
type UnitAllowance struct {
	of       *Allowance
	st       outbound.Stores
	admitted map[tenant.ID]admitted
	readings map[tenant.ID]usage.Standing
}

type admitted struct{ runs, bytes int64 }

// In is the allowance in a unit of work.
func (a *Allowance) In(st outbound.Stores) *UnitAllowance {
	return &UnitAllowance{of: a, st: st, admitted: make(map[tenant.ID]admitted), readings: make(map[tenant.ID]usage.Standing)}
}

// Admit says why a tenant may not start so many runs with so many bytes, as [tenant.Budgets] does. kept is what is kept without
// what the unit keeps.
func (u *UnitAllowance) Admit(ctx context.Context, owner tenant.ID, b tenant.Budgets, runs int, kept int64, bytes int) error {
	before := u.admitted[owner]
	after := admitted{before.runs + int64(runs), before.bytes + int64(bytes)}
	if err := u.of.CheckBytes(owner, b, kept, after.bytes); err != nil {
		return err
	}
	if b.LimitRuns() {
		if err := u.admitRuns(ctx, owner, b, before.runs, int64(runs)); err != nil {
			return err
		}
	}
	u.admitted[owner] = after
	return nil
}

func (u *UnitAllowance) admitRuns(ctx context.Context, owner tenant.ID, b tenant.Budgets, before, more int64) error {
	now := u.of.clock.Now()
	if _, own := u.readings[owner]; !own {
		switch known, ok := u.of.admit(owner, b, more, now); {
		case ok:
			return nil
		case b.RunsPerMonth > 0 && known.Month == usage.MonthOf(now) && known.Used.RunsPerMonth > b.RunsPerMonth-more: // they never become fewer
			return u.of.checkRuns(owner, tenant.Budgets{RunsPerMonth: b.RunsPerMonth}, known.Used, more, now)
		case b.LiveRuns > 0 && known.Used.LiveRuns > max(0, b.LiveRuns-more):
			return u.of.checkRuns(owner, tenant.Budgets{LiveRuns: b.LiveRuns}, known.Used, more, now)
		}
	}
	found, err := u.read(ctx, owner, now)
	if err != nil {
		return err
	}
	used := found.Used
	used.RunsPerMonth += before
	used.LiveRuns += before
	if err := u.of.checkRuns(owner, b, used, more, now); err != nil {
		return err
	}
	u.of.note(owner, more)
	return nil
}

// read reads what a tenant has used, once in the unit.
func (u *UnitAllowance) read(ctx context.Context, owner tenant.ID, now time.Time) (usage.Standing, error) {
	if found, own := u.readings[owner]; own {
		return found, nil
	}
	found := usage.Standing{Tenant: owner, Month: usage.MonthOf(now)}
	all, err := u.st.Usage.Budgets.Standings(ctx, found.Month, owner)
	if err != nil {
		return found, err
	}
	if len(all) > 0 { // else it is gone
		found = all[0]
	}
	u.readings[owner] = found
	u.of.keep(owner, &reading{at: now, standing: found, admitted: u.admitted[owner].runs})
	return found, nil
}

// AdmitAgain says why a tenant may not have another run that has ended go on: it is no new one, but live again.
func (u *UnitAllowance) AdmitAgain(ctx context.Context, owner tenant.ID) error {
	now := u.of.clock.Now()
	found, err := u.read(ctx, owner, now)
	if err != nil {
		return err
	}
	again := u.admitted[owner]
	found.Used.LiveRuns += again.runs
	if err := u.of.checkRuns(owner, tenant.Budgets{LiveRuns: found.Budgets.LiveRuns}, found.Used, 1, now); err != nil {
		return err
	}
	again.runs++
	u.admitted[owner] = again
	return nil
}

// CheckBytes is [tenant.Budgets.CheckBytes], and notes what it refuses.
func (a *Allowance) CheckBytes(owner tenant.ID, b tenant.Budgets, kept, more int64) error {
	err := b.CheckBytes(kept, more)
	if err != nil {
		a.tally.Refuse(owner, tenant.BytesKept)
	}
	return err
}

// checkRuns is [tenant.Budgets.CheckRuns], and notes what it refuses.
func (a *Allowance) checkRuns(owner tenant.ID, b, used tenant.Budgets, more int64, now time.Time) error {
	if beyond := b.RunsBeyond(used, more); beyond != "" {
		a.tally.Refuse(owner, beyond)
	}
	return b.CheckRuns(used, more, usage.NextMonth(now).Sub(now))
}

// admit takes runs from what the last reading left; else it returns what that was.
func (a *Allowance) admit(owner tenant.ID, b tenant.Budgets, more int64, now time.Time) (known usage.Standing, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.known[owner]
	switch {
	case r == nil:
		return known, false
	case r.standing.Month != usage.MonthOf(now) || now.Sub(r.at) >= readingPeriod || now.Before(r.at):
		known = r.standing
		known.Used.LiveRuns = 0 // some may have ended
		return known, false
	}
	for _, name := range []tenant.BudgetName{tenant.RunsPerMonth, tenant.LiveRuns} {
		limit, used := *b.Field(name), *r.standing.Used.Field(name)
		if limit > 0 && (*r.standing.Budgets.Field(name) == 0 || r.admitted+more > (limit-used)/readingPart) {
			return r.standing, false
		}
	}
	r.admitted += more
	return known, true
}

func (a *Allowance) keep(owner tenant.ID, r *reading) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.known) >= maxReadings {
		clear(a.known)
	}
	a.known[owner] = r
}

func (a *Allowance) note(owner tenant.ID, runs int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r := a.known[owner]; r != nil {
		r.admitted += runs
	}
}
