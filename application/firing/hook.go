package firing

import (
	"cmp"
	"context"
	"errors"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/hook"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// skipDuplicate says that the key of a delivery stands for a run.
const skipDuplicate = "duplicate"

// deliveryPart is what a request has to do with a delivery to a hook.
type deliveryPart struct {
	received *hook.Received
	added    bool   // it is stored already, and only what it starts is noted
	key      string // of the delivery, or of its item; empty for none
}

// sealedFactor is about how much larger a delivery is stored than what was received.
const sealedFactor = 1.4

// size is about how many bytes the delivery takes as it is stored.
func (d *deliveryPart) size() int {
	if d == nil || d.added {
		return 0
	}
	return int(sealedFactor * float64(len(d.received.Request.Body)))
}

// errDuplicate ends a unit that has started what a delivery with the same key had started before.
type errDuplicate struct{ run run.ID }

func (*errDuplicate) Error() string { return "the key of the delivery stands for another run" }

// checkDelivery looks before anything is counted whether the key stands for a run.
func (s *startRequest) checkDelivery(ctx context.Context) error {
	if s.delivery == nil || s.delivery.key == "" {
		return nil
	}
	return s.service.work.Read(ctx, s.checkKey)
}

// checkKey looks whether the key of the delivery stands for a run.
func (s *startRequest) checkKey(ctx context.Context, st outbound.Stores) error {
	if s.delivery == nil || s.delivery.key == "" {
		return nil
	}
	holder, err := st.Hooks.Keys.Holder(ctx, outbound.HookKey{Tenant: s.who.Tenant(), Key: s.delivery.key}, s.now)
	if err == nil && holder != "" {
		err = &errDuplicate{holder}
	}
	return err
}

// replayOf is the delivery that the runs repeat; empty for none.
func (s *startRequest) replayOf() string {
	if s.delivery == nil {
		return ""
	}
	return string(s.delivery.received.ReplayOf)
}

// delivered notes in the unit what a delivery has started.
func (s *startRequest) delivered(ctx context.Context, st outbound.Stores, started ...run.ID) error {
	d := s.delivery
	if d == nil || len(started) == 0 {
		return nil
	}
	if d.key != "" {
		holders, err := st.Hooks.Keys.Take(ctx, []outbound.HookKey{{Tenant: s.who.Tenant(), Key: d.key, Run: started[0]}}, s.now)
		if err != nil {
			return err
		}
		if holders[0] != "" {
			return &errDuplicate{holders[0]}
		}
	}
	if d.added {
		return st.Hooks.Deliveries.AddRuns(ctx, d.received, started...)
	}
	d.received.Verdict, d.received.Code, d.received.Runs = hook.Accepted, "", started
	return st.Hooks.Deliveries.Add(ctx, d.received)
}

// takeKeys leaves out the calls whose delivery has a key that stands for a run.
func takeKeys(ctx context.Context, st outbound.Stores, fit []*pendingCall, wanted []*run.Run) (free []*pendingCall, runs []*run.Run, err error) {
	var keys []outbound.HookKey
	var of []*pendingCall
	for i, c := range fit {
		if d := c.request.delivery; d != nil && d.key != "" {
			keys, of = append(keys, outbound.HookKey{Tenant: c.request.who.Tenant(), Key: d.key, Run: wanted[i].ID()}), append(of, c)
		}
	}
	if len(keys) == 0 {
		return fit, wanted, nil
	}
	holders, err := st.Hooks.Keys.Take(ctx, keys, of[0].request.now)
	if err != nil {
		return nil, nil, err
	}
	for i, c := range of {
		c.holder = holders[i]
	}
	for i, c := range fit {
		if c.holder == "" {
			free, runs = append(free, c), append(runs, wanted[i])
		}
	}
	return free, runs, nil
}

// noteDeliveries notes in the unit what the deliveries among the calls have started.
func noteDeliveries(ctx context.Context, st outbound.Stores, calls []*pendingCall) error {
	var added []*hook.Received
	var items []*hook.Received // each once
	started := make(map[*hook.Received][]run.ID)
	for _, c := range calls {
		d := c.request.delivery
		switch {
		case d == nil || d.added && c.holder != "":
		case d.added:
			if started[d.received] == nil {
				items = append(items, d.received)
			}
			started[d.received] = append(started[d.received], c.started.ID)
		case c.holder != "":
			d.received.Verdict, d.received.Code, d.received.Runs = hook.Duplicate, "", []run.ID{c.holder}
			added = append(added, d.received)
		default:
			d.received.Verdict, d.received.Code, d.received.Runs = hook.Accepted, "", []run.ID{c.started.ID}
			added = append(added, d.received)
		}
	}
	for _, d := range items {
		if err := st.Hooks.Deliveries.AddRuns(ctx, d, started[d]...); err != nil {
			return err
		}
	}
	return st.Hooks.Deliveries.Add(ctx, added...)
}

// callerOf is on whose behalf a hook fires its trigger.
func callerOf(h *hook.Hook, settings tenant.Settings) tenant.Caller {
	return tenant.Caller{Scope: h.Scope(), KeyType: tenant.Secret, Settings: settings, Hook: string(h.Trigger())}
}

// Deliver starts what a delivery to a hook starts.
func (f *Service) Deliver(ctx context.Context, d inbound.HookDelivery) error {
	ctx = outbound.WithLargeWrite(ctx, len(d.Received.Request.Body))
	if d.Read.Split {
		return f.deliverItems(ctx, d)
	}
	fired, recorded, err := f.deliverOne(ctx, d, &deliveryPart{received: d.Received, key: d.Key(0)}, d.Read.Items[0])
	if recorded {
		return err
	}
	return f.conclude(ctx, d.Received, fired, err)
}

// conclude records a delivery that has started nothing.
func (f *Service) conclude(ctx context.Context, r *hook.Received, fired run.Fired, err error) error {
	if outcomeOf(r, fired, err) {
		if failed := f.Record(ctx, r); failed != nil {
			return failed
		}
	}
	if r.Verdict == hook.Duplicate || r.Verdict == hook.Inactive {
		return nil
	}
	return err
}

// outcomeOf notes in the delivery what it came to; known is false where it is to be sent again.
func outcomeOf(r *hook.Received, fired run.Fired, err error) (known bool) {
	var again *errDuplicate
	var refused *domain.Error
	r.Verdict, r.Code, r.Runs = "", "", nil
	switch {
	case errors.As(err, &again):
		r.Verdict, r.Runs = hook.Duplicate, []run.ID{again.run}
	case err == nil && fired.Skipped == skipDuplicate:
		r.Verdict, r.Runs = hook.Duplicate, []run.ID{fired.Run}
	case err == nil && fired.Skipped != "":
		r.Verdict, r.Code = hook.Filtered, fired.Skipped
	case err == nil:
		r.Verdict = hook.Accepted
		return false
	case !errors.As(err, &refused):
		return false
	case refused.Kind == domain.Conflict && (refused.Code == "trigger_inactive" || refused.Code == "workflow_inactive" || refused.Code == "version_not_active"):
		r.Verdict, r.Code = hook.Inactive, refused.Code
	case refused.Kind == domain.Invalid, refused.Code == tenant.CodeBudgetExceeded: // it is kept, so that it can be replayed
		r.Verdict, r.Code = hook.Rejected, refused.Code
	default:
		return false
	}
	return true
}

// deliverOne starts the run of a delivery, or of one item. Where it is recorded there is nothing more to note.
func (f *Service) deliverOne(ctx context.Context, d inbound.HookDelivery, part *deliveryPart, item hook.Item) (fired run.Fired, recorded bool, err error) {
	c := run.Call{EventData: item.Payload, Entity: item.Entity}
	if d.Ingest {
		return f.deliverEvent(ctx, d, part, item, c)
	}
	if err := c.Check(); err != nil {
		return fired, false, err
	}
	s := f.newRequest(callerOf(d.Hook, d.Settings), domain.IdempotencyKey{}, c, run.CauseWebhook)
	s.delivery = part
	if fired, done, err := f.calls.call(ctx, s, d.Hook.Trigger()); done || err != nil {
		return fired, err == nil && (fired.Skipped == "" || fired.Skipped == skipDuplicate), err
	}
	err = s.fire(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, err := st.Firing.Trigger(ctx, s.who.Scope, d.Hook.Trigger())
		if err != nil {
			return err
		}
		if refused := run.CheckCall(found.Trigger, found.ParentState); refused != nil {
			return cmp.Or(s.checkKey(ctx, st), refused)
		}
		if fired, err = s.start(ctx, st, found); err != nil || fired.Skipped != "" {
			return err
		}
		return s.delivered(ctx, st, fired.Run)
	})
	return fired, err == nil && fired.Skipped == "", err
}

// deliverEvent ingests the delivery as its event. The runs that it starts are found again by their dedupe key, should the
// process end between two units.
func (f *Service) deliverEvent(ctx context.Context, d inbound.HookDelivery, part *deliveryPart, item hook.Item, call run.Call) (fired run.Fired, recorded bool, err error) {
	c := run.IngestCall{EventCall: run.EventCall{Call: call, Event: item.Event}}
	if part.key != "" {
		key := "hook." + part.key
		c.DedupeKey = &key
	}
	if err := c.Check(); err != nil {
		return fired, false, err
	}
	s := f.newRequest(callerOf(d.Hook, d.Settings), domain.IdempotencyKey{}, c.Call, run.CauseIngest)
	s.delivery = part
	if err := s.checkDelivery(ctx); err != nil {
		return fired, false, err
	}
	in, err := s.ingest(ctx, c, d.Hook.Trigger())
	if err != nil {
		return fired, false, err
	}
	f.count(d.Hook.Tenant(), nil, in.Triggered...)
	started := append(resumedOf(in), startedOf(in.Triggered)...)
	if len(started) == 0 {
		fired.Skipped = run.SkipFiltered
		return fired, false, nil
	}
	fired.Run = started[0]
	return fired, true, nil
}
