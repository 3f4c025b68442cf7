package runs

import (
	"context"
	"errors"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Starter implements outbound.RunStarter and outbound.RunEnder, which other use cases
// call in their own units of work.
type Starter struct {
	clock   outbound.Clock
	random  outbound.Random
	storage tenant.StorageQuota
}

var (
	_ outbound.RunStarter = (*Starter)(nil)
	_ outbound.RunEnder   = (*Starter)(nil)
)

// NewStarter returns the service.
func NewStarter(clock outbound.Clock, random outbound.Random, storage tenant.StorageQuota) *Starter {
	return &Starter{clock: clock, random: random, storage: storage}
}

// Unfinished says which triggers have a run that is not over.
func (s *Starter) Unfinished(ctx context.Context, st outbound.Stores, of []*trigger.Trigger) ([]bool, error) {
	return st.Runs.Live.Unfinished(ctx, of)
}

// Start starts the runs of schedules. Each is keyed by the instant it is of, so that no
// instant is run twice even where the ledger has forgotten it.
func (s *Starter) Start(ctx context.Context, st outbound.Stores, wanted []outbound.ScheduledRun) (refusals []string, err error) {
	triggers := make([]outbound.TriggerKey, len(wanted))
	for i, w := range wanted {
		triggers[i] = outbound.KeyOf(w.Trigger)
	}
	aims, err := st.Firing.Each(ctx, triggers)
	if err != nil {
		return nil, err
	}
	refusals = make([]string, len(wanted))
	var runs []*run.Run
	var places []int
	for i, aim := range aims {
		if refusals[i] = run.CannotFire(aim.Trigger, aim.Workflow, aim.Standing); refusals[i] != "" {
			continue
		}
		fire := wanted[i].Fire
		payload := []byte(fire.Payload().String())
		if refusals[i] = s.noRoom(aim.Kept, len(payload)); refusals[i] != "" {
			continue
		}
		runs = append(runs, run.New(run.ID(fire.RunID()), run.Start{
			Tenant: aim.Trigger.Tenant(), SubTenant: aim.Trigger.SubTenant(), Workflow: aim.Workflow, Version: aim.Trigger.Version(), Trigger: aim.Trigger,
			Entity: s.random.ID(entityPrefix), DedupeKey: run.InstantKey(fire.At()), Cause: run.CauseSchedule,
			Payload: payload,
		}, s.clock.Now()))
		places = append(places, i)
	}
	became, err := st.Runs.Runs.Start(ctx, runs...)
	if err != nil {
		return nil, err
	}
	for n, b := range became {
		if !b.Added {
			refusals[places[n]] = "A run of this instant was started before."
		}
	}
	return refusals, nil
}

// noRoom says why no more is kept for a tenant, for people; empty where there is room.
func (s *Starter) noRoom(kept int64, more int) string {
	var full *domain.Error
	if errors.As(s.storage.Check(kept, int64(more)), &full) {
		return full.Message
	}
	return ""
}

// CancelOf cancels unfinished runs of a workflow that is about to be deleted, or is. It
// looks again where some have ended by themselves meanwhile, so that fewer than the limit
// are all there were.
func (s *Starter) CancelOf(ctx context.Context, st outbound.Stores, owner tenant.ID, of workflow.ID, reason string, limit int) (cancelled []run.ID, err error) {
	for more := true; more; {
		wanted := limit - len(cancelled)
		ids, err := st.Runs.Live.OfWorkflow(ctx, owner, of, wanted)
		if err != nil || len(ids) == 0 {
			return cancelled, err
		}
		ended, err := s.cancel(ctx, st, owner, ids, reason)
		if err != nil {
			return nil, err
		}
		more = len(ended) < len(ids)
		cancelled = append(cancelled, ended...)
	}
	return cancelled, nil
}

// cancel cancels those of the runs that have not ended, and returns which.
func (s *Starter) cancel(ctx context.Context, st outbound.Stores, owner tenant.ID, ids []run.ID, reason string) (cancelled []run.ID, err error) {
	at, err := st.Runs.Queue.Now(ctx)
	if err != nil {
		return nil, err
	}
	var steps []recording
	for _, id := range ids {
		r, err := st.Runs.Runs.Get(ctx, owner, id)
		if err != nil {
			return nil, err
		}
		from := r.Seq()
		if step := r.Abandon(at, reason); step.Refused == nil {
			steps = append(steps, recording{step: step, written: outbound.RunStep{Run: r, From: from}})
			cancelled = append(cancelled, id)
		}
	}
	return cancelled, recordAll(ctx, st, s.random, steps...)
}
