package portstest

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/usage"
	"github.com/sluicehq/sluice/ports/outbound"
)

// budgeted stores a tenant with budgets.
func (f fixture) budgeted(b tenant.Budgets) tenant.ID {
	f.Helper()
	changes := make(map[tenant.BudgetName]tenant.BudgetPatch)
	for _, name := range tenant.BudgetNames() {
		if *b.Field(name) > 0 {
			changes[name] = tenant.BudgetPatch{Limit: b.Field(name)}
		}
	}
	ten := f.tenant()
	if err := ten.Revise(tenant.Patch{Budgets: changes}, noon); err != nil {
		f.Fatal(err)
	}
	f.write(func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Update(ctx, ten) })
	return ten.ID()
}

func (f fixture) standings(month usage.Day, of ...tenant.ID) (all []usage.Standing) {
	f.Helper()
	f.read(func(ctx context.Context, st outbound.Stores) (err error) {
		all, err = st.Usage.Budgets.Standings(ctx, month, of...)
		return err
	})
	return all
}

func (f fixture) announce(all ...usage.Threshold) (first []usage.Threshold) {
	f.Helper()
	f.write(func(ctx context.Context, st outbound.Stores) (err error) {
		first, err = st.Usage.Budgets.Announce(ctx, all...)
		return err
	})
	return first
}

const thisMonth usage.Day = "2026-11-01"

var usageBudgets = map[string]func(f fixture){
	"the budgets of a tenant come back with it, and change with it": func(f fixture) {
		b := tenant.Budgets{RunsPerMonth: 7, LiveRuns: 1 << 53, BytesKept: 3}
		owner := f.budgeted(b)
		read := func() (got tenant.Budgets) {
			f.read(func(ctx context.Context, st outbound.Stores) error {
				ten, err := st.Tenants.Get(ctx, owner)
				if err == nil {
					got = ten.Settings().Budgets
				}
				return err
			})
			return got
		}
		f.same(b, read())
		f.write(func(ctx context.Context, st outbound.Stores) error {
			ten, err := st.Tenants.Get(ctx, owner)
			if err != nil {
				return err
			}
			if err := ten.Revise(tenant.Patch{Budgets: map[tenant.BudgetName]tenant.BudgetPatch{tenant.LiveRuns: {Remove: true}}}, noon); err != nil {
				return err
			}
			return st.Tenants.Update(ctx, ten)
		})
		f.same(tenant.Budgets{RunsPerMonth: 7, BytesKept: 3}, read())
	},
	"what fires comes with the budgets of its tenant": func(f fixture) {
		b := tenant.Budgets{RunsPerMonth: 7, LiveRuns: 5, BytesKept: 3}
		owner := f.budgeted(b)
		ver := f.published(owner, "")
		trg := f.listening(ver, "paid")
		f.write(func(ctx context.Context, st outbound.Stores) error {
			one, err := st.Firing.Trigger(ctx, tenant.All(owner), trg.ID())
			f.same(b, one.Budgets)
			if err != nil {
				return err
			}
			on, err := st.Firing.OnEvent(ctx, tenant.All(owner), outbound.EventQuery{Event: "paid", Limit: 9})
			if err != nil {
				return err
			}
			f.same(b, on[0].Budgets)
			all, err := st.Firing.Triggers(ctx, []outbound.TriggerKey{outbound.KeyOf(trg)})
			if err != nil {
				return err
			}
			f.same(b, all[0].Budgets)
			of, err := st.Firing.Version(ctx, tenant.All(owner), ver.Workflow(), "")
			f.same(b, of.Budgets)
			return err
		})
	},
	"what is used of budgets is that of the month and of now, before and after it was folded": func(f fixture) {
		b := tenant.Budgets{RunsPerMonth: 9, LiveRuns: 9, BytesKept: 9}
		owner, other := f.budgeted(b), f.budgeted(b)
		first := f.started(owner)
		f.start(pending(owner, func(st *run.State) { st.Parent, st.ParentNode = first.ID(), "n" }),
			pending(owner, func(st *run.State) { st.CreatedAt = noon.AddDate(0, -1, 0) }))
		f.started(other)
		step := stepped(first, outbound.RunLease{}, hasEnded)
		f.mustStep(step)
		f.sweep(owner, 9) // what was removed was started nevertheless
		kept := func() (n int64) {
			f.read(func(ctx context.Context, st outbound.Stores) (err error) {
				n, err = st.Usage.Log.Kept(ctx, owner)
				return err
			})
			return n
		}
		want := []usage.Standing{{Tenant: owner, Month: thisMonth, Budgets: b, Used: tenant.Budgets{RunsPerMonth: 1, LiveRuns: 2, BytesKept: kept()}}}
		f.same(want, f.standings(thisMonth, owner))
		f.fold(2)
		f.same(want, f.standings(thisMonth, owner))
		f.fold(99)
		f.same(want, f.standings(thisMonth, owner))
		if before := f.standings("2026-10-01", owner)[0].Used.RunsPerMonth; before != 2 {
			f.Errorf("from the month before on there are %d", before)
		}
	},
	"what there is no budget for is not looked at, nor who is gone": func(f fixture) {
		none, some := f.tenant().ID(), f.budgeted(tenant.Budgets{LiveRuns: 5})
		f.started(none)
		f.started(some)
		want := []usage.Standing{{Tenant: none, Month: thisMonth}, {Tenant: some, Month: thisMonth, Budgets: tenant.Budgets{LiveRuns: 5}, Used: tenant.Budgets{LiveRuns: 1}}}
		slices.SortFunc(want, func(a, b usage.Standing) int { return cmp.Compare(a.Tenant, b.Tenant) })
		f.same(want, f.standings(thisMonth, none, some, tenant.ID(newID(tenant.IDPrefix))))
		f.same(0, len(f.standings(thisMonth)))
	},
	"a threshold is announced once in a month, for each amount of each budget": func(f fixture) {
		owner, other := f.tenant().ID(), f.tenant().ID()
		t := usage.Threshold{Tenant: owner, Month: thisMonth, Budget: tenant.LiveRuns, Limit: 10, Used: 8, Percent: 80}
		all := []usage.Threshold{t}
		for _, change := range []func(t *usage.Threshold){
			func(t *usage.Threshold) { t.Tenant = other },
			func(t *usage.Threshold) { t.Month = "2026-12-01" },
			func(t *usage.Threshold) { t.Budget = tenant.BytesKept },
			func(t *usage.Threshold) { t.Limit = 1 << 53 },
			func(t *usage.Threshold) { t.Percent = 100 },
		} {
			another := t
			change(&another)
			all = append(all, another)
		}
		f.same(all[:1], f.announce(t))
		f.same(all[1:], f.announce(all...))
		t.Used = 9
		f.same(0, len(f.announce(t)))
		f.same(0, len(f.announce()))
		f.same(0, len(f.announce(usage.Threshold{Tenant: tenant.ID(newID(tenant.IDPrefix)), Month: thisMonth, Budget: tenant.LiveRuns, Limit: 1, Percent: 80})))
	},
	"of units that announce a threshold at the same time one does": func(f fixture) {
		t := usage.Threshold{Tenant: f.tenant().ID(), Month: thisMonth, Budget: tenant.LiveRuns, Limit: 10, Used: 8, Percent: 80}
		var mu sync.Mutex
		var working sync.WaitGroup
		n := 0
		for range 8 {
			working.Go(func() {
				first := len(f.announce(t))
				mu.Lock()
				defer mu.Unlock()
				n += first
			})
		}
		working.Wait()
		f.same(1, n)
	},
}
