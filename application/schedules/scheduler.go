package schedules

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Scheduler implements inbound.Scheduler.
type Scheduler struct {
	work    outbound.UnitOfWork
	runs    outbound.RunStarter
	signals outbound.RunSignals
	clock   outbound.Clock
	random  outbound.Random
}

var _ inbound.Scheduler = (*Scheduler)(nil)

// NewScheduler returns a scheduler that starts runs through the port.
func NewScheduler(work outbound.UnitOfWork, runs outbound.RunStarter, signals outbound.RunSignals, clock outbound.Clock, random outbound.Random) *Scheduler {
	return &Scheduler{work: work, runs: runs, signals: signals, clock: clock, random: random}
}

// putOff is how long a schedule that cannot be dealt with waits.
const putOff = time.Minute

// patience is how long one unit of work may take.
const patience = 15 * time.Second

var errPutOff = errors.New("a schedule cannot be dealt with and is put off")

// FireDue deals with schedules that are due.
func (s *Scheduler) FireDue(ctx context.Context, limit int) (looked int, next time.Time, err error) {
	now := s.clock.Now()
	if next, err = s.next(ctx); err != nil || next.IsZero() || next.After(now) {
		return 0, next, err
	}
	claimed, err := s.fire(ctx, now, limit)
	looked = len(claimed)
	if err != nil {
		var apart error
		if looked, apart = s.fireApart(ctx, now, limit); apart != nil {
			err = apart // says which one it was
		}
	}
	next, errNext := s.next(ctx)
	return looked, next, errors.Join(err, errNext)
}

// next finds when a schedule has to be looked at, without claiming any; the zero time
// for never.
func (s *Scheduler) next(ctx context.Context) (at time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		at, _, err = st.Schedules.Next(ctx)
		return err
	})
	return at, err
}

// fire claims schedules that are due and deals with at most limit instants of theirs,
// in one unit. It returns the schedules it looked at, beside an error, too.
func (s *Scheduler) fire(ctx context.Context, now time.Time, limit int) (claimed []outbound.DueSchedule, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var started []run.ID
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if claimed, err = st.Schedules.Due(ctx, now, limit); err != nil {
			return err
		}
		var looked []outbound.LookedAt
		var plans []plan
		left := limit
		for i, due := range claimed {
			if left == 0 {
				claimed = claimed[:i] // the rest stays due
				break
			}
			agenda := due.Trigger.Agenda(due.DealtWith, now, left)
			left -= len(agenda.Plan)
			plans = append(plans, plan{due.Trigger, agenda.Plan})
			looked = append(looked, outbound.LookedAt{
				Tenant: due.Trigger.Tenant(), Trigger: due.Trigger.ID(), DealtWith: agenda.Through, Next: agenda.Next,
			})
		}
		if started, err = s.carryOut(ctx, st, plans, now); err != nil {
			return err
		}
		return st.Schedules.Advance(ctx, looked)
	})
	if err == nil && len(started) > 0 {
		s.signals.Tell(started...)
	}
	return claimed, err
}

// plan is what is to be done about the instants of one trigger.
type plan struct {
	trg     *trigger.Trigger
	planned []trigger.Planned
}

// carryOut writes the ledger and starts the runs. The ledger decides: an instant that
// it holds already starts nothing. It returns the runs that it started.
func (s *Scheduler) carryOut(ctx context.Context, st outbound.Stores, plans []plan, now time.Time) ([]run.ID, error) {
	if err := s.keepApart(ctx, st, plans); err != nil {
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
	var wanted []outbound.ScheduledRun
	for _, fire := range added {
		if fire.Outcome().Starts() {
			wanted = append(wanted, outbound.ScheduledRun{Trigger: owners[fire], Fire: fire})
		}
	}
	return s.start(ctx, st, wanted)
}

// start starts runs, returns which, and notes in the ledger which could not be started.
func (s *Scheduler) start(ctx context.Context, st outbound.Stores, wanted []outbound.ScheduledRun) (started []run.ID, err error) {
	if len(wanted) == 0 {
		return nil, nil
	}
	refusals, err := s.runs.Start(ctx, st, wanted)
	if err != nil {
		return nil, err
	}
	var refused []*trigger.Fire
	for i, reason := range refusals {
		fire := wanted[i].Fire
		if reason == "" {
			started = append(started, run.ID(fire.RunID()))
			continue
		}
		fire.Suppress(reason)
		refused = append(refused, fire)
	}
	return started, st.Fires.Amend(ctx, refused)
}

// keepApart suppresses what must not run beside another run of the same trigger: one
// that goes on, or one that is about to be started.
func (s *Scheduler) keepApart(ctx context.Context, st outbound.Stores, plans []plan) error {
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
	unfinished, err := s.runs.Unfinished(ctx, st, triggers)
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

// fireApart deals with one schedule at a time, after dealing with several at once has
// failed, and puts off those that fail by themselves.
func (s *Scheduler) fireApart(ctx context.Context, now time.Time, limit int) (looked int, err error) {
	for range limit {
		claimed, failure := s.fire(ctx, now, 1)
		switch {
		case failure == nil && len(claimed) == 0:
			return looked, err
		case failure == nil:
			looked++
		case len(claimed) == 0 || domain.KindOf(failure) != domain.Internal || errors.Is(failure, context.DeadlineExceeded) || ctx.Err() != nil:
			return looked, errors.Join(err, failure)
		default:
			trg := claimed[0].Trigger
			err = errors.Join(err, fmt.Errorf("%w: trigger %s of %s: %w", errPutOff, trg.ID(), trg.Tenant(), failure))
			if failure := s.delay(ctx, now, limit, trg); failure != nil {
				return looked, errors.Join(err, failure)
			}
		}
	}
	return looked, err
}

// delay makes a schedule wait without dealing with it.
func (s *Scheduler) delay(ctx context.Context, now time.Time, limit int, trg *trigger.Trigger) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		due, err := st.Schedules.Due(ctx, now, limit)
		if err != nil {
			return err
		}
		for _, d := range due {
			if d.Trigger.ID() == trg.ID() && d.Trigger.Tenant() == trg.Tenant() {
				return st.Schedules.Advance(ctx, []outbound.LookedAt{
					{Tenant: trg.Tenant(), Trigger: trg.ID(), DealtWith: d.DealtWith, Next: now.Add(putOff)},
				})
			}
		}
		return nil // another process has it
	})
}
