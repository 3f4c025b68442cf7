package firing

import (
	"context"
	"errors"
	"time"

	"github.com/sluicehq/sluice/application/batch"
	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/outbound"
)

// callLimits bound the units of work that start runs of webhook calls, largeCallLimits those of
// calls with a large payload, for which nobody else waits.
var (
	callLimits      = batch.Limits{Members: 128, Running: 2, MinWhenBusy: 8, Timeout: 30 * time.Second}
	largeCallLimits = batch.Limits{Members: 128, Weight: 1 << 20, Running: 2, Timeout: 30 * time.Second}
)

// callBatcher starts the runs of webhook calls that arrive at the same time in one unit of
// work, so that they share its statements and its commit.
type callBatcher struct {
	work      outbound.UnitOfWork
	signals   outbound.RunSignals
	allowance *execution.Allowance
	small     *batch.Batcher[*pendingCall]
	large     *batch.Batcher[*pendingCall]
}

func newCallBatcher(work outbound.UnitOfWork, signals outbound.RunSignals, allowance *execution.Allowance) *callBatcher {
	b := &callBatcher{work: work, signals: signals, allowance: allowance}
	b.small = batch.New(callLimits, nil, b.start)
	b.large = batch.New(largeCallLimits, func(c *pendingCall) int { return len(c.request.call.Payload()) }, b.start)
	return b
}

// do starts the run of a call together with those of others of about its size.
func (b *callBatcher) do(ctx context.Context, c *pendingCall) error {
	if outbound.IsYieldingWrite(ctx) {
		return b.large.Do(ctx, c)
	}
	return b.small.Do(ctx, c)
}

// pendingCall is a call that goes with others.
type pendingCall struct {
	request *startRequest
	trigger trigger.ID

	// Of the last run of the unit:
	started        outbound.StartedRun     // none when the call is left to a unit of its own
	needsAdmission *outbound.FiringTrigger // it is not known whether it may fire
	holder         run.ID                  // the run that the key of the delivery stands for
}

// call starts the run of one call together with those of others. It is not done, and
// has had no effect, where anything is out of the ordinary: then the call needs a unit of
// its own, which finds out what.
func (b *callBatcher) call(ctx context.Context, s *startRequest, id trigger.ID) (fired run.Fired, done bool, err error) {
	if s.idempotency.Wanted() || !s.keyIsNew {
		// Its outcome is kept, which takes statements of its own; and starting a run under a
		// key that another unit is about to take waits for that one, as only its own caller
		// should.
		return fired, false, nil
	}
	c := &pendingCall{request: s, trigger: id}
	if err := b.do(ctx, c); err != nil {
		return fired, false, err
	}
	if c.needsAdmission != nil { // that is asked between two units
		if err := s.admit(ctx, []outbound.FiringTrigger{*c.needsAdmission}); err != nil {
			return fired, false, err
		}
		switch a := s.admissions[id]; {
		case a.refused != nil:
			return fired, false, a.refused
		case a.skipped != "":
			return s.skip(c.needsAdmission.Trigger), true, nil
		case a.lane.Bounds(): // others must not wait for the lane
			return fired, false, nil
		}
		if err := b.do(ctx, c); err != nil {
			return fired, false, err
		}
	}
	if c.holder != "" {
		return run.Fired{Trigger: id, DedupeKey: s.key, Run: c.holder, Skipped: skipDuplicate}, true, nil
	}
	if c.started.ID == "" {
		return fired, false, nil
	}
	return run.Fired{Trigger: id, DedupeKey: s.key, Run: c.started.ID}, true, nil
}

// start starts the runs in one unit. An error says that it is not known what became of
// them; whatever else goes wrong leaves each call to a unit of its own.
func (b *callBatcher) start(ctx context.Context, calls []*pendingCall) error {
	err := b.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		return startAll(ctx, st, b.allowance.In(st), calls)
	})
	if err == nil {
		var started []run.ID
		for _, c := range calls {
			if c.started.Added {
				started = append(started, c.started.ID)
			}
		}
		b.signals.Notify(started...)
		return nil
	}
	for _, c := range calls {
		c.reset()
	}
	if domain.KindOf(err) == domain.Unavailable || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// startAll starts the runs of the calls whose triggers can fire.
func startAll(ctx context.Context, st outbound.Stores, allowed *execution.UnitAllowance, calls []*pendingCall) error {
	found, err := triggersOf(ctx, st, calls)
	if err != nil {
		return err
	}
	var fit []*pendingCall
	var wanted []*run.Run
	for _, c := range calls {
		c.reset()
		one, known := found[outbound.TriggerKey{Scope: c.request.who.Scope, Trigger: c.trigger}]
		if !known || run.CheckCall(one.Trigger, one.ParentState) != nil {
			continue
		}
		if _, admitted := c.request.admissionOf(one.Trigger); !admitted {
			c.needsAdmission = &one
			continue
		}
		if err := c.request.withinBudgets(ctx, allowed, one); err != nil {
			if kind := domain.KindOf(err); kind == domain.Internal || kind == domain.Unavailable {
				return err
			}
			continue
		}
		fit, wanted = append(fit, c), append(wanted, c.request.newRun(one))
	}
	free, wanted, err := takeKeys(ctx, st, fit, wanted)
	if err != nil {
		return err
	}
	if len(wanted) > 0 {
		became, err := st.Runs.Runs.Start(ctx, wanted...)
		if err != nil {
			return err
		}
		for i, c := range free {
			c.started = became[i]
		}
	}
	return noteDeliveries(ctx, st, fit)
}

func (c *pendingCall) reset() { c.started, c.needsAdmission, c.holder = outbound.StartedRun{}, nil, "" }

// triggersOf reads the triggers of the calls, each once; those that are gone are left out.
func triggersOf(ctx context.Context, st outbound.Stores, calls []*pendingCall) (map[outbound.TriggerKey]outbound.FiringTrigger, error) {
	byKey := make(map[outbound.TriggerKey]outbound.FiringTrigger, len(calls))
	var named []outbound.TriggerKey
	for _, c := range calls {
		key := outbound.TriggerKey{Scope: c.request.who.Scope, Trigger: c.trigger}
		if _, asked := byKey[key]; !asked {
			byKey[key] = outbound.FiringTrigger{}
			named = append(named, key)
		}
	}
	found, err := st.Firing.Triggers(ctx, named)
	if err != nil {
		return nil, err
	}
	for i, one := range found {
		if byKey[named[i]] = one; one.Trigger == nil {
			delete(byKey, named[i])
		}
	}
	return byKey, nil
}
