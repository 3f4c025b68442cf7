package runs

import (
	"context"
	"errors"
	"time"

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

// maxCancelled bounds how large the runs are that one unit cancels, in bytes as they are
// stored.
const maxCancelled = 16 << 20

// CancelOf cancels unfinished runs of a workflow that is about to be deleted, or is. It
// looks again where some have ended by themselves meanwhile.
func (s *Starter) CancelOf(ctx context.Context, st outbound.Stores, owner tenant.ID, of workflow.ID, reason string, limit int) (cancelled []run.ID, more bool, err error) {
	at, err := st.Runs.Queue.Now(ctx)
	if err != nil {
		return nil, false, err
	}
	c := &canceller{starter: s, st: st, owner: owner, at: at, reason: reason}
	for more = true; more && len(c.cancelled) < limit && c.size < maxCancelled; {
		ids, err := st.Runs.Live.OfWorkflow(ctx, owner, of, limit-len(c.cancelled))
		if err != nil {
			return nil, false, err
		}
		before := len(c.cancelled)
		if err := c.cancel(ctx, ids); err != nil {
			return nil, false, err
		}
		more = len(c.cancelled)-before < len(ids) || len(c.cancelled) == limit
	}
	return c.cancelled, more, nil
}

// canceller cancels runs in one unit of work.
type canceller struct {
	starter   *Starter
	st        outbound.Stores
	owner     tenant.ID
	at        time.Time
	reason    string
	cancelled []run.ID
	size      int // of the runs that were read
}

// cancel cancels those of the runs that have not ended, as far as they are not too large
// together. They are recorded a few megabytes at a time.
func (c *canceller) cancel(ctx context.Context, ids []run.ID) error {
	var steps []recording
	pending := 0
	flush := func() error {
		err := recordAll(ctx, c.st, c.starter.random, steps...)
		steps, pending = nil, 0
		return err
	}
	for _, id := range ids {
		if c.size >= maxCancelled {
			break
		}
		r, err := c.st.Runs.Runs.Get(ctx, c.owner, id)
		if err != nil {
			return err
		}
		from, size := r.Seq(), r.Size()
		c.size += size
		step := r.Abandon(c.at, c.reason)
		if step.Refused != nil {
			continue
		}
		steps = append(steps, recording{step: step, written: outbound.RunStep{Run: r, From: from}})
		c.cancelled = append(c.cancelled, id)
		if pending += size; pending >= maxStepBytesAtOnce {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}
