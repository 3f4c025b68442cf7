package portstest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/outbound"
)

// fire makes an entry of the ledger with every member filled in, minutes after noon.
func fire(trg *trigger.Trigger, minutes int, outcome trigger.FireOutcome) *trigger.Fire {
	at := noon.Add(time.Duration(minutes) * time.Minute)
	st := trigger.FireState{
		Trigger: trg.ID(), Tenant: trg.Tenant(), At: at, Outcome: outcome, Reason: `it's "so" é <&> \`, RecordedAt: at.Add(7 * time.Millisecond),
	}
	if outcome.Starts() {
		st.RunID = newID("run")
	}
	return trigger.RestoreFire(st)
}

// record stores fires and returns those that were added.
func (f fixture) record(all ...*trigger.Fire) (added []*trigger.Fire) {
	f.Helper()
	f.write(func(ctx context.Context, st outbound.Stores) (err error) {
		added, err = st.Fires.Record(ctx, all)
		return err
	})
	return added
}

// fires lists the states of a page, and the total.
func (f fixture) fires(owner tenant.ID, of trigger.ID, filter trigger.FireFilter, order string, limit, offset int) (states []trigger.FireState, total int) {
	f.Helper()
	f.read(func(ctx context.Context, st outbound.Stores) error {
		found, err := st.Fires.List(ctx, tenant.All(owner), of, filter, f.query(order, limit, offset))
		total = found.Total
		states = statesOf(found.Items)
		return err
	})
	return states, total
}

func statesOf(all []*trigger.Fire) (states []trigger.FireState) {
	for _, one := range all {
		states = append(states, one.State())
	}
	return states
}

func (f fixture) wantFires(got []trigger.FireState, total int, want ...*trigger.Fire) {
	f.Helper()
	if diff := cmp.Diff(statesOf(want), got); diff != "" || total < len(want) {
		f.Errorf("of %d: %s", total, diff)
	}
}

// FireRepository is the contract of outbound.FireRepository.
func FireRepository(t *testing.T, open OpenStore) {
	recordedFires(t, open)
	listedFires(t, open)
}

func recordedFires(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"every field comes back": func(f fixture) {
			trg := f.scheduled()
			all := []*trigger.Fire{fire(trg, 0, trigger.Fired), fire(trg, 1, trigger.Suppressed)}
			if added := f.record(all...); len(added) != 2 {
				f.Errorf("%d were added", len(added))
			}
			got, total := f.fires(trg.Tenant(), trg.ID(), trigger.FireFilter{}, "scheduledAt", 10, 0)
			f.wantFires(got, total, all...)
		},
		"an instant is held once, as it was first": func(f fixture) {
			one, two := f.scheduled(), f.scheduled()
			first := fire(one, 0, trigger.Fired)
			f.record(first)
			again, other, later := fire(one, 0, trigger.Late), fire(two, 0, trigger.Fired), fire(one, 1, trigger.Fired)
			added := f.record(other, again, later, fire(one, 1, trigger.Skipped))
			if diff := cmp.Diff(statesOf([]*trigger.Fire{other, later}), statesOf(added)); diff != "" {
				f.Error(diff)
			}
			got, total := f.fires(one.Tenant(), one.ID(), trigger.FireFilter{}, "scheduledAt", 10, 0)
			f.wantFires(got, total, first, later)
		},
		"of many units that record an instant one adds it": func(f fixture) {
			trg := f.scheduled()
			var mu sync.Mutex
			added := 0
			var done sync.WaitGroup
			for range 12 {
				done.Go(func() {
					n := len(f.record(fire(trg, 0, trigger.Fired), fire(trg, 1, trigger.Fired)))
					mu.Lock()
					added += n
					mu.Unlock()
				})
			}
			done.Wait()
			if added != 2 {
				f.Errorf("%d were added", added)
			}
		},
		"a unit that fails records nothing": func(f fixture) {
			trg := f.scheduled()
			err := f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
				if _, err := st.Fires.Record(ctx, []*trigger.Fire{fire(trg, 0, trigger.Fired)}); err != nil {
					return err
				}
				return errOnPurpose
			})
			if !errors.Is(err, errOnPurpose) {
				f.Fatal(err)
			}
			if _, total := f.fires(trg.Tenant(), trg.ID(), trigger.FireFilter{}, "", 10, 0); total != 0 {
				f.Errorf("%d are held", total)
			}
		},
		"an amended fire holds what was amended": func(f fixture) {
			trg := f.scheduled()
			kept, amended := fire(trg, 0, trigger.Fired), fire(trg, 1, trigger.Fired)
			f.record(kept, amended)
			amended.Suppress("there is nothing to run")
			f.write(func(ctx context.Context, st outbound.Stores) error {
				return st.Fires.Amend(ctx, []*trigger.Fire{amended})
			})
			got, total := f.fires(trg.Tenant(), trg.ID(), trigger.FireFilter{}, "scheduledAt", 10, 0)
			f.wantFires(got, total, kept, amended)
		},
		"nothing to record and nothing to amend is fine": func(f fixture) {
			if added := f.record(); added != nil {
				f.Errorf("added %v", added)
			}
			f.write(func(ctx context.Context, st outbound.Stores) error { return st.Fires.Amend(ctx, nil) })
		},
	})
}

func listedFires(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"a list comes in the order of the instants, a page at a time, narrowed by its filters": func(f fixture) {
			trg, other := f.scheduled(), f.scheduled()
			a, b, c := fire(trg, 0, trigger.Fired), fire(trg, 1, trigger.Skipped), fire(trg, 2, trigger.Fired)
			f.record(b, fire(other, 0, trigger.Late), c, a)
			from, to := noon.Add(time.Minute), noon.Add(2*time.Minute)
			for claim, want := range map[string]struct {
				filter        trigger.FireFilter
				order         string
				limit, offset int
				total         int
				fires         []*trigger.Fire
			}{
				"the latest first": {trigger.FireFilter{}, "-scheduledAt", 10, 0, 3, []*trigger.Fire{c, b, a}},
				"the first page":   {trigger.FireFilter{}, "scheduledAt", 2, 0, 3, []*trigger.Fire{a, b}},
				"the last page":    {trigger.FireFilter{}, "scheduledAt", 2, 2, 3, []*trigger.Fire{c}},
				"past the end":     {trigger.FireFilter{}, "scheduledAt", 2, 4, 3, nil},
				"an outcome":       {trigger.FireFilter{Outcome: trigger.Fired}, "scheduledAt", 10, 0, 2, []*trigger.Fire{a, c}},
				"from then on":     {trigger.FireFilter{From: &from}, "scheduledAt", 10, 0, 2, []*trigger.Fire{b, c}},
				"before":           {trigger.FireFilter{To: &to}, "scheduledAt", 10, 0, 2, []*trigger.Fire{a, b}},
				"all of them":      {trigger.FireFilter{Outcome: trigger.Skipped, From: &from, To: &to}, "", 10, 0, 1, []*trigger.Fire{b}},
			} {
				got, total := f.fires(trg.Tenant(), trg.ID(), want.filter, want.order, want.limit, want.offset)
				if diff := cmp.Diff(statesOf(want.fires), got); diff != "" || total != want.total {
					f.Errorf("%s: of %d, not %d: %s", claim, total, want.total, diff)
				}
			}
		},
		"the fires of another tenant are not there": func(f fixture) {
			trg, other := f.scheduled(), f.scheduled()
			f.record(fire(trg, 0, trigger.Fired))
			if got, total := f.fires(other.Tenant(), trg.ID(), trigger.FireFilter{}, "", 10, 0); got != nil || total != 0 {
				f.Errorf("%d: %v", total, got)
			}
		},
		"fires go with their trigger": func(f fixture) {
			trg := f.scheduled()
			f.record(fire(trg, 0, trigger.Fired))
			f.write(func(ctx context.Context, st outbound.Stores) error {
				return st.Triggers.Delete(ctx, tenant.All(trg.Tenant()), trg.ID())
			})
			if _, total := f.fires(trg.Tenant(), trg.ID(), trigger.FireFilter{}, "", 10, 0); total != 0 {
				f.Errorf("%d are held", total)
			}
		},
		"sweeping removes the old ones, a batch at a time": func(f fixture) {
			trg := f.scheduled()
			young := fire(trg, 3, trigger.Fired)
			f.record(fire(trg, 0, trigger.Fired), young, fire(trg, 2, trigger.Skipped), fire(trg, 1, trigger.Fired))
			for _, want := range []int{2, 1, 0} {
				f.write(func(ctx context.Context, st outbound.Stores) error {
					n, err := st.Fires.Sweep(ctx, young.RecordedAt(), 2)
					if n != want {
						f.Errorf("swept %d, not %d", n, want)
					}
					return err
				})
			}
			got, total := f.fires(trg.Tenant(), trg.ID(), trigger.FireFilter{}, "", 10, 0)
			f.wantFires(got, total, young)
		},
	})
}
