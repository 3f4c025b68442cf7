package firing

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/outbound"
)

// startRequest is one call that starts runs of triggers. Its unit of work may run several
// times; what it has found out about rate limits outlives that.
type startRequest struct {
	service  *Service
	who      tenant.Caller
	once     domain.IdempotencyKey
	call     run.Call
	cause    run.Cause
	entity   string
	key      string // the dedupe key
	keyIsNew bool   // nobody has used the dedupe key before
	now      time.Time

	granted map[trigger.ID]bool  // a run may be started, or was before
	refused map[trigger.ID]error // above the trigger's rate limit

	memoryReserved bool // to continue runs is reserved

	changed []run.ID // in the last run of the unit; the runs that are to be told of
}

func (f *Service) newRequest(who tenant.Caller, once domain.IdempotencyKey, c run.Call, cause run.Cause) *startRequest {
	s := &startRequest{service: f, who: who, once: once, call: c, cause: cause, now: f.clock.Now()}
	s.entity = c.EntityOr(f.random.ID)
	s.key, s.keyIsNew = c.DedupeKeyOr(once, f.random.ID)
	return s
}

// errRateLimitUnknown is returned by a unit that met triggers with a rate limit of which it is
// not known yet whether they may fire. Asking has an effect of its own, which a unit must
// not have.
type errRateLimitUnknown struct{ triggers []outbound.FiringTrigger }

func (*errRateLimitUnknown) Error() string {
	return "it is not known whether the rate limits permit it"
}

// maxRateChecks bounds how often a unit may meet further triggers.
const maxRateChecks = 5

// fire runs the unit, which begins by claiming the idempotency key, and reports what it
// has started.
func (s *startRequest) fire(ctx context.Context, unit func(context.Context, outbound.Stores) error) error {
	for range maxRateChecks {
		err := s.service.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
			s.changed = nil
			if err := st.Idempotency.Claim(ctx, s.who.Tenant(), s.once, s.now); err != nil {
				return err
			}
			return unit(ctx, st)
		})
		var open *errRateLimitUnknown
		if !errors.As(err, &open) {
			if err == nil && len(s.changed) > 0 {
				s.service.signals.Notify(s.changed...)
			}
			return err
		}
		if err := s.checkRateLimits(ctx, open.triggers); err != nil {
			return err
		}
	}
	busy := domain.Fail(domain.Unavailable, "triggers_changing", "The triggers keep changing. Try again in a second.")
	busy.RetryAfter = time.Second
	return busy
}

// checkRateLimits counts what is about to be started against the triggers' rate limits. A
// repeat, which starts nothing, does not count.
func (s *startRequest) checkRateLimits(ctx context.Context, triggers []outbound.FiringTrigger) error {
	repeats, err := s.startedWith(ctx, triggers)
	if err != nil {
		return err
	}
	if s.granted == nil {
		s.granted, s.refused = make(map[trigger.ID]bool), make(map[trigger.ID]error)
	}
	for i, one := range triggers {
		limit, _ := one.Trigger.Config().RateLimit()
		id := one.Trigger.ID()
		if repeats[i] != "" {
			s.granted[id] = true
			continue
		}
		most := int(min(limit.MaxRequests, math.MaxInt32))
		left, err := s.service.limiter.Take(ctx, string(s.who.Tenant())+"/trigger/"+string(id), most, limit.Window)
		if err != nil {
			return err
		}
		if s.granted[id] = left.Granted; !left.Granted {
			s.refused[id] = rateLimited(limit, left.RetryAfter)
		}
	}
	return nil
}

// startedWith finds the runs that the dedupe key stands for, in the order of the triggers.
func (s *startRequest) startedWith(ctx context.Context, triggers []outbound.FiringTrigger) (first []run.ID, err error) {
	if s.keyIsNew {
		return make([]run.ID, len(triggers)), nil
	}
	ids := make([]trigger.ID, len(triggers))
	for i, one := range triggers {
		ids[i] = one.Trigger.ID()
	}
	err = s.service.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		first, err = st.Runs.Overview.StartedWith(ctx, s.who.Scope, ids, s.key, s.now.Add(-outbound.DedupeRetention))
		return err
	})
	return first, err
}

func rateLimited(limit trigger.RateLimit, wait time.Duration) error {
	e := domain.Fail(domain.RateLimited, "trigger_rate_limit_exceeded",
		"The trigger's rate limit is exceeded: %d in %s. Try again in %d seconds.", limit.MaxRequests, limit.Window, int(math.Ceil(wait.Seconds())))
	e.RetryAfter = wait
	return e
}

// permitted leaves out the triggers above their rate limit. For what the dedupe key stands
// for there is no limit.
func (s *startRequest) permitted(triggers []outbound.FiringTrigger) ([]outbound.FiringTrigger, error) {
	var open []outbound.FiringTrigger
	permitted := make([]outbound.FiringTrigger, 0, len(triggers))
	for _, one := range triggers {
		_, limited := one.Trigger.Config().RateLimit()
		granted, measured := s.granted[one.Trigger.ID()]
		switch {
		case one.Started != "":
			permitted = append(permitted, one)
		case limited && !measured:
			open = append(open, one)
		case granted || !limited:
			permitted = append(permitted, one)
		}
	}
	if len(open) > 0 {
		return nil, &errRateLimitUnknown{open}
	}
	return permitted, nil
}

// start starts a run of one trigger, unless that is above its rate limit or has one. There
// it is neither limited nor started again.
func (s *startRequest) start(ctx context.Context, st outbound.Stores, one outbound.FiringTrigger) (fired run.Fired, err error) {
	permitted, err := s.permitted([]outbound.FiringTrigger{one})
	if err != nil {
		return fired, err
	}
	id := one.Trigger.ID()
	if len(permitted) == 0 {
		return fired, s.refused[id]
	}
	fired = run.Fired{Trigger: id, DedupeKey: s.key, Run: one.Started}
	if one.Started != "" {
		return fired, nil
	}
	became, err := st.Runs.Runs.Start(ctx, s.newRun(one))
	if err != nil {
		return fired, err
	}
	if fired.Run = became[0].ID; became[0].Added {
		s.changed = append(s.changed, fired.Run)
	}
	return fired, nil
}

// startedBefore finds the run that a trigger, which cannot fire any more, has started with the
// dedupe key.
func (s *startRequest) startedBefore(ctx context.Context, st outbound.Stores, trg *trigger.Trigger) (run.ID, error) {
	if s.keyIsNew || trg.Type() != trigger.Webhook { // the keys of schedules are their instants
		return "", nil
	}
	first, err := st.Runs.Overview.StartedWith(ctx, s.who.Scope, []trigger.ID{trg.ID()}, s.key, s.now.Add(-outbound.DedupeRetention))
	if err != nil {
		return "", err
	}
	return first[0], nil
}

// newRun is a new run of a trigger.
func (s *startRequest) newRun(at outbound.FiringTrigger) *run.Run {
	return run.New(run.ID(s.service.random.ID(run.IDPrefix)), run.Start{
		Tenant: s.who.Tenant(), SubTenant: at.Trigger.SubTenant(), Workflow: at.Workflow, Version: at.Trigger.Version(), Trigger: at.Trigger,
		Entity: s.entity, DedupeKey: s.key, Cause: s.cause, Payload: s.call.Payload(),
	}, s.now)
}
