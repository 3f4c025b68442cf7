package firing

import (
	"cmp"
	"context"
	"errors"
	"math"
	"time"

	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/outbound"
)

// startRequest is one call that starts runs of triggers. Its unit of work may run several
// times; what it has found out about triggers outlives that.
type startRequest struct {
	service     *Service
	who         tenant.Caller
	idempotency domain.IdempotencyKey
	call        run.Call
	cause       run.Cause
	entity      string
	key         string // the dedupe key
	keyIsNew    bool   // nobody has used the dedupe key before
	now         time.Time

	delivery   *deliveryPart // of a delivery to a hook; nil of everything else
	admissions map[trigger.ID]admission

	memoryReserved bool // to continue runs is reserved

	changed []run.ID // in the last run of the unit; the runs to notify of
}

func (f *Service) newRequest(who tenant.Caller, idempotency domain.IdempotencyKey, c run.Call, cause run.Cause) *startRequest {
	s := &startRequest{service: f, who: who, idempotency: idempotency, call: c, cause: cause, now: f.clock.Now()}
	s.entity = c.EntityOr(f.random.ID)
	s.key, s.keyIsNew = c.DedupeKeyOr(idempotency, f.random.ID)
	return s
}

// admission is whether a trigger may start a run, as far as no unit of work can find out:
// looking at the payload computes, and asking for its rate limit has an effect of its own.
type admission struct {
	config  trigger.Config // that was looked at
	refused error          // nil where a run may be started, or was before
	skipped string         // why it is not for this payload, which is no error
	lane    run.Lane       // of its run
}

// needsAdmission says whether anything is to be found out about a trigger.
func needsAdmission(trg *trigger.Trigger) bool {
	_, limited := trg.Config().RateLimit()
	return limited || trg.Config().Selects()
}

// admissionOf is what is known of a trigger as it is now.
func (s *startRequest) admissionOf(trg *trigger.Trigger) (a admission, known bool) {
	if !needsAdmission(trg) {
		return admission{}, true
	}
	a, known = s.admissions[trg.ID()]
	return a, known && a.config.Equal(trg.Config())
}

// errAdmissionUnknown is returned by a unit that met triggers of which it is not known yet
// whether they may fire.
type errAdmissionUnknown struct{ triggers []outbound.FiringTrigger }

func (*errAdmissionUnknown) Error() string { return "it is not known whether the triggers may fire" }

// maxAdmissionRounds bounds how often a unit may meet further triggers.
const maxAdmissionRounds = 5

// fire runs the unit, which begins by claiming the idempotency key, and reports what it
// has started.
func (s *startRequest) fire(ctx context.Context, unit func(context.Context, outbound.Stores) error) error {
	for range maxAdmissionRounds {
		err := s.service.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
			s.changed = nil
			if err := st.Idempotency.Claim(ctx, s.who.Tenant(), s.idempotency, s.now); err != nil {
				return err
			}
			return unit(ctx, st)
		})
		var open *errAdmissionUnknown
		if !errors.As(err, &open) {
			if err == nil && len(s.changed) > 0 {
				s.service.signals.Notify(s.changed...)
			}
			return err
		}
		if err := s.admit(ctx, open.triggers); err != nil {
			return err
		}
	}
	busy := domain.Fail(domain.Unavailable, "triggers_changing", "The triggers keep changing. Try again in a second.")
	busy.RetryAfter = time.Second
	return busy
}

// admit finds out whether triggers may fire. A repeat, which starts nothing, may: it does not
// count against the rate limit, and neither does what the trigger is not for.
func (s *startRequest) admit(ctx context.Context, triggers []outbound.FiringTrigger) error {
	repeats, err := s.startedWith(ctx, triggers)
	if err != nil {
		return err
	}
	if s.admissions == nil {
		s.admissions = make(map[trigger.ID]admission)
	}
	var selecting []*trigger.Trigger
	for i, one := range triggers {
		s.admissions[one.Trigger.ID()] = admission{config: one.Trigger.Config()}
		if repeats[i] == "" && one.Trigger.Config().Selects() {
			selecting = append(selecting, one.Trigger)
		}
	}
	selections, err := s.service.selections.Of(ctx, s.call.Payload(), s.now, selecting)
	if err != nil {
		return err
	}
	for i, trg := range selecting {
		a := s.admissions[trg.ID()]
		a.lane = selections[i].Lane
		if selections[i].Refused != nil {
			a.refused = selections[i].Refused
		} else if selections[i].Filtered {
			a.skipped = run.SkipFiltered
		}
		s.admissions[trg.ID()] = a
	}
	for i, one := range triggers {
		a := s.admissions[one.Trigger.ID()]
		if repeats[i] != "" || a.refused != nil || a.skipped != "" {
			continue
		}
		if a.refused, err = s.takeRate(ctx, one.Trigger); err != nil {
			return err
		}
		s.admissions[one.Trigger.ID()] = a
	}
	return nil
}

// takeRate counts a run against the rate limit of its trigger, and says what is wrong where that
// is exceeded.
func (s *startRequest) takeRate(ctx context.Context, trg *trigger.Trigger) (refused, err error) {
	limit, limited := trg.Config().RateLimit()
	if !limited {
		return nil, nil
	}
	most := int(min(limit.MaxRequests, math.MaxInt32))
	left, err := s.service.limiter.Allow(ctx, string(s.who.Tenant())+"/trigger/"+string(trg.ID()), most, limit.Window)
	if err != nil || left.Granted {
		return nil, err
	}
	return rateLimited(limit, left.RetryAfter), nil
}

// startedWith finds the runs that the dedupe key stands for, in the order of the triggers.
func (s *startRequest) startedWith(ctx context.Context, triggers []outbound.FiringTrigger) (first []run.ID, err error) {
	if err := s.checkDelivery(ctx); err != nil {
		return nil, err
	}
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

// permitted leaves out the triggers that may not fire. For what the dedupe key stands for
// there is no limit.
func (s *startRequest) permitted(triggers []outbound.FiringTrigger) ([]outbound.FiringTrigger, error) {
	var open []outbound.FiringTrigger
	permitted := make([]outbound.FiringTrigger, 0, len(triggers))
	for _, one := range triggers {
		a, known := s.admissionOf(one.Trigger)
		switch {
		case one.Started != "" || known && a.refused == nil && a.skipped == "":
			permitted = append(permitted, one)
		case !known:
			open = append(open, one)
		}
	}
	if len(open) > 0 {
		return nil, &errAdmissionUnknown{open}
	}
	return permitted, nil
}

// skip is why an event did not fire a trigger that listens for it; empty where it did, and
// for one above its rate limit.
func (s *startRequest) skip(trg *trigger.Trigger) run.Fired {
	a := s.admissions[trg.ID()]
	skipped := run.Fired{Trigger: trg.ID(), DedupeKey: s.key, Skipped: a.skipped}
	if refused, ok := errors.AsType[*domain.Error](a.refused); ok && refused.Kind == domain.Invalid {
		skipped.Skipped, skipped.Problems = refused.Code, refused.Violations
	}
	return skipped
}

// start starts a run of one trigger, unless that may not fire or has one. There
// it is neither limited nor started again.
func (s *startRequest) start(ctx context.Context, st outbound.Stores, one outbound.FiringTrigger) (fired run.Fired, err error) {
	permitted, err := s.permitted([]outbound.FiringTrigger{one})
	if err != nil {
		return fired, err
	}
	id := one.Trigger.ID()
	if len(permitted) == 0 {
		return s.skip(one.Trigger), s.admissions[id].refused
	}
	fired = run.Fired{Trigger: id, DedupeKey: s.key, Run: one.Started}
	if one.Started != "" {
		return fired, nil
	}
	if refused := s.withinBudgets(ctx, s.service.allowance.In(st), one); refused != nil {
		if fired.Run, err = s.startedBefore(ctx, st, one.Trigger); err != nil || fired.Run == "" {
			return run.Fired{}, cmp.Or(err, refused)
		}
		return fired, nil
	}
	made, err := s.startOne(ctx, st, one.Trigger, s.newRun(one), st.Runs.Runs.Start)
	if fired.Run = made.ID; made.Skipped {
		fired.Skipped = run.SkipConcurrency
	}
	return fired, err
}

type startFunc = func(context.Context, ...*run.Run) ([]outbound.StartedRun, error)

// startOne starts a run by itself, in its lane if it has one, and notes whom to notify.
func (s *startRequest) startOne(ctx context.Context, st outbound.Stores, trg *trigger.Trigger, r *run.Run, start startFunc) (execution.InLane, error) {
	overflow := trigger.OverflowQueue
	if r.Lane().Bounds() {
		bound, _ := trg.Config().Concurrency()
		overflow = bound.Overflow
	}
	made, err := execution.StartInLane(ctx, st, s.service.random, r, overflow, start)
	if s.changed = append(s.changed, made.Changed...); made.Added {
		s.changed = append(s.changed, made.ID)
	}
	return made, err
}

// startedBefore finds the run that a trigger, which cannot fire any more, has started with the
// dedupe key.
func (s *startRequest) startedBefore(ctx context.Context, st outbound.Stores, trg *trigger.Trigger) (run.ID, error) {
	if err := s.checkKey(ctx, st); err != nil {
		return "", err
	}
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
		Entity: s.entity, DedupeKey: s.key, Cause: s.cause, Payload: s.call.Payload(), Lane: s.admissions[at.Trigger.ID()].lane, ReplayOf: s.replayOf(),
	}, s.now)
}
