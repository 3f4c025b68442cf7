package firing

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sluicehq/sluice/application/batch"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/hook"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// itemsAtOnce is how many items of one delivery are started at the same time: they go in units
// together, and leave room in them for others.
const itemsAtOnce = 32

// items is how the items of one delivery fare.
type items struct {
	begun hook.DeliveryID // see beginItems

	mu      sync.Mutex
	next    int
	started int
	skipped run.Fired     // the last item that was not started, and needs not be
	invalid *domain.Error // the first item that cannot be
	stopped error         // why the others are not tried
}

// deliverItems starts a run for each item. A delivery that is not answered, since the process ended or
// something was not to be had, is sent again: then the items whose keys stand for runs are left out.
func (f *Service) deliverItems(ctx context.Context, d inbound.HookDelivery) error {
	begun, err := f.beginItems(ctx, d)
	if err != nil {
		return err
	}
	d.Received.Verdict, d.Received.Items = hook.Accepted, len(d.Read.Items)
	if err := f.Record(ctx, d.Received); err != nil {
		return err
	}
	all := &items{begun: begun}
	var working sync.WaitGroup
	for range min(itemsAtOnce, len(d.Read.Items)) {
		working.Go(func() { f.deliverEach(ctx, d, all) })
	}
	working.Wait()
	err = f.concludeItems(ctx, d, all)
	if begun == "" || err != nil && d.Received.Verdict != hook.Rejected {
		return err
	}
	return cmp.Or(f.endItems(ctx, d, begun), err)
}

// beginItems returns which delivery has begun with the items: an earlier one that was not answered, which this one
// repeats, or this one; none where each item has a key. Without it a repeated delivery would start again what was started before,
// and with the body as a key for good, what happens twice would start once.
func (f *Service) beginItems(ctx context.Context, d inbound.HookDelivery) (begun hook.DeliveryID, err error) {
	if d.Read.Whole == "" || d.Received.ReplayOf != "" {
		return "", nil
	}
	err = f.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		holders, err := st.Hooks.Keys.Take(ctx, []outbound.HookKey{wholeKey(d, d.Received.ID)}, d.Received.At)
		if err != nil {
			return err
		}
		begun = cmp.Or(hook.DeliveryID(holders[0]), d.Received.ID)
		return nil
	})
	return begun, err
}

// endItems has the next delivery with the same body be another one.
func (f *Service) endItems(ctx context.Context, d inbound.HookDelivery, begun hook.DeliveryID) error {
	return f.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		return st.Hooks.Keys.Release(ctx, wholeKey(d, begun))
	})
}

func wholeKey(d inbound.HookDelivery, begun hook.DeliveryID) outbound.HookKey {
	return outbound.HookKey{Tenant: d.Hook.Tenant(), Key: d.Read.Whole, Run: run.ID(begun)}
}

// concludeItems notes what the delivery came to. Its error is for the sender, who repeats it unless it was rejected.
func (f *Service) concludeItems(ctx context.Context, d inbound.HookDelivery, all *items) error {
	if all.stopped != nil && domain.KindOf(all.stopped) != domain.Conflict {
		begun, err := all.started > 0 || !isBudget(all.stopped), error(nil)
		if !begun {
			begun, err = f.startedWithin(ctx, d, all.begun)
		}
		if begun || err != nil {
			return cmp.Or(err, all.stopped)
		}
	}
	if all.started > 0 {
		return nil
	}
	err := all.stopped
	if err == nil && all.invalid != nil && all.skipped.Skipped == "" {
		err = all.invalid
	}
	ended := *d.Received
	if !outcomeOf(&ended, all.skipped, err) {
		return err
	}
	ended.Runs = nil // of other deliveries
	*d.Received = ended
	failed := f.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error { return st.Hooks.Deliveries.AddRuns(ctx, &ended) })
	if failed != nil || ended.Verdict != hook.Rejected {
		return failed
	}
	return err
}

// startedWithin says whether items without keys were started, by whichever delivery. Those are known as long as it has not ended.
func (f *Service) startedWithin(ctx context.Context, d inbound.HookDelivery, begun hook.DeliveryID) (started bool, err error) {
	if begun == "" {
		return false, nil
	}
	err = f.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		for i := 0; i < len(d.Read.Items) && !started; i++ {
			if d.Key(i) != "" {
				continue
			}
			holder, err := st.Hooks.Keys.Holder(ctx, outbound.HookKey{Tenant: d.Hook.Tenant(), Key: d.KeyWithin(begun, i)}, d.Received.At)
			if err != nil {
				return err
			}
			started = holder != ""
		}
		return nil
	})
	return started, err
}

// isBudget says whether runs are refused since there are too many.
func isBudget(err error) bool {
	var refused *domain.Error
	return errors.As(err, &refused) && refused.Code == tenant.CodeBudgetExceeded
}

// deliverEach starts items until there are no others.
func (f *Service) deliverEach(ctx context.Context, d inbound.HookDelivery, all *items) {
	for {
		i, ok := all.take(len(d.Read.Items))
		if !ok {
			return
		}
		key := d.Key(i)
		if key == "" && all.begun != "" {
			key = d.KeyWithin(all.begun, i)
		}
		fired, _, err := f.deliverOne(ctx, d, &deliveryPart{received: d.Received, added: true, key: key}, d.Read.Items[i])
		all.note(fired, err)
	}
}

func (a *items) take(n int) (i int, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stopped != nil || a.next == n {
		return 0, false
	}
	a.next++
	return a.next - 1, true
}

func (a *items) note(fired run.Fired, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var again *errDuplicate
	var refused *domain.Error
	switch {
	case errors.As(err, &again):
		a.skipped = run.Fired{Run: again.run, Skipped: skipDuplicate}
	case err == nil && fired.Skipped != "":
		a.skipped = fired
	case err == nil:
		a.started++
	case errors.As(err, &refused) && refused.Kind == domain.Invalid:
		if a.invalid == nil {
			a.invalid = refused
		}
	case a.stopped == nil:
		a.stopped = err
	}
}

// deliveryLimits bound the units of work that record deliveries which have started nothing.
var deliveryLimits = batch.Limits{Members: 64, Weight: 1 << 20, Running: 2, Timeout: 30 * time.Second}

// deliveryBatcher records deliveries that come at the same time together.
type deliveryBatcher struct {
	work  outbound.UnitOfWork
	batch *batch.Batcher[*pendingDelivery]
}

type pendingDelivery struct {
	received *hook.Received
	err      error
}

func newDeliveryBatcher(work outbound.UnitOfWork) *deliveryBatcher {
	b := &deliveryBatcher{work: work}
	b.batch = batch.New(deliveryLimits, func(d *pendingDelivery) int { return len(d.received.Request.Body) }, b.record)
	return b
}

// record records deliveries in one unit, or, where that fails, each in its own.
func (b *deliveryBatcher) record(ctx context.Context, all []*pendingDelivery) error {
	received := make([]*hook.Received, len(all))
	for i, d := range all {
		received[i] = d.received
	}
	err := b.add(ctx, received...)
	if err == nil || len(all) == 1 || domain.KindOf(err) == domain.Unavailable || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	for _, d := range all {
		d.err = b.add(ctx, d.received)
	}
	return nil
}

func (b *deliveryBatcher) add(ctx context.Context, all ...*hook.Received) error {
	size := 0
	for _, r := range all {
		size += len(r.Request.Body)
	}
	return b.work.Do(outbound.WithLargeWrite(ctx, size), func(ctx context.Context, st outbound.Stores) error { return st.Hooks.Deliveries.Add(ctx, all...) })
}

// Record keeps a delivery that starts nothing.
func (f *Service) Record(ctx context.Context, r *hook.Received) error {
	d := &pendingDelivery{received: r}
	if err := f.deliveries.batch.Do(ctx, d); err != nil {
		return err
	}
	return d.err
}
