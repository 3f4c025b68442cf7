package portstest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// newEvent makes an event with every member filled in, seconds after noon.
func newEvent(owner tenant.ID, seconds int) *event.Event {
	return event.Restore(event.State{
		ID: event.ID(newID("evt")), Tenant: owner, SubTenant: "team", Type: event.RunFailed, At: noon.Add(time.Duration(seconds) * time.Second),
		Data: domain.RestoreDocument("{\"z\":1.50,\n \"a\":\"é <&> \\u0000\",\"n\":1e400}"),
	})
}

// event stores an event that does not wait.
func (f webhooks) event(owner tenant.ID) *event.Event {
	f.Helper()
	e := newEvent(owner, 0)
	f.put(func(ctx context.Context, st outbound.WebhookStores) error {
		return errors.Join(st.Events.Append(ctx, e), st.Events.MarkFannedOut(ctx, e))
	})
	return e
}

func (f webhooks) append(events ...*event.Event) {
	f.Helper()
	f.put(func(ctx context.Context, st outbound.WebhookStores) error { return st.Events.Append(ctx, events...) })
}

func (f webhooks) getEvent(owner tenant.ID, id event.ID) (e *event.Event, err error) {
	err = f.view(func(ctx context.Context, st outbound.WebhookStores) error {
		e, err = st.Events.Get(ctx, tenant.All(owner), id)
		return err
	})
	return e, err
}

// waiting checks which events wait.
func (f webhooks) waiting(step string, limit int, want ...*event.Event) {
	f.Helper()
	f.put(func(ctx context.Context, st outbound.WebhookStores) error {
		found, err := st.Events.PendingFanOut(ctx, limit, "")
		f.sameState(idsOf(want), idsOf(found))
		if f.Failed() {
			f.Fatal(step)
		}
		return err
	})
}

func idsOf(all []*event.Event) (ids []event.ID) {
	for _, e := range all {
		ids = append(ids, e.ID())
	}
	return ids
}

// EventRepository is the contract of outbound.EventRepository for one event at a time.
func EventRepository(t *testing.T, open OpenStore) {
	webhookCases(t, open, map[string]func(f webhooks){
		"every field comes back, the data byte for byte, also of those that wait": func(f webhooks) {
			want := newEvent(f.tenant().ID(), 1)
			bare := event.Restore(event.State{ID: event.ID(newID("evt")), Tenant: want.Tenant(), Type: event.RunPaused, At: noon.Add(time.Minute)})
			f.append(want, bare)
			f.put(func(ctx context.Context, st outbound.WebhookStores) error {
				found, err := st.Events.PendingFanOut(ctx, 9, "")
				for i, e := range []*event.Event{want, bare} {
					got, errGet := st.Events.Get(ctx, tenant.All(e.Tenant()), e.ID())
					if err = errors.Join(err, errGet); err != nil {
						return err
					}
					for _, got := range []*event.Event{got, found[i]} {
						if e.State() != got.State() || string(e.Body()) != string(got.Body()) {
							f.Errorf("%+v is not %+v", got.State(), e.State())
						}
					}
				}
				return err
			})
		},
		"an event of another tenant is as if it did not exist": func(f webhooks) {
			e, other := f.event(f.tenant().ID()), f.tenant().ID()
			_, err := f.getEvent(other, e.ID())
			f.wantError(err, domain.NotFound, "event_not_found")
			if errAbsent := errorOf(f.getEvent(other, "evt_absent")); err.Error() != errAbsent.Error() {
				f.Errorf("%q differs from %q", err, errAbsent)
			}
		},
		"an event waits until it is settled, and settling it twice is fine": func(f webhooks) {
			owner := f.tenant().ID()
			a, b := newEvent(owner, 0), newEvent(owner, 1)
			f.append(a, b)
			f.waiting("both", 9, a, b)
			settle := func(ctx context.Context, st outbound.WebhookStores) error { return st.Events.MarkFannedOut(ctx, a) }
			f.put(settle)
			f.put(settle)
			f.waiting("one is settled", 9, b)
			f.put(func(ctx context.Context, st outbound.WebhookStores) error {
				return errors.Join(st.Events.Append(ctx), st.Events.MarkFannedOut(ctx))
			})
			f.waiting("nothing was added or settled", 9, b)
		},
		"what happens often is kept only where an active endpoint may want it": func(f webhooks) {
			without, active, inactive := f.tenant().ID(), f.tenant().ID(), f.tenant().ID()
			f.endpoint(active)
			f.endpoint(inactive, func(st *event.EndpointState) { st.Active = false })
			for owner, kept := range map[tenant.ID]bool{without: false, active: true, inactive: false} {
				e := newEvent(owner, 0)
				f.put(func(ctx context.Context, st outbound.WebhookStores) error { return st.Events.AppendIfWanted(ctx, e) })
				if _, err := f.getEvent(owner, e.ID()); (err == nil) != kept {
					f.Errorf("%s: %v", owner, err)
				}
				if kept {
					f.waiting("it waits", 9, e)
				}
			}
		},
		"and one of a run that another one started only where an active endpoint wants those": func(f webhooks) {
			without, with := f.tenant().ID(), f.tenant().ID()
			f.endpoint(without)
			f.endpoint(with)
			f.endpoint(with, func(st *event.EndpointState) { st.Children = true })
			for owner, kept := range map[tenant.ID]bool{without: false, with: true} {
				state := newEvent(owner, 0).State()
				state.OfChild = true
				e := event.Restore(state)
				f.put(func(ctx context.Context, st outbound.WebhookStores) error { return st.Events.AppendIfWanted(ctx, e) })
				got, err := f.getEvent(owner, e.ID())
				if (err == nil) != kept || kept && !got.OfChild() {
					f.Errorf("%v: %v", kept, err)
				}
				if kept {
					f.waiting("it waits", 9, e)
				}
			}
		},
		"an event of a unit that fails did not happen": func(f webhooks) {
			e := newEvent(f.tenant().ID(), 0)
			err := f.try(func(ctx context.Context, st outbound.WebhookStores) error {
				return errors.Join(st.Events.Append(ctx, e), errOnPurpose)
			})
			if !errors.Is(err, errOnPurpose) {
				f.Fatal(err)
			}
			f.waiting("after the failure", 9)
		},
	})
}

// WaitingEvents is the contract of outbound.EventRepository for which events wait, and who
// gets them.
func WaitingEvents(t *testing.T, open OpenStore) {
	webhookCases(t, open, map[string]func(f webhooks){
		"the tenants take turns from the one that follows on, the oldest event of each first": func(f webhooks) {
			owners := []tenant.ID{f.tenant().ID(), f.tenant().ID(), f.tenant().ID()}
			slices.Sort(owners)
			flood, modest, last := owners[0], owners[1], owners[2]
			var all []*event.Event
			for i := range 4 {
				all = append(all, newEvent(flood, i))
			}
			first, second, lastOne := newEvent(modest, 5), newEvent(modest, 7), newEvent(last, 2)
			f.append(all[2], all[0], lastOne, second, all[3], first, all[1])
			for _, c := range []struct {
				step  string
				limit int
				after tenant.ID
				want  []*event.Event
			}{
				{"three", 3, "", all[:3]},
				{"all of them", 9, "", append(all[:4:4], first, second, lastOne)},
				{"after the one with many", 9, flood, append([]*event.Event{first, second, lastOne}, all...)},
				{"three after it", 3, flood, []*event.Event{first, second, lastOne}},
				{"two after it", 2, flood, []*event.Event{first, second}},
				{"after another one, those with many get what is left", 3, modest, []*event.Event{lastOne, all[0], all[1]}},
				{"after one that does not exist", 2, modest + "~", []*event.Event{lastOne, all[0]}},
				{"after the last one", 2, last, all[:2]},
			} {
				f.put(func(ctx context.Context, st outbound.WebhookStores) error {
					found, err := st.Events.PendingFanOut(ctx, c.limit, c.after)
					f.sameState(idsOf(c.want), idsOf(found))
					if f.Failed() {
						f.Fatal(c.step)
					}
					return err
				})
			}
		},
		"exceptions are left out, and keep no others of their tenant waiting": func(f webhooks) {
			owner, other := f.tenant().ID(), f.tenant().ID()
			var all []*event.Event
			var except []outbound.EventKey
			for i := range 12 {
				all = append(all, newEvent(owner, i))
				except = append(except, outbound.EventKey{Tenant: owner, Event: all[i].ID()})
			}
			foreign := newEvent(other, 20)
			f.append(append(all, foreign)...)
			except[11].Tenant = other      // there is no such event
			before := owner[:len(owner)-1] // so that the owner follows
			f.put(func(ctx context.Context, st outbound.WebhookStores) error {
				found, err := st.Events.PendingFanOut(ctx, 2, before, except...)
				slices.SortFunc(found, func(a, b *event.Event) int { return a.At().Compare(b.At()) })
				f.sameState(idsOf([]*event.Event{all[11], foreign}), idsOf(found))
				return err
			})
			f.put(func(ctx context.Context, st outbound.WebhookStores) error {
				found, err := st.Events.PendingFanOut(ctx, 1, before)
				f.sameState(idsOf(all[:1]), idsOf(found))
				return err
			})
		},
		"of many units that fan out events at the same time each gets others": func(f webhooks) {
			const all, units = 40, 8
			owner := f.tenant().ID()
			for i := range all {
				f.append(newEvent(owner, i))
			}
			var mu sync.Mutex
			seen := make(map[event.ID]int)
			var done sync.WaitGroup
			for range units {
				done.Go(func() {
					for range all {
						var took []*event.Event
						f.put(func(ctx context.Context, st outbound.WebhookStores) (err error) {
							if took, err = st.Events.PendingFanOut(ctx, 3, ""); err != nil {
								return err
							}
							return st.Events.MarkFannedOut(ctx, took...)
						})
						mu.Lock()
						for _, id := range idsOf(took) {
							seen[id]++
						}
						mu.Unlock()
					}
				})
			}
			done.Wait()
			for id, n := range seen {
				if n != 1 {
					f.Errorf("%s was taken %d times", id, n)
				}
			}
			if len(seen) != all {
				f.Errorf("%d of %d were taken", len(seen), all)
			}
		},
	})
}

// EventSweeps is the contract of outbound.EventRepository.Sweep.
func EventSweeps(t *testing.T, open OpenStore) {
	webhookCases(t, open, map[string]func(f webhooks){
		"sweeping removes the old ones with their deliveries, a batch at a time, but none that is under way": func(f webhooks) {
			owner := f.tenant().ID()
			to := f.endpoint(owner)
			var all []*event.Event
			for i := range 6 {
				all = append(all, newEvent(owner, i))
			}
			waits, pending, young, old := all[0], all[1], all[5], all[2:5]
			f.append(all...)
			f.put(func(ctx context.Context, st outbound.WebhookStores) error {
				return st.Events.MarkFannedOut(ctx, all[1:]...)
			})
			under := f.delivery(to, pending)
			ended := f.delivery(to, old[0])
			f.put(func(ctx context.Context, st outbound.WebhookStores) error {
				d, err := st.Deliveries.Get(ctx, tenant.All(owner), ended.ID())
				if err != nil {
					return err
				}
				d.Record(1, noon, event.AttemptResult{Status: 200})
				return st.Deliveries.Update(ctx, d)
			})
			var swept []string
			for range 3 {
				f.put(func(ctx context.Context, st outbound.WebhookStores) error {
					n, err := st.Events.Sweep(ctx, young.At(), 2)
					swept = append(swept, fmt.Sprint(n))
					return err
				})
			}
			if got := strings.Join(swept, " "); got != "2 1 0" {
				f.Errorf("swept %s", got)
			}
			for _, e := range []*event.Event{waits, pending, young} {
				if _, err := f.getEvent(owner, e.ID()); err != nil {
					f.Error(err)
				}
			}
			for _, e := range old {
				f.wantError(errorOf(f.getEvent(owner, e.ID())), domain.NotFound, "event_not_found")
			}
			f.wantError(errorOf(f.getDelivery(owner, ended.ID())), domain.NotFound, "delivery_not_found")
			if _, err := f.getDelivery(owner, under.ID()); err != nil {
				f.Error(err)
			}
		},
		"sweeping removes the old ones of a suspended tenant although they were not delivered": func(f webhooks) {
			ten := f.tenant()
			owner := ten.ID()
			e := newEvent(owner, 0)
			f.append(e)
			f.put(func(ctx context.Context, st outbound.WebhookStores) error { return st.Events.MarkFannedOut(ctx, e) })
			d := f.delivery(f.endpoint(owner), e)
			sweeps := func(step string, want int) {
				f.Helper()
				f.put(func(ctx context.Context, st outbound.WebhookStores) error {
					n, err := st.Events.Sweep(ctx, e.At().Add(time.Second), 9)
					if n != want {
						f.Errorf("%s: %d were swept", step, n)
					}
					return err
				})
			}
			sweeps("active", 0)
			ten.Suspend(noon)
			f.write(func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Update(ctx, ten) })
			sweeps("suspended", 1)
			f.wantError(errorOf(f.getDelivery(owner, d.ID())), domain.NotFound, "delivery_not_found")
		},
	})
}
