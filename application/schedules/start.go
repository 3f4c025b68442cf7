package schedules

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/outbound"
)

// scheduledRun is a run that a schedule asks for.
type scheduledRun struct {
	trigger *trigger.Trigger
	fire    *trigger.Fire
}

// startedRuns is what became of the runs that schedules asked for.
type startedRuns struct {
	runs    []run.ID
	skipped []skippedFire
}

// skippedFire is why a trigger was not for its instant, as [execution.Selections.Count] has it.
type skippedFire struct {
	tenant tenant.ID
	reason string
}

// start starts runs, and notes in the ledger which could not be started.
func (s *Scheduler) start(ctx context.Context, st outbound.Stores, wanted []scheduledRun, known selections) (*startedRuns, error) {
	made := new(startedRuns)
	if len(wanted) == 0 {
		return made, nil
	}
	refusals, err := s.startRuns(ctx, st, wanted, known, made)
	if err != nil {
		return nil, err
	}
	var refused []*trigger.Fire
	for i, reason := range refusals {
		fire := wanted[i].fire
		if reason == "" {
			made.runs = append(made.runs, run.ID(fire.RunID()))
			continue
		}
		fire.Suppress(reason)
		refused = append(refused, fire)
	}
	return made, st.Fires.Amend(ctx, refused)
}

// startRuns starts a run for each fire, and returns, in their order, why a run cannot be
// started, for the ledger; empty where it was. The dedupe key is the instant, so that none is run
// twice even where the ledger has forgotten it.
func (s *Scheduler) startRuns(ctx context.Context, st outbound.Stores, wanted []scheduledRun, known selections, made *startedRuns) (refusals []string, err error) {
	keys := make([]outbound.TriggerKey, len(wanted))
	for i, w := range wanted {
		keys[i] = outbound.KeyOf(w.trigger)
	}
	found, err := st.Firing.Triggers(ctx, keys)
	if err != nil {
		return nil, err
	}
	refusals = make([]string, len(wanted))
	var open []selecting
	var runs []*run.Run
	var places []int
	bounded := make(map[int]boundedRun) // by their places
	allowed := s.allowance.In(st)
	for i, f := range found {
		if refusals[i] = run.CannotFire(f.Trigger, f.Workflow, f.ParentState); refusals[i] != "" {
			continue
		}
		fire, payload := wanted[i].fire, []byte(wanted[i].fire.Payload().String())
		about := selecting{f.Trigger, fire}
		selection, isKnown := known.of(about)
		if !isKnown {
			open = append(open, about)
			continue
		}
		reason, message := refusalOf(selection)
		if refusals[i] = message; reason != "" {
			made.skipped = append(made.skipped, skippedFire{f.Trigger.Tenant(), reason})
			continue
		}
		if refusals[i], err = refusalOfBudgets(allowed.Admit(ctx, f.Trigger.Tenant(), f.Budgets, 1, f.StoredBytes, len(payload))); err != nil {
			return nil, err
		} else if refusals[i] != "" {
			continue
		}
		r := run.New(run.ID(fire.RunID()), run.Start{
			Tenant: f.Trigger.Tenant(), SubTenant: f.Trigger.SubTenant(), Workflow: f.Workflow, Version: f.Trigger.Version(), Trigger: f.Trigger,
			Entity: s.random.ID(run.EntityPrefix), DedupeKey: run.InstantKey(fire.At()), Cause: run.CauseSchedule, Payload: payload, Lane: selection.Lane,
		}, s.clock.Now())
		if r.Lane().Bounds() {
			bounded[i] = boundedRun{f.Trigger, r}
			continue
		}
		runs, places = append(runs, r), append(places, i)
	}
	if len(open) > 0 {
		return nil, &errSelectionUnknown{open}
	}
	started, err := st.Runs.Runs.Start(ctx, runs...)
	if err != nil {
		return nil, err
	}
	for n, one := range started {
		if !one.Added {
			refusals[places[n]] = startedBefore
		}
	}
	return refusals, s.startBounded(ctx, st, bounded, refusals, made)
}

const startedBefore = "A run of this instant was started before."

// boundedRun is a run that has a lane.
type boundedRun struct {
	trigger *trigger.Trigger
	run     *run.Run
}

// startBounded starts runs in their lanes, one after another. The lanes are entered together, so
// that two units never wait for each other.
func (s *Scheduler) startBounded(ctx context.Context, st outbound.Stores, bounded map[int]boundedRun, refusals []string, made *startedRuns) error {
	places := slices.Sorted(maps.Keys(bounded))
	lanes := make(map[tenant.ID][]string)
	for _, i := range places {
		r := bounded[i].run
		lanes[r.Tenant()] = append(lanes[r.Tenant()], r.Lane().Name)
	}
	for _, owner := range slices.Sorted(maps.Keys(lanes)) {
		if _, err := st.Runs.Lanes.Enter(ctx, owner, lanes[owner]...); err != nil {
			return err
		}
	}
	for _, i := range places {
		one := bounded[i]
		bound, _ := one.trigger.Config().Concurrency()
		became, err := execution.StartInLane(ctx, st, s.random, one.run, bound.Overflow, st.Runs.Runs.Start)
		switch made.runs = append(made.runs, became.Changed...); {
		case err != nil:
			return err
		case became.Skipped:
			made.skipped = append(made.skipped, skippedFire{one.trigger.Tenant(), run.SkipConcurrency})
			refusals[i] = run.SkipConcurrency
		case !became.Added:
			refusals[i] = startedBefore
		}
	}
	return nil
}

// refusalOfBudgets is what the ledger says of a run that was beyond a budget of its tenant. Another error stays one.
func refusalOfBudgets(err error) (reason string, failed error) {
	var refused *domain.Error
	if errors.As(err, &refused) && (refused.Kind == domain.Conflict || refused.Kind == domain.RateLimited) {
		return refused.Message, nil
	}
	return "", err
}
