package schedules

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Scheduler implements inbound.Scheduler. What is due, and how late it is, is by the store's
// clock, which all processes share; its own clock dates runs only.
type Scheduler struct {
	work       outbound.UnitOfWork
	selections *execution.Selections
	signals    outbound.RunSignals
	clock      outbound.Clock
	random     outbound.Random
	allowance  *execution.Allowance
	timeout    time.Duration // how long a unit may take
	panics     atomic.Int64

	backlogUnits int        // how many units deal with a backlog at the same time
	selecting    sync.Mutex // held by the one that looks at an instant: a tenant may have memory for one look at a time
}

var _ inbound.Scheduler = (*Scheduler)(nil)

// unitTimeout is many times what a unit takes, and no longer than others may have to wait.
const unitTimeout = 5 * time.Second

// NewScheduler returns a scheduler.
func NewScheduler(work outbound.UnitOfWork, selections *execution.Selections, signals outbound.RunSignals, clock outbound.Clock, random outbound.Random, allowance *execution.Allowance) *Scheduler {
	return &Scheduler{work: work, selections: selections, signals: signals, clock: clock, random: random, allowance: allowance, timeout: unitTimeout, backlogUnits: 1}
}

// WithBacklogUnits has so many units deal with a backlog at the same time, where a database gains by that: it works on
// one of them while another one computes. It returns the scheduler.
func (s *Scheduler) WithBacklogUnits(n int) *Scheduler {
	s.backlogUnits = n
	return s
}

// FireDue deals with schedules that are due. The clock that comes with the question
// whether there are any decides: a process whose own is wrong is neither early nor late.
func (s *Scheduler) FireDue(ctx context.Context, limit int) (look inbound.ScheduleResult, err error) {
	defer s.recoverPanic(&err)
	if look.Next, look.Now, err = s.next(ctx); err != nil || look.Next.IsZero() || look.Next.After(look.Now) {
		return look, err
	}
	now := look.Now
	claimed, err := s.fire(ctx, due{now: now, limit: limit, timeout: s.timeout, claim: func(ctx context.Context, st outbound.Stores) ([]outbound.DueSchedule, error) {
		return st.Schedules.Due(ctx, now, limit)
	}})
	look.Schedules = len(claimed)
	if err != nil {
		look.Schedules, err = s.firePerTenant(ctx, now, limit, claimed, err)
	}
	var errNext error
	look.Next, look.Now, errNext = s.next(ctx)
	return look, errors.Join(err, errNext)
}

// next finds when a schedule has to be looked at, without claiming any, and what time it
// is; the zero time for never.
func (s *Scheduler) next(ctx context.Context) (at, now time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		at, now, err = st.Schedules.Next(ctx)
		return err
	})
	return at, now, err
}

// due is what one unit is about.
type due struct {
	now     time.Time
	limit   int // instants
	timeout time.Duration
	claim   func(context.Context, outbound.Stores) ([]outbound.DueSchedule, error)
}

// fire claims schedules and deals with what they owe, in one unit. It returns the
// schedules it looked at, next to an error, too.
func (s *Scheduler) fire(ctx context.Context, d due) (claimed []outbound.DueSchedule, err error) {
	defer s.recoverPanic(&err)
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	var made *startedRuns
	known := make(selections)
	without, err := s.selected(ctx, known, func(without map[tenant.ID]bool) error {
		return s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
			if claimed, err = d.claim(ctx, st); err != nil {
				return err
			}
			claimed = slices.DeleteFunc(claimed, func(one outbound.DueSchedule) bool {
				return without[one.Trigger.Tenant()] && one.Trigger.Config().Selects()
			})
			plans, looked := d.plan(claimed)
			claimed = claimed[:len(looked)] // the rest stays due
			if made, err = s.carryOut(ctx, st, plans, known, d.now); err != nil {
				d.claim = claimOf(d.now, keysOf(claimed)) // should it have to begin anew
				return err
			}
			return st.Schedules.Advance(ctx, looked)
		})
	})
	if err != nil {
		return claimed, err
	}
	for _, one := range made.skipped {
		s.selections.Count(one.tenant, one.reason)
	}
	if len(made.runs) > 0 {
		s.signals.Notify(made.runs...)
	}
	return claimed, s.postponeAll(ctx, d.now, without)
}

// postponeAll makes the schedules of tenants wait that could not be looked at.
func (s *Scheduler) postponeAll(ctx context.Context, now time.Time, of map[tenant.ID]bool) (err error) {
	for _, owner := range slices.Sorted(maps.Keys(of)) {
		err = errors.Join(err, s.postpone(ctx, now, now.Add(busyDelay), outbound.TriggerKey{Scope: tenant.All(owner)}))
	}
	return err
}

func keysOf(claimed []outbound.DueSchedule) []outbound.TriggerKey {
	keys := make([]outbound.TriggerKey, len(claimed))
	for i, one := range claimed {
		keys[i] = outbound.KeyOf(one.Trigger)
	}
	return keys
}

// plan shares the instants that the unit may deal with among the schedules: one that is
// far behind does not keep the others waiting, and neither what is written nor what is
// held in memory depends on how long nobody looked.
func (d due) plan(claimed []outbound.DueSchedule) (plans []plan, looked []outbound.ScheduleProgress) {
	left := d.limit
	for i, one := range claimed {
		if left <= 0 {
			break
		}
		others := len(claimed) - i
		agenda := one.Trigger.DueWork(one.ProcessedUntil, d.now, (left+others-1)/others)
		left -= len(agenda.Plan)
		plans = append(plans, plan{one.Trigger, agenda.Plan})
		looked = append(looked, outbound.ScheduleProgress{
			Tenant: one.Trigger.Tenant(), Trigger: one.Trigger.ID(), ProcessedUntil: agenda.ProcessedUntil, Next: agenda.Next,
		})
	}
	return plans, looked
}

// plan is what is to be done about the instants of one trigger.
type plan struct {
	trg     *trigger.Trigger
	planned []trigger.PlannedFire
}

// carryOut writes the ledger and starts the runs. The ledger decides: an instant that
// it holds already starts nothing.
func (s *Scheduler) carryOut(ctx context.Context, st outbound.Stores, plans []plan, known selections, now time.Time) (*startedRuns, error) {
	if err := s.suppressOverlaps(ctx, st, plans); err != nil {
		return nil, err
	}
	var fires []*trigger.Fire
	owners := make(map[*trigger.Fire]*trigger.Trigger)
	for _, p := range plans {
		for _, planned := range p.planned {
			runID := ""
			if planned.Outcome.Starts() {
				runID = s.random.ID(run.IDPrefix)
			}
			fire, err := trigger.NewFire(p.trg.Tenant(), p.trg.ID(), planned, runID, now)
			if err != nil {
				return nil, err
			}
			fires = append(fires, fire)
			owners[fire] = p.trg
		}
	}
	added, err := st.Fires.Record(ctx, fires)
	if err != nil {
		return nil, err
	}
	var wanted []scheduledRun
	for _, fire := range added {
		if fire.Outcome().Starts() {
			wanted = append(wanted, scheduledRun{owners[fire], fire})
		}
	}
	return s.start(ctx, st, wanted, known)
}

// suppressOverlaps suppresses what must not run next to another run of the same trigger: one
// that goes on, or one that is about to be started.
func (s *Scheduler) suppressOverlaps(ctx context.Context, st outbound.Stores, plans []plan) error {
	var asked []plan
	var triggers []*trigger.Trigger
	for _, p := range plans {
		if p.trg.Config().Overlap() == trigger.OverlapSkip && len(p.planned) > 0 {
			asked = append(asked, p)
			triggers = append(triggers, p.trg)
		}
	}
	if len(asked) == 0 {
		return nil
	}
	unfinished, err := st.Runs.Overview.Unfinished(ctx, triggers)
	if err != nil {
		return err
	}
	for i, p := range asked {
		for j, planned := range p.planned {
			if unfinished[i] {
				p.planned[j] = trigger.OverlapSkip.Overlapping(planned)
			}
			unfinished[i] = unfinished[i] || planned.Outcome.Starts()
		}
	}
	return nil
}
