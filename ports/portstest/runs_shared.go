package portstest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/outbound"
)

// sharedText is a payload that is worth sharing.
func sharedText(n int) json.RawMessage { return json.RawMessage(`"é` + strings.Repeat("x", n) + `"`) }

func having(payload json.RawMessage) func(*run.State) {
	return func(st *run.State) { st.Payload = payload }
}

func hasEnded(st *run.State) { st.Status, st.FinishedAt = run.StatusCompleted, &noon }

// tryShared starts runs that share their payload.
func (f fixture) tryShared(id outbound.PayloadID, runs ...*run.Run) (started []outbound.StartedRun, err error) {
	err = f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) (err error) {
		started, err = st.Runs.Shared.Start(ctx, id, runs...)
		return err
	})
	return started, err
}

func (f fixture) shared(id outbound.PayloadID, runs ...*run.Run) []outbound.StartedRun {
	f.Helper()
	started, err := f.tryShared(id, runs...)
	if err != nil {
		f.Fatal(err)
	}
	return started
}

func (f fixture) claims(c outbound.RunClaim) (leased []outbound.LeasedRun) {
	f.Helper()
	f.write(func(ctx context.Context, st outbound.Stores) (err error) {
		leased, err = st.Runs.Queue.Claim(ctx, c)
		return err
	})
	return leased
}

// sweep removes runs that are over.
func (f fixture) sweep(owner tenant.ID, limit int) (n int) {
	f.Helper()
	f.write(func(ctx context.Context, st outbound.Stores) (err error) {
		swept, err := st.Runs.Overview.Sweep(ctx, outbound.RunSweep{Tenant: owner, Before: noon.Add(time.Minute), Limit: limit})
		n = len(swept)
		return err
	})
	return n
}

// SharedPayloads is the contract of outbound.SharedPayloads.
func SharedPayloads(t *testing.T, open OpenStore) {
	cases(t, open, sharedByRuns())
	cases(t, open, sharedAtOnce())
}

// sharedByRuns are claims about the runs of a payload.
func sharedByRuns() map[string]func(f fixture) {
	return map[string]func(f fixture){
		"each run comes back with the payload, however it is read": func(f fixture) {
			owner, text := f.tenant().ID(), sharedText(5000)
			full := runState(owner)
			full.Payload = text
			runs := []*run.Run{pending(owner, having(text)), pending(owner, having(text)), run.Restore(full)}
			for i, s := range f.shared("pay_1", runs...) {
				f.same(outbound.StartedRun{ID: runs[i].ID(), Added: true}, s)
				f.holds(runs[i].State())
			}
			leased := f.claims(outbound.RunClaim{Worker: "w", Period: time.Hour, Limit: 9, PerTenant: 9})
			for _, l := range leased {
				if string(l.Run.Payload()) != string(text) || l.Size != int64(len(text))+storedProgress(l.Run.State().Progress) {
					f.Errorf("%d bytes are leased, of %d", len(l.Run.Payload()), l.Size)
				}
			}
			if len(leased) != 2 {
				f.Errorf("%d are leased", len(leased))
			}
		},
		"each run that is claimed weighs as much as the payload": func(f fixture) {
			owner, text := f.tenant().ID(), sharedText(5000)
			f.shared("pay_1", pending(owner, having(text)), pending(owner, having(text)), pending(owner, having(text)))
			if leased := f.claims(outbound.RunClaim{Worker: "w", Period: time.Hour, Limit: 9, PerTenant: 9, Bytes: 6000}); len(leased) != 2 {
				f.Errorf("%d are leased", len(leased))
			}
		},
		"a step leaves the payload as it is": func(f fixture) {
			r := pending(f.tenant().ID(), having(sharedText(5000)))
			f.shared("pay_1", r)
			f.holds(f.step(r, outbound.RunLease{}, func(st *run.State) { st.Status = run.StatusRunning }).State())
		},
		"units that go on with the payload keep it once": func(f fixture) {
			owner, text := f.tenant().ID(), sharedText(100_000)
			for range 3 {
				f.shared("pay_1", pending(owner, having(text)), pending(owner, having(text)))
			}
			if got := f.kept(owner); got < int64(len(text)) || got > int64(len(text))+6*1000 {
				f.Errorf("%d bytes are kept", got)
			}
		},
		"an identifier stands for another payload with another tenant": func(f fixture) {
			a, b := pending(f.tenant().ID(), having(sharedText(2000))), pending(f.tenant().ID(), having(sharedText(3000)))
			f.shared("pay_1", a)
			f.shared("pay_1", b)
			f.holds(a.State())
			f.holds(b.State())
		},
		"a dedupe key stands for the first run, and the payload of none is not kept": func(f fixture) {
			owner := f.tenant().ID()
			first := f.started(owner, keyed("trg_1", "k", noon))
			before := f.kept(owner)
			f.same([]outbound.StartedRun{{ID: first.ID()}}, f.shared("pay_1", pending(owner, having(sharedText(5000)), keyed("trg_1", "k", noon))))
			if got := f.kept(owner); got != before {
				f.Errorf("%d bytes are kept, %d before", got, before)
			}
		},
		"the payload goes with the last run": func(f fixture) {
			owner, text := f.tenant().ID(), sharedText(100_000)
			last := pending(owner, having(text))
			f.shared("pay_1", pending(owner, having(text), hasEnded), pending(owner, having(text), hasEnded), last)
			for f.sweep(owner, 1) > 0 {
			}
			f.holds(last.State())
			f.step(last, outbound.RunLease{}, hasEnded)
			f.sweep(owner, 9)
			if got := f.kept(owner); got != 0 {
				f.Errorf("%d bytes are kept of nothing", got)
			}
			again := pending(owner, having(text)) // whoever still knows the identifier brings the payload along
			f.shared("pay_1", again)
			f.holds(again.State())
		},
	}
}

// sharedAtOnce are claims about units that share a payload at the same time.
func sharedAtOnce() map[string]func(f fixture) {
	return map[string]func(f fixture){
		"two sweeps at the same time leave no payload behind": func(f fixture) {
			owner, text := f.tenant().ID(), sharedText(2000)
			for n := range 20 {
				f.shared(outbound.PayloadID(fmt.Sprint("pay_", n)), pending(owner, having(text), hasEnded), pending(owner, having(text), hasEnded))
				var all sync.WaitGroup
				for range 2 {
					all.Go(func() {
						for f.sweep(owner, 1) > 0 {
						}
					})
				}
				all.Wait()
			}
			if got := f.kept(owner); got != 0 {
				f.Errorf("%d bytes are kept of nothing", got)
			}
		},
		"a run that is added while the last other one goes has its payload": func(f fixture) {
			owner, text := f.tenant().ID(), sharedText(2000)
			for n := range 20 {
				id := outbound.PayloadID(fmt.Sprint("pay_", n))
				f.shared(id, pending(owner, having(text), hasEnded))
				next := pending(owner, having(text))
				var all sync.WaitGroup
				all.Go(func() { f.sweep(owner, 9) })
				all.Go(func() { _, _ = f.tryShared(id, next) }) // whether it is there is seen below
				all.Wait()
				f.holds(next.State())
			}
		},
		"of many units that bring a payload one adds it": func(f fixture) {
			owner, text := f.tenant().ID(), sharedText(100_000)
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					if _, err := f.tryShared("pay_1", pending(owner, having(text))); err != nil {
						f.Error(err)
					}
				})
			}
			all.Wait()
			if got := f.kept(owner); got < int64(len(text)) || got > int64(len(text))+8*1000 {
				f.Errorf("%d bytes are kept", got)
			}
		},
		"a unit that fails keeps nothing": func(f fixture) {
			owner := f.tenant().ID()
			err := f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
				_, err := st.Runs.Shared.Start(ctx, "pay_1", pending(owner, having(sharedText(5000))))
				return errors.Join(err, errOnPurpose)
			})
			if got := f.kept(owner); !errors.Is(err, errOnPurpose) || got != 0 {
				f.Errorf("%d bytes are kept, %v", got, err)
			}
		},
		"nothing is started where nothing may be written, and no run is fine": func(f fixture) {
			r := pending(f.tenant().ID(), having(sharedText(5000)))
			err := f.work.View(f.Context(), func(ctx context.Context, st outbound.Stores) error {
				_, err := st.Runs.Shared.Start(ctx, "pay_1", r)
				return err
			})
			if err == nil {
				f.Error("it could")
			}
			f.wantError(errorOf(f.getRun(r.Tenant(), r.ID())), domain.NotFound, "run_not_found")
			if started := f.shared("pay_1"); len(started) > 0 {
				f.Errorf("%v", started)
			}
		},
		"payloads go with their tenant": func(f fixture) {
			owner, text := f.tenant().ID(), sharedText(5000)
			f.shared("pay_1", pending(owner, having(text)), pending(owner, having(text)))
			f.write(func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Delete(ctx, owner) })
			again, err := tenant.New(owner, tenant.Draft{Name: "Acme"}, noon)
			if err != nil {
				f.Fatal(err)
			}
			f.write(func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Insert(ctx, again) })
			if got := f.kept(owner); got != 0 {
				f.Errorf("%d bytes are kept of nothing", got)
			}
		},
	}
}

// kept is how many bytes are kept for a tenant.
func (f fixture) kept(owner tenant.ID) int64 {
	f.Helper()
	ver := f.published(owner, "")
	trg := f.listening(ver, newID("event"))
	return f.keptOf(trg)[owner]
}

// keptOf asks in every way how much is kept for the tenant of a trigger; those of whom
// nothing is are left out.
func (f fixture) keptOf(trg *trigger.Trigger) map[tenant.ID]int64 {
	f.Helper()
	owner, answers := trg.Tenant(), make(map[int64]bool)
	f.write(func(ctx context.Context, st outbound.Stores) error {
		one, err := st.Firing.Trigger(ctx, tenant.All(owner), trg.ID())
		if err != nil {
			return err
		}
		answers[one.StoredBytes] = true
		each, err := st.Firing.Triggers(ctx, []outbound.TriggerKey{outbound.KeyOf(trg)})
		if err != nil {
			return err
		}
		answers[each[0].StoredBytes] = true
		ver, err := st.Firing.Version(ctx, tenant.All(owner), one.Workflow, "")
		answers[ver.StoredBytes] = true
		return err
	})
	if len(answers) != 1 {
		f.Errorf("the answers differ: %v", answers)
	}
	all := make(map[tenant.ID]int64)
	for kept := range answers {
		if kept != 0 {
			all[owner] = kept
		}
	}
	return all
}
