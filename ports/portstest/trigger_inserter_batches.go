package portstest

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/audit"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// inserterBatches is what happens to triggers that are inserted together.
func inserterBatches(t *testing.T, open OpenInserters) {
	failingBatches(t, open)
	inserterCases(t, open, map[string]func(f inserterFixture){
		"the audit log has the entries of those that are added, and of no other": func(f inserterFixture) {
			ver := f.newVersion()
			gone := f.newTrigger(ver, "c").State()
			gone.Version = "wfv_absent"
			first, second, none := f.newTrigger(ver, "a"), f.newTrigger(ver, "b"), trigger.Restore(gone)
			var all []*outbound.NewTrigger
			var want []audit.Entry
			for i, trg := range []*trigger.Trigger{first, second, none, f.newTrigger(ver, "without")} {
				key := domain.IdempotencyKey{}
				if i == 1 {
					key = onceWith("k", "same")
				}
				e := f.entry(trg, key)
				if i < 3 {
					recorded := entry(trg.Tenant(), 0, func(_ *audit.Act, on *audit.Target) { *on = audit.Target{Kind: "trigger", ID: string(trg.ID())} })
					recorded.At = trg.CreatedAt()
					if e.Entry = &recorded; i < 2 {
						want = append(want, recorded)
					}
				}
				all = append(all, e)
			}
			f.inserts(all)
			f.inserts(all[1:2]) // a repeat
			f.read(func(ctx context.Context, st outbound.Stores) error {
				found, err := st.Audit.Log.After(ctx, ver.Tenant(), audit.Filter{}, outbound.AuditPlace{}, 10)
				if diff := cmp.Diff(want, found); diff != "" {
					f.Error(diff)
				}
				return err
			})
		},
		"none at all are no error": func(f inserterFixture) {
			f.inserts(nil)
		},
		"each of a batch, of several tenants, has its own outcome": func(f inserterFixture) {
			versions := []*workflow.Version{f.newVersion(), f.newVersion(), f.newVersion()}
			var all []*outbound.NewTrigger
			for i := range manyRequests {
				st := f.newTrigger(versions[i%3], fmt.Sprint("trigger ", i)).State()
				if i%10 == 9 {
					st.Version = "wfv_absent"
				}
				var idempotency domain.IdempotencyKey
				if i%2 == 0 {
					idempotency = answering(fmt.Sprint("k", i), "same")
				}
				all = append(all, f.entry(trigger.Restore(st), idempotency))
			}
			f.inserts(all)
			wanted := make(map[tenant.ID]int)
			for i, e := range all {
				if there := i%10 != 9; e.Added != there {
					f.Errorf("trigger %d: added is %v", i, e.Added)
				} else if there {
					wanted[e.Trigger.Tenant()]++
					f.wantStored(e.Trigger)
				}
			}
			for owner, n := range wanted {
				f.wantTotal(owner, n)
			}
			f.inserts(all[9:10]) // what is left out once is so again
			if all[9].Added {
				f.Error("a trigger without a version was added")
			}
		},
		"of those with one key the first is added, whatever comes between": func(f inserterFixture) {
			ver, other := f.newVersion(), f.newVersion()
			all := []*outbound.NewTrigger{
				f.entry(f.newTrigger(ver, "First"), answering("k", "same")), f.entry(f.newTrigger(ver, "Without"), domain.IdempotencyKey{}),
				f.entry(f.newTrigger(ver, "Second"), answering("k", "same")), f.entry(f.newTrigger(other, "Other"), answering("k", "same")),
				f.entry(f.newTrigger(ver, "Third"), answering("k", "other")),
			}
			f.inserts(all)
			var added []string
			for _, e := range all {
				if e.Added {
					added = append(added, e.Trigger.Name())
				}
			}
			f.same([]string{"First", "Without", "Other"}, added)
			f.wantReplayOf(ver.Tenant(), "First", noon)
			f.wantTotal(ver.Tenant(), 2)
			f.wantTotal(other.Tenant(), 1)
		},
		"some calls at the same time are of use": func(f inserterFixture) {
			if n := f.here.Parallel(); n < 1 || n > 16 {
				f.Errorf("%d are", n)
			}
		},
	})
}

func failingBatches(t *testing.T, open OpenInserters) {
	inserterCases(t, open, map[string]func(f inserterFixture){
		"one that the database refuses says of none that it was added which was not": func(f inserterFixture) {
			ver := f.newVersion()
			var all []*outbound.NewTrigger
			for i := range 40 {
				st := f.newTrigger(ver, "Orders").State()
				if i == 27 {
					st.Name = "a\x00b" // no text in PostgreSQL
				}
				all = append(all, f.entry(trigger.Restore(st), domain.IdempotencyKey{}))
				all[i].Added = true // of an earlier time
			}
			f.inserts(all)
			added := 0
			for i, e := range all {
				_, missing := f.getTrigger(ver.Tenant(), e.Trigger.ID())
				if e.Added != (missing == nil) {
					f.Errorf("trigger %d: added is %v, and %v", i, e.Added, missing)
				}
				if e.Added {
					added++
				}
			}
			f.wantTotal(ver.Tenant(), added)
		},
		"an error of a store that is busy leaves nothing reported as added": func(f inserterFixture) {
			gone, cancel := context.WithCancel(f.Context())
			cancel()
			ver := f.newVersion()
			all := []*outbound.NewTrigger{f.entry(f.newTrigger(ver, "Orders"), domain.IdempotencyKey{}), f.entry(f.newTrigger(ver, "Orders"), domain.IdempotencyKey{})}
			err := f.here.Insert(gone, all)
			if err == nil || all[0].Added || all[1].Added {
				f.Errorf("%v, %v: %v", all[0].Added, all[1].Added, err)
			}
		},
	})
}

func (f inserterFixture) entry(trg *trigger.Trigger, idempotency domain.IdempotencyKey) *outbound.NewTrigger {
	f.Helper()
	e, err := newEntry(trg, idempotency)
	if err != nil {
		f.Fatal(err)
	}
	return e
}

func (f inserterFixture) inserts(all []*outbound.NewTrigger) {
	f.Helper()
	if err := f.here.Insert(f.Context(), all); err != nil {
		f.Fatal(err)
	}
}
