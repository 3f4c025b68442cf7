package portstest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/outbound"
)

// dueAfter makes for a tenant n triggers that became due so long after noon.
func (f fixture) dueAfter(n int, after time.Duration) (made []*trigger.Trigger) {
	f.Helper()
	ver := f.version(f.workflow(f.tenant().ID(), "team"))
	f.activate(ver, noon)
	var looked []outbound.ScheduleProgress
	for i := range n {
		trg := f.attach(ver)
		made = append(made, trg)
		looked = append(looked, look(trg, noon, noon.Add(after+time.Duration(i)*time.Millisecond)))
	}
	f.advance(looked...)
	return made
}

// served claims in one unit, says how many of each tenant it got, and puts these off.
func (f fixture) served(now time.Time, limit int) map[tenant.ID]int {
	f.Helper()
	got := make(map[tenant.ID]int)
	f.write(func(ctx context.Context, st outbound.Stores) error {
		clear(got)
		due, err := st.Schedules.Due(ctx, now, limit)
		var looked []outbound.ScheduleProgress
		for _, d := range due {
			got[d.Trigger.Tenant()]++
			looked = append(looked, look(d.Trigger, now, never))
		}
		if len(due) > limit {
			f.Errorf("%d were claimed, not %d", len(due), limit)
		}
		if err != nil {
			return err
		}
		return st.Schedules.Advance(ctx, looked)
	})
	return got
}

// scheduleTurns are the claims about the turns of tenants.
func scheduleTurns() map[string]func(f fixture) {
	return map[string]func(f fixture){
		"a tenant with much that is long overdue does not keep the others waiting": func(f fixture) {
			flood, few, one := f.dueAfter(40, 0), f.dueAfter(4, time.Second), f.dueAfter(1, 2*time.Second)
			owner := func(of []*trigger.Trigger) tenant.ID { return of[0].Tenant() }
			for i, want := range []map[tenant.ID]int{
				{owner(flood): 6, owner(few): 3, owner(one): 1}, // a third each, and what is left to the most overdue
				{owner(flood): 9, owner(few): 1},
				{owner(flood): 10},
				{owner(flood): 10},
				{owner(flood): 5},
				{},
			} {
				if diff := cmp.Diff(want, f.served(noon.Add(time.Hour), 10)); diff != "" {
					f.Errorf("unit %d: %s", i, diff)
				}
			}
		},
		"of a tenant those that are most overdue have its turn": func(f fixture) {
			f.dueAfter(3, time.Hour) // another one
			all := f.dueAfter(6, 0)
			want := []string{line(all[0].ID(), noon), line(all[1].ID(), noon)}
			got := slices.DeleteFunc(f.due(noon.Add(2*time.Hour), 4), func(l string) bool { return l < string(all[0].ID()) })
			if diff := cmp.Diff(want, got); diff != "" {
				f.Error(diff)
			}
		},
		"where there are more tenants than places, all have their turn, one after another": func(f fixture) {
			const tenants, places = 7, 3
			var all [][]*trigger.Trigger
			for range tenants {
				all = append(all, f.dueAfter(6, 0))
			}
			served := make(map[tenant.ID]int)
			for range (tenants + places - 1) / places {
				for owner, n := range f.served(noon.Add(time.Hour), places) {
					served[owner] += n
				}
			}
			for _, made := range all {
				if served[made[0].Tenant()] == 0 {
					f.Errorf("%s was not served: %v", made[0].Tenant(), served)
				}
			}
		},
		"whoever has a turn but nothing that is due leaves it to the others": func(f fixture) {
			f.dueAfter(3, 24*time.Hour)
			late := f.dueAfter(5, 0)
			f.dueAfter(3, 24*time.Hour)
			if got := f.served(noon.Add(time.Hour), 4); got[late[0].Tenant()] != 4 {
				f.Errorf("served were %v", got)
			}
		},
		"units that claim at the same time share what is due of all tenants": func(f fixture) {
			const units, each = 6, 12
			for range 3 {
				f.dueAfter(each, 0)
			}
			var mu sync.Mutex
			seen := 0
			var done sync.WaitGroup
			for range units {
				done.Go(func() {
					for range 3 * each {
						got := f.served(noon.Add(time.Hour), 5)
						mu.Lock()
						for _, n := range got {
							seen += n
						}
						mu.Unlock()
					}
				})
			}
			done.Wait()
			if seen != 3*each {
				f.Errorf("%d claims of %d", seen, 3*each)
			}
		},
	}
}

// schedulesSingledOut are the claims about schedules that are named.
func schedulesSingledOut() map[string]func(f fixture) {
	hour := noon.Add(time.Hour)
	keysOf := func(all ...*trigger.Trigger) (keys []outbound.TriggerKey) {
		for _, trg := range all {
			keys = append(keys, outbound.KeyOf(trg))
		}
		return keys
	}
	dueOf := func(f fixture, now time.Time, of ...*trigger.Trigger) (found []string) {
		f.Helper()
		f.write(func(ctx context.Context, st outbound.Stores) error {
			found = nil
			due, err := st.Schedules.DueOf(ctx, now, keysOf(of...))
			for _, d := range due {
				found = append(found, line(d.Trigger.ID(), d.ProcessedUntil))
			}
			return err
		})
		return found
	}
	putOff := func(f fixture, now time.Time, of outbound.TriggerKey) {
		f.Helper()
		f.write(func(ctx context.Context, st outbound.Stores) error { return st.Schedules.Postpone(ctx, now, hour, of) })
	}
	return map[string]func(f fixture){
		"named schedules are claimed in the order of their names, those that are due": func(f fixture) {
			late, soon, other := f.dueAfter(3, 0), f.dueAfter(1, 2*time.Minute), f.dueAfter(1, 0)
			got := dueOf(f, noon.Add(time.Minute), late[2], soon[0], other[0], late[0])
			if diff := cmp.Diff([]string{line(late[2].ID(), noon), line(other[0].ID(), noon), line(late[0].ID(), noon)}, got); diff != "" {
				f.Error(diff)
			}
			if got := dueOf(f, noon.Add(time.Minute)); got != nil {
				f.Errorf("of none: %v", got)
			}
		},
		"a schedule that is put off waits, and is dealt with up to where it was": func(f fixture) {
			all := f.dueAfter(2, 0)
			putOff(f, noon.Add(time.Minute), outbound.KeyOf(all[0]))
			if diff := cmp.Diff([]string{line(all[1].ID(), noon)}, f.due(hour.Add(-time.Millisecond), 9)); diff != "" {
				f.Errorf("before: %s", diff)
			}
			if diff := cmp.Diff([]string{line(all[1].ID(), noon), line(all[0].ID(), noon)}, f.due(hour, 9)); diff != "" {
				f.Errorf("then: %s", diff)
			}
		},
		"a tenant's schedules are put off together, those that are due": func(f fixture) {
			mine, other := f.dueAfter(2, 0), f.dueAfter(1, time.Second)
			f.advance(look(mine[1], noon, noon.Add(10*time.Minute)))
			putOff(f, noon.Add(time.Minute), outbound.TriggerKey{Scope: tenant.All(mine[0].Tenant())})
			if diff := cmp.Diff([]string{line(other[0].ID(), noon), line(mine[1].ID(), noon)}, f.due(hour.Add(-time.Millisecond), 9)); diff != "" {
				f.Error(diff)
			}
			f.next(noon.Add(time.Second))
		},
		"the clock that comes with the next look is the store's": func(f fixture) {
			before := f.dbNow()
			f.read(func(ctx context.Context, st outbound.Stores) error {
				_, now, err := st.Schedules.Next(ctx)
				if after := f.dbNow(); now.Before(before) || now.After(after) || !now.Equal(now.Truncate(time.Millisecond)) || now.Location() != time.UTC {
					f.Errorf("it is %s, between %s and %s", now, before, after)
				}
				return err
			})
		},
	}
}
