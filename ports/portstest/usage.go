package portstest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/hook"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/usage"
	"github.com/sluicehq/sluice/ports/outbound"
)

// today is the day of noon, and longBefore and longAfter are around everything.
const (
	today                 usage.Day = "2026-11-21"
	longBefore, longAfter usage.Day = "1970-01-01", "9999-01-01"
)

// counted is what a tenant used in all.
func (f fixture) counted(owner tenant.ID) (sum usage.Counts) {
	f.Helper()
	for _, d := range f.days(owner, longBefore, longAfter) {
		sum.Add(d.Counts)
	}
	return sum
}

func (f fixture) days(owner tenant.ID, from, to usage.Day) (days []usage.Daily) {
	f.Helper()
	f.read(func(ctx context.Context, st outbound.Stores) (err error) {
		days, err = st.Usage.Log.Days(ctx, owner, from, to)
		return err
	})
	return days
}

func (f fixture) add(owner tenant.ID, day usage.Day, c usage.Counts) {
	f.Helper()
	f.write(func(ctx context.Context, st outbound.Stores) error { return st.Usage.Log.Add(ctx, owner, day, c) })
}

func (f fixture) fold(limit int) (n int) {
	f.Helper()
	f.write(func(ctx context.Context, st outbound.Stores) (err error) {
		n, _, err = st.Usage.Folding.Fold(ctx, limit)
		return err
	})
	return n
}

// Usage is the contract of outbound.UsageStores, and of what other repositories count.
func Usage(t *testing.T, open OpenStore) {
	cases(t, open, usageCounted)
	cases(t, open, usageFolded)
	cases(t, open, usageRecounted)
	cases(t, open, usageBudgets)
}

var usageCounted = map[string]func(f fixture){
	"runs count when they were created, of their tenant, and not twice for a dedupe key": func(f fixture) {
		owner, other := f.tenant().ID(), f.tenant().ID()
		key := func(st *run.State) { st.Trigger, st.DedupeKey = "trg_1", "k" }
		first := f.started(owner, key)
		f.starts(pending(owner, key))
		f.start(pending(owner, func(st *run.State) { st.CreatedAt = noon.AddDate(0, 0, 1) }), pending(owner, func(st *run.State) { st.Parent, st.ParentNode = first.ID(), "n" }))
		f.same([]usage.Daily{{Day: today, Counts: usage.Counts{Started: 2, Children: 1}}, {Day: "2026-11-22", Counts: usage.Counts{Started: 1}}}, f.days(owner, longBefore, longAfter))
		f.same(usage.Counts{}, f.counted(other))
	},
	"what histories say counts when it happened, and again after a retry": func(f fixture) {
		owner := f.tenant().ID()
		r := f.started(owner)
		say := func(change func(*run.State), said ...run.EntryType) {
			s := stepped(r, outbound.RunLease{}, change)
			s.History = nil
			for i, what := range said {
				s.History = append(s.History, run.Entry{Seq: s.Run.Seq()*10 + int64(i), At: noon, Type: what})
			}
			if err := f.tryStep(s); err != nil {
				f.Fatal(err)
			}
			r = s.Run
		}
		say(hasEnded, run.EntryNodeStarted, run.EntryNodeFailed, run.EntryNodeStarted, run.EntryRunFailed)
		say(func(st *run.State) { st.FinishedAt = nil }, run.EntryRunRetried, run.EntryNodeStarted)
		say(hasEnded, run.EntryRunCompleted)
		say(func(*run.State) {}, run.EntryRunCancelled)
		f.same(usage.Counts{Started: 1, NodeAttempts: 3, Failed: 1, Completed: 1, Cancelled: 1}, f.counted(owner))
	},
	"deliveries to hooks count by whether their sender is known, and repeats do not": func(f fixture) {
		h := f.hooked()
		own := func(verdict hook.Verdict) *hook.Received {
			d := hookDelivery(h, 0, verdict)
			d.ReplayOf = ""
			return d
		}
		f.addDeliveries(own(hook.Accepted), own(hook.Filtered), own(hook.RefusedSender), hookDelivery(h, 0, hook.Accepted))
		f.same(usage.Counts{HooksAccepted: 2, HooksRefused: 1}, f.counted(h.Tenant()))
	},
	"a unit that does not commit counts nothing": func(f fixture) {
		owner := f.tenant().ID()
		err := f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
			if _, err := st.Runs.Runs.Start(ctx, pending(owner)); err != nil {
				return err
			}
			return domain.Fail(domain.Conflict, "no", "No.")
		})
		f.wantError(err, domain.Conflict, "no")
		f.same(usage.Counts{}, f.counted(owner))
	},
}

var usageFolded = map[string]func(f fixture){
	"every count comes back, by days, before and after it was folded": func(f fixture) {
		owner, other := f.tenant().ID(), f.tenant().ID()
		var c usage.Counts
		for i, n := range c.Fields() {
			*n = int64(i + 1)
		}
		f.add(owner, today, c)
		f.add(owner, "2026-11-22", usage.Counts{Requests: 1})
		f.add(other, today, usage.Counts{Requests: 7})
		want := []usage.Daily{{Day: today, Counts: c}}
		f.same(want, f.days(owner, today, "2026-11-22"))
		for _, folded := range []int{2, 1, 0} {
			if n := f.fold(2); n != folded {
				f.Errorf("%d are folded and not %d", n, folded)
			}
			f.same(want, f.days(owner, today, "2026-11-22"))
		}
		f.add(owner, today, c)
		f.fold(9)
		c.Add(c)
		f.same([]usage.Daily{{Day: today, Counts: c}}, f.days(owner, today, "2026-11-22"))
		f.same(usage.Counts{Requests: 7}, f.counted(other))
	},
	"of a tenant that is gone nothing is kept": func(f fixture) {
		owner := f.tenant().ID()
		f.started(owner)
		f.write(func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Delete(ctx, owner) })
		f.add(owner, today, usage.Counts{Requests: 1})
		f.fold(9)
		f.same(usage.Counts{}, f.counted(owner))
		f.read(func(ctx context.Context, st outbound.Stores) error {
			waits, err := st.Usage.Folding.Waiting(ctx)
			f.same(false, waits)
			return err
		})
	},
	"units that count and fold at the same time lose nothing": func(f fixture) {
		owner := f.tenant().ID()
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 10 {
					f.add(owner, today, usage.Counts{Requests: 1})
				}
			})
			all.Go(func() {
				for range 5 {
					f.write(func(ctx context.Context, st outbound.Stores) error {
						_, ok, err := st.Usage.Folding.Hold(ctx)
						if err != nil || !ok {
							return err
						}
						_, _, err = st.Usage.Folding.Fold(ctx, 3)
						return err
					})
				}
			})
		}
		all.Wait()
		f.same(usage.Counts{Requests: 80}, f.counted(owner))
	},
	"what is kept is that of a day, and stays until something else is noted": func(f fixture) {
		owner := f.tenant().ID()
		note := func(day usage.Day, at time.Time) {
			f.write(func(ctx context.Context, st outbound.Stores) error { return st.Usage.Folding.NoteKept(ctx, day, at) })
		}
		r := f.started(owner)
		kept := int64(len(r.Payload())) + storedProgress(run.Progress{})
		note(today, noon)
		f.started(owner)
		note("2026-11-23", noon.Add(time.Hour))
		both := 2 * kept
		of := func(day usage.Day, bytes int64) usage.Daily { return usage.Daily{Day: day, BytesKept: &bytes} }
		f.same([]usage.Daily{of(today, kept), of("2026-11-23", both)}, f.days(owner, "2026-11-22", "2026-11-24"))
		f.read(func(ctx context.Context, st outbound.Stores) error {
			now, err := st.Usage.Log.Kept(ctx, owner)
			f.same(both, now)
			return err
		})
		f.write(func(ctx context.Context, st outbound.Stores) error {
			at, ok, err := st.Usage.Folding.Hold(ctx)
			f.same(true, ok)
			f.same(noon.Add(time.Hour), at)
			return err
		})
	},
}

// recount compares what was counted of a tenant with its records.
func (f fixture) recount(owner tenant.ID) (recorded usage.Counts) {
	f.Helper()
	f.read(func(ctx context.Context, st outbound.Stores) error {
		counted, err := st.Usage.Recount.Counted(ctx, owner)
		if err != nil {
			return err
		}
		days, err := st.Usage.Recount.Recorded(ctx, owner)
		if err != nil {
			return err
		}
		for _, d := range usage.Compare(owner, longBefore, counted, days) {
			f.Errorf("counted and not recorded: %+v", d)
		}
		for _, c := range days {
			recorded.Add(c)
		}
		kept, err := st.Usage.Log.Kept(ctx, owner)
		if err != nil {
			return err
		}
		bytes, err := st.Usage.Recount.RecordedBytes(ctx, owner)
		f.same(kept, bytes)
		return err
	})
	return recorded
}

var usageRecounted = map[string]func(f fixture){
	"runs are what was counted, also when some are removed, before and after it was folded": func(f fixture) {
		owner := f.tenant().ID()
		var ended []*run.Run
		for range 3 {
			r := f.started(owner, having(sharedText(99)))
			s := stepped(r, outbound.RunLease{}, hasEnded)
			s.History = append(s.History, run.Entry{Seq: 90, At: noon.AddDate(0, 0, 1), Type: run.EntryRunFailed})
			f.mustStep(s)
			ended = append(ended, s.Run)
		}
		f.started(owner, func(st *run.State) { st.Parent, st.ParentNode = ended[0].ID(), "n" })
		f.same(usage.Counts{Started: 4, Children: 1, NodeAttempts: 3, Failed: 3}, f.recount(owner))
		used := f.counted(owner)
		if n := f.sweep(owner, 2); n != 2 {
			f.Fatalf("%d are removed", n)
		}
		f.same(usage.Counts{Started: 2, Children: 1, NodeAttempts: 1, Failed: 1}, f.recount(owner))
		f.fold(99)
		f.same(usage.Counts{Started: 2, Children: 1, NodeAttempts: 1, Failed: 1}, f.recount(owner))
		f.same(used, f.counted(owner))
	},
	"deliveries to hooks are, also when some are removed": func(f fixture) {
		h := f.hooked()
		for n, verdict := range []hook.Verdict{hook.Accepted, hook.RefusedSender, hook.Accepted} {
			d := hookDelivery(h, n, verdict)
			d.ReplayOf = ""
			f.addDeliveries(d)
		}
		f.addDeliveries(hookDelivery(h, 9, hook.Accepted))
		f.same(usage.Counts{HooksAccepted: 2, HooksRefused: 1}, f.recount(h.Tenant()))
		f.write(func(ctx context.Context, st outbound.Stores) error {
			_, err := st.Hooks.Deliveries.Sweep(ctx, h.Tenant(), noon.Add(time.Millisecond), 1)
			return err
		})
		f.same(usage.Counts{HooksAccepted: 1, HooksRefused: 1}, f.recount(h.Tenant()))
		f.same(usage.Counts{HooksAccepted: 2, HooksRefused: 1}, f.counted(h.Tenant()))
	},
	"a new installation counts from the beginning": func(f fixture) {
		f.read(func(ctx context.Context, st outbound.Stores) error {
			since, err := st.Usage.Recount.Since(ctx)
			f.same(longBefore, since)
			return err
		})
	},
}

// UnreadableHistories is the contract of what removes and recounts runs whose histories cannot be
// read: they are removed with the others, and count as nothing.
func UnreadableHistories(t *testing.T, open func(t *testing.T) DamageableStore) {
	store := open(t)
	f := fixture{t, store}
	owner := f.tenant().ID()
	for _, entries := range []string{`x`, `{}`, `["\u0000"]`, `[{"type":"run.completed"}]`} {
		s := stepped(f.started(owner), outbound.RunLease{}, hasEnded)
		f.mustStep(s)
		if err := store.Exec(fmt.Sprintf(`UPDATE run_history SET entries = '%s' WHERE run_id = '%s'`, entries, s.Run.ID())); err != nil {
			t.Fatal(err)
		}
	}
	f.mustStep(stepped(f.started(owner), outbound.RunLease{}, hasEnded))
	var got usage.Counts
	f.read(func(ctx context.Context, st outbound.Stores) error {
		days, err := st.Usage.Recount.Recorded(ctx, owner)
		for _, c := range days {
			got.Add(c)
		}
		return err
	})
	if got.Started != 5 || got.NodeAttempts != 1 {
		t.Errorf("%+v are recounted", got)
	}
	if n := f.sweep(owner, 9); n != 5 {
		t.Errorf("%d of 5 are removed", n)
	}
}
