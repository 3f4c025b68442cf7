package portstest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// entitiesOfAll are the entities of a page of the runs of all tenants, and the total.
func (f fixture) entitiesOfAll(filter run.OperatorFilter, order string, limit, offset int) (entities string, total int) {
	f.Helper()
	f.read(func(ctx context.Context, st outbound.Stores) error {
		found, err := st.Runs.All.List(ctx, filter, f.query(order, limit, offset))
		for _, one := range found.Items {
			entities += one.Entity
		}
		total = found.Total
		return err
	})
	return entities, total
}

// mixed starts runs of three tenants by turns, a to f, one each second, all but the last ones by two.
func (f fixture) mixed() (owners []tenant.ID) {
	f.Helper()
	owners = []tenant.ID{f.tenant().ID(), f.tenant().ID(), f.tenant().ID()}
	statuses := []run.Status{run.StatusPending, run.StatusRunning, run.StatusPaused, run.StatusCompleted, run.StatusFailed, run.StatusFailed}
	for i, entity := range strings.Split("abcdef", "") {
		f.started(owners[i%3], status(statuses[i]), func(st *run.State) {
			st.Entity, st.CreatedAt = entity, noon.Add(time.Duration(i/2)*time.Second)
			if entity == "b" {
				st.Parent = "run_parent"
			}
		})
	}
	return owners
}

// oldest is the run that has waited the longest time.
func (f fixture) oldest() (oldest run.Waiting, ok bool) {
	f.Helper()
	f.read(func(ctx context.Context, st outbound.Stores) error {
		now, err := st.Runs.Queue.Now(ctx)
		if err != nil {
			return err
		}
		oldest, ok, err = st.Runs.All.OldestWaiting(ctx, now)
		return err
	})
	return oldest, ok
}

func (f fixture) standing(id run.ID) (found run.Standing, err error) {
	err = f.work.View(f.Context(), func(ctx context.Context, st outbound.Stores) error {
		found, err = st.Runs.All.Get(ctx, id)
		return err
	})
	return found, err
}

// AllRuns is the contract of outbound.AllRuns.
func AllRuns(t *testing.T, open OpenStore) {
	listsOfAllRuns(t, open)
	waitingRunsOfAll(t, open)
}

func listsOfAllRuns(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"the runs of all tenants come by when they were created, ties by id, those of items and children among them": func(f fixture) {
			f.mixed()
			for order, want := range map[string]string{"": "fedcba", "-createdAt": "fedcba", "createdAt": "abcdef"} {
				if got, total := f.entitiesOfAll(run.OperatorFilter{}, order, 9, 0); got != want || total != 6 {
					f.Errorf("by %q: %s of %d", order, got, total)
				}
			}
			err := f.work.View(f.Context(), func(ctx context.Context, st outbound.Stores) error {
				_, err := st.Runs.All.List(ctx, run.OperatorFilter{}, domain.Query{Sorting: domain.Sorting{Field: "updatedAt"}})
				return err
			})
			if err == nil || domain.KindOf(err) == domain.Invalid {
				f.Errorf("another order is %v", err)
			}
		},
		"pages do not overlap, and the total is that of all": func(f fixture) {
			f.mixed()
			for offset, want := range map[int]string{0: "ab", 2: "cd", 4: "ef", 5: "f", 6: ""} {
				if got, total := f.entitiesOfAll(run.OperatorFilter{}, "createdAt", 2, offset); got != want || total != 6 {
					f.Errorf("at %d: %s of %d", offset, got, total)
				}
			}
		},
		"filters narrow the list and its total": func(f fixture) {
			owners := f.mixed()
			soon, later := noon.Add(time.Second), noon.Add(2*time.Second)
			for _, c := range []struct {
				filter run.OperatorFilter
				want   string
			}{
				{run.OperatorFilter{Tenant: owners[0]}, "ad"}, {run.OperatorFilter{Tenant: "none"}, ""},
				{run.OperatorFilter{Status: run.StatusFailed}, "ef"}, {run.OperatorFilter{Status: run.StatusPending}, "a"}, {run.OperatorFilter{Status: run.StatusCancelled}, ""},
				{run.OperatorFilter{Before: &later}, "abcd"}, {run.OperatorFilter{Before: &noon}, ""},
				{run.OperatorFilter{Tenant: owners[2], Before: &later}, "c"}, {run.OperatorFilter{Tenant: owners[2], Status: run.StatusFailed}, "f"},
				{run.OperatorFilter{Status: run.StatusRunning, Before: &soon}, "b"}, {run.OperatorFilter{Status: run.StatusPending, Before: &noon}, ""},
				{run.OperatorFilter{Tenant: owners[1], Status: run.StatusFailed, Before: &later}, ""},
			} {
				for _, limit := range []int{9, 1} {
					if got, total := f.entitiesOfAll(c.filter, "createdAt", limit, 0); got != c.want[:min(limit, len(c.want))] || total != len(c.want) {
						f.Errorf("%+v: %s of %d", c.filter, got, total)
					}
				}
			}
		},
		"a run is found whoever it is of, with all that a list shows": func(f fixture) {
			f.tenant()
			want := run.Restore(runState(f.tenant().ID()))
			f.start(want)
			got, err := f.standing(want.ID())
			if err != nil {
				f.Fatal(err)
			}
			summary := want.Summary()
			summary.Failure.Edge = "" // which only the whole run knows
			f.same(run.Standing{Summary: summary, Engine: run.EngineTable}, got)
			var listed []run.Summary
			f.read(func(ctx context.Context, st outbound.Stores) error {
				found, err := st.Runs.All.List(ctx, run.OperatorFilter{}, domain.Query{})
				listed = found.Items
				return err
			})
			f.same([]run.Summary{summary}, listed)
			_, err = f.standing("run_none")
			f.wantError(err, domain.NotFound, "run_not_found")
		},
	})
}

func waitingRunsOfAll(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"it says when a worker can have the run, which one has it, and until when": func(f fixture) {
			r := f.started(f.tenant().ID())
			created := r.CreatedAt()
			free, err := f.standing(r.ID())
			f.same(run.Standing{Summary: r.Summary(), Engine: run.EngineTable, FreeAt: &created}, free)
			leased := f.claimBy("worker-7", time.Hour)
			got, leasedErr := f.standing(r.ID())
			f.same(run.Standing{Summary: r.Summary(), Engine: run.EngineTable, FreeAt: &leased.Until, Worker: "worker-7", LeasedUntil: &leased.Until}, got)
			f.step(r, leased.Lease, status(run.StatusPaused))
			paused, pausedErr := f.standing(r.ID())
			if err != nil || leasedErr != nil || pausedErr != nil || paused.FreeAt != nil || paused.Worker != "" || paused.LeasedUntil != nil {
				f.Errorf("what waits for others is %+v: %v, %v, %v", paused, err, leasedErr, pausedErr)
			}
		},
		"the one that has waited longest is that of an active tenant that is free and has been for the longest time": func(f fixture) {
			if got, ok := f.oldest(); ok {
				f.Errorf("of none it is %+v", got)
			}
			suspended, owner, other := f.tenant(), f.tenant().ID(), f.tenant().ID()
			created := func(seconds int) func(*run.State) {
				return func(st *run.State) { st.CreatedAt = noon.Add(time.Duration(seconds) * time.Second) }
			}
			f.started(suspended.ID(), created(-9))
			f.write(func(ctx context.Context, st outbound.Stores) error {
				ten, err := st.Tenants.Get(ctx, suspended.ID())
				if err != nil {
					return err
				}
				ten.Suspend(noon)
				return st.Tenants.Update(ctx, ten)
			})
			f.started(owner, created(3))
			second := f.started(owner, created(2))
			first := f.started(other, created(1))
			want := func(r *run.Run) {
				f.Helper()
				got, ok := f.oldest()
				f.same(run.Waiting{Run: r.ID(), Tenant: r.Tenant(), Since: r.CreatedAt()}, got)
				f.same(true, ok)
			}
			want(first)
			f.step(first, outbound.RunLease{}, status(run.StatusPaused))
			want(second)
			f.claimRuns(9, 9)
			if got, ok := f.oldest(); ok {
				f.Errorf("when all have workers it is %+v", got)
			}
		},
		"one whose time comes later does not wait yet": func(f fixture) {
			r := f.waiting(f.tenant().ID(), 1, func(st *run.State) { st.Status, st.WakeAt = run.StatusPaused, new(noon.Add(time.Minute)) })
			for after, want := range map[time.Duration]bool{time.Minute - time.Millisecond: false, time.Minute: true} {
				f.read(func(ctx context.Context, st outbound.Stores) error {
					got, ok, err := st.Runs.All.OldestWaiting(ctx, noon.Add(after))
					if ok != want || ok && (got.Run != r.ID() || !got.Since.Equal(noon.Add(time.Minute))) {
						f.Errorf("after %s: %+v, %v", after, got, ok)
					}
					return err
				})
			}
		},
		"one whose worker was given up waits from then on": func(f fixture) {
			r := f.started(f.tenant().ID())
			leased := f.claimBy("worker-7", 0)
			got, ok := f.oldest()
			f.same(run.Waiting{Run: r.ID(), Tenant: r.Tenant(), Since: leased.Until}, got)
			f.same(true, ok)
		},
	})
}
