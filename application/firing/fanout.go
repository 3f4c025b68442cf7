package firing

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Bounds of the runs that one event starts: how many triggers it fires, how many runs one
// unit of work starts, from which size on runs share their payload, and how long the units
// behind the first one may take.
const (
	maxFired       = 10_000
	maxUnitRuns    = 50
	minShared      = 1 << 10
	fanOutDeadline = time.Minute
)

// fanOut starts a run of each trigger that listens for an event. Where they are many, it
// does so in several units of work, between which other tenants' writes get in. Its state
// changes when a unit has committed, never within one, which may run several times.
//
// A call with an idempotency key or a dedupe key that ends between two units is completed
// by its repeat: that finds the runs that were started, starts the others, and its last
// unit records the outcome. Of a call without a key the runs that were started remain, and
// a repeat starts all of them again, as it would after any answer that was lost.
type fanOut struct {
	request *startRequest
	call    run.EventCall
	outcome func([]run.Fired) any // of the whole call, for its repeats
	own     trigger.ID            // fires as well, whatever it listens for; empty for none

	state       fanState
	foundInUnit *[]outbound.FiringTrigger // what the unit has looked up already
}

// fanState is how far a [fanOut] is.
type fanState struct {
	targets   []outbound.FiringTrigger // all that fire, in the order of the answer
	started   map[trigger.ID]run.ID
	live      map[trigger.ID]run.ID    // instead of which no other was started
	remaining []outbound.FiringTrigger // without a run so far, by their identifiers
	payload   outbound.PayloadID       // empty where each run has its own
}

// startAll starts all the runs in units that begin with a first one.
func (f *fanOut) startAll(ctx context.Context) error {
	if err := f.unit(ctx, f.first); err != nil {
		return err
	}
	return f.startRemaining(ctx)
}

// unit carries out one unit, and then is as far as that got.
func (f *fanOut) unit(ctx context.Context, do func(context.Context, outbound.Stores) (fanState, error)) error {
	var after fanState
	ctx = outbound.WithLargeWrite(ctx, len(f.call.Payload()))
	err := f.request.fire(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
		f.foundInUnit = nil
		after, err = do(ctx, st)
		return err
	})
	if err == nil {
		f.state = after
	}
	return err
}

// startRemaining carries out the units behind the first one. What has begun is not left half done
// because the client goes.
func (f *fanOut) startRemaining(ctx context.Context) error {
	if len(f.state.remaining) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fanOutDeadline)
	defer cancel()
	ctx = outbound.WithYieldingWrite(ctx) // many runs are as much as a large one
	for len(f.state.remaining) > 0 {
		if err := f.unit(ctx, f.next); err != nil {
			return err
		}
	}
	return nil
}

// find looks up the triggers, once in a unit.
func (f *fanOut) find(ctx context.Context, st outbound.Stores) ([]outbound.FiringTrigger, error) {
	if f.foundInUnit != nil {
		return *f.foundInUnit, nil
	}
	q := outbound.EventQuery{Event: f.call.Event, SubTenant: f.call.SubTenant, Limit: maxFired + 1}
	if !f.request.keyIsNew {
		q.Key, q.After = f.request.key, f.request.now.Add(-outbound.DedupeRetention)
	}
	found, err := st.Firing.OnEvent(ctx, f.request.who.Scope, q)
	if err != nil {
		return nil, err
	}
	if found, err = f.addOwn(ctx, st, found); err != nil {
		return nil, err
	}
	f.foundInUnit = &found
	return found, nil
}

// addOwn adds the trigger of the hook that the event came by, if that can fire.
func (f *fanOut) addOwn(ctx context.Context, st outbound.Stores, found []outbound.FiringTrigger) ([]outbound.FiringTrigger, error) {
	if f.own == "" || slices.ContainsFunc(found, func(t outbound.FiringTrigger) bool { return t.Trigger.ID() == f.own }) {
		return found, nil
	}
	own, err := st.Firing.Triggers(ctx, []outbound.TriggerKey{{Scope: f.request.who.Scope, Trigger: f.own}})
	if err != nil || own[0].Trigger == nil || run.CheckCall(own[0].Trigger, own[0].ParentState) != nil {
		return found, err
	}
	return append(found, own[0]), nil
}

// hasBegun says whether a call with the same key has started some of the runs in a unit of
// its own, which can only be where they do not all fit into one.
func (f *fanOut) hasBegun(ctx context.Context, st outbound.Stores) (bool, error) {
	if f.request.keyIsNew {
		return false, nil
	}
	found, err := f.find(ctx, st)
	return len(found) > maxUnitRuns && slices.ContainsFunc(found, hasStarted), err
}

func hasStarted(t outbound.FiringTrigger) bool { return t.Started != "" }

// first finds the triggers and starts the first runs. Whether there is room for them is
// asked for all of them together, so that no call is refused in the middle.
func (f *fanOut) first(ctx context.Context, st outbound.Stores) (fanState, error) {
	found, err := f.find(ctx, st)
	if err != nil {
		return fanState{}, err
	}
	if len(found) > maxFired {
		return fanState{}, domain.Fail(domain.Conflict, "too_many_triggers",
			"Too many triggers listen for this event to fire them at once: at most %d. Name a subTenantId, or use events of their own.", maxFired)
	}
	permitted, err := f.request.permitted(found)
	if err != nil {
		return fanState{}, err
	}
	s := fanState{targets: found, started: make(map[trigger.ID]run.ID, len(permitted)), live: make(map[trigger.ID]run.ID)}
	for _, t := range permitted {
		if s.started[t.Trigger.ID()] = t.Started; !hasStarted(t) {
			s.remaining = append(s.remaining, t)
		}
	}
	slices.SortFunc(s.remaining, func(a, b outbound.FiringTrigger) int { return cmp.Compare(a.Trigger.ID(), b.Trigger.ID()) })
	if n := len(s.remaining); n > 0 {
		size, runs := len(f.call.Payload()), n
		if n > 1 && size >= minShared {
			s.payload, n = f.payloadID(), 1
		}
		if err := f.request.service.allowance.In(st).Admit(ctx, f.request.who.Tenant(), s.remaining[0].Budgets, runs, s.remaining[0].StoredBytes, n*size+f.request.delivery.size()); err != nil {
			return fanState{}, err
		}
	}
	part := s.remaining[:min(len(s.remaining), maxUnitRuns)]
	s.remaining = s.remaining[len(part):]
	return s, f.startPart(ctx, st, s, part)
}

// next starts further runs, of those triggers that can still fire.
func (f *fanOut) next(ctx context.Context, st outbound.Stores) (fanState, error) {
	s := f.state
	s.started, s.live = maps.Clone(s.started), maps.Clone(s.live)
	part := s.remaining[:min(len(s.remaining), maxUnitRuns)]
	s.remaining = s.remaining[len(part):]
	keys := make([]outbound.TriggerKey, len(part))
	for i, t := range part {
		keys[i] = outbound.TriggerKey{Scope: f.request.who.Scope, Trigger: t.Trigger.ID()}
	}
	current, err := st.Firing.Triggers(ctx, keys)
	if err != nil {
		return s, err
	}
	var able []outbound.FiringTrigger
	for _, t := range current {
		if t.Trigger == nil {
			continue
		}
		if run.CheckCall(t.Trigger, t.ParentState) == nil {
			able = append(able, t)
			continue
		}
		if s.started[t.Trigger.ID()], err = f.request.startedBefore(ctx, st, t.Trigger); err != nil {
			return s, err
		}
	}
	if able, err = f.request.permitted(able); err != nil {
		return s, err
	}
	return s, f.startPart(ctx, st, s, able)
}

// startPart starts a run of each trigger, those with the least identifiers first, so that
// two calls with one dedupe key never wait for each other, and records the outcome when no
// others are left.
func (f *fanOut) startPart(ctx context.Context, st outbound.Stores, s fanState, part []outbound.FiringTrigger) error {
	start := st.Runs.Runs.Start
	if s.payload != "" {
		start = func(ctx context.Context, all ...*run.Run) ([]outbound.StartedRun, error) {
			return st.Runs.Shared.Start(ctx, s.payload, all...)
		}
	}
	var together, bounded []*run.Run
	triggers, names := make(map[trigger.ID]*trigger.Trigger), []string(nil)
	for _, t := range part {
		r := f.request.newRun(t)
		if triggers[r.Trigger()] = t.Trigger; !r.Lane().Bounds() {
			together = append(together, r)
			continue
		}
		bounded, names = append(bounded, r), append(names, r.Lane().Name)
	}
	if len(names) > 0 {
		if _, err := st.Runs.Lanes.Enter(ctx, f.request.who.Tenant(), names...); err != nil {
			return err
		}
	}
	became, err := start(ctx, together...)
	if err != nil {
		return err
	}
	for i, b := range became {
		s.started[together[i].Trigger()] = b.ID
		if b.Added {
			f.request.changed = append(f.request.changed, b.ID)
		}
	}
	for _, r := range bounded {
		made, err := f.request.startOne(ctx, st, triggers[r.Trigger()], r, start)
		switch {
		case err != nil:
			return err
		case made.Skipped:
			s.live[r.Trigger()] = made.ID
		default:
			s.started[r.Trigger()] = made.ID
		}
	}
	if len(s.remaining) > 0 {
		return nil
	}
	answer := f.answer(s)
	if err := f.request.delivered(ctx, st, startedOf(answer)...); err != nil {
		return err
	}
	return st.Idempotency.Record(ctx, f.request.who.Tenant(), f.request.idempotency, f.outcome(answer), f.request.now)
}

func startedOf(fired []run.Fired) (ids []run.ID) {
	for _, one := range fired {
		if one.Skipped == "" {
			ids = append(ids, one.Run)
		}
	}
	return ids
}

// answer lists the runs, and the triggers that were skipped, in the order of the triggers.
func (f *fanOut) answer(s fanState) []run.Fired {
	fired := make([]run.Fired, 0, len(s.targets))
	for _, t := range s.targets {
		if id := s.started[t.Trigger.ID()]; id != "" {
			fired = append(fired, run.Fired{Trigger: t.Trigger.ID(), DedupeKey: f.request.key, Run: id})
		} else if live := s.live[t.Trigger.ID()]; live != "" {
			fired = append(fired, run.Fired{Trigger: t.Trigger.ID(), DedupeKey: f.request.key, Run: live, Skipped: run.SkipConcurrency})
		} else if skipped := f.request.skip(t.Trigger); skipped.Skipped != "" {
			fired = append(fired, skipped)
		}
	}
	return fired
}

// payloadID is the same for a repeat of the call, so that its runs share the payload with
// those that were started before.
func (f *fanOut) payloadID() outbound.PayloadID {
	h := sha256.New()
	h.Write([]byte(f.request.key + "\x00"))
	h.Write(f.call.Payload())
	return outbound.PayloadID("pay_" + hex.EncodeToString(h.Sum(nil)[:16]))
}
