package portstest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// OpenInserters opens an empty store and two inserters into it, each as a process of its
// own would have it. They are closed when the test ends.
type OpenInserters func(t *testing.T) (work outbound.UnitOfWork, here, there outbound.TriggerInserter)

// inserterFixture is a store with two inserters.
type inserterFixture struct {
	fixture
	here, there outbound.TriggerInserter
}

func inserterCases(t *testing.T, open OpenInserters, claims map[string]func(f inserterFixture)) {
	t.Helper()
	for claim, check := range claims {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			work, here, there := open(t)
			check(inserterFixture{fixture{t, work}, here, there})
		})
	}
}

// manyRequests is how many requests arrive at the same time.
const manyRequests = 200

// TriggerInserter is the contract of outbound.TriggerInserter.
func TriggerInserter(t *testing.T, open OpenInserters) {
	t.Run("Effect", func(t *testing.T) { inserterEffect(t, open) })
	t.Run("Keys", func(t *testing.T) { inserterKeys(t, open) })
	t.Run("Backlog", func(t *testing.T) { inserterBacklog(t, open) })
	t.Run("Batches", func(t *testing.T) { inserterBatches(t, open) })
}

// inserterEffect is what one trigger leaves behind.
func inserterEffect(t *testing.T, open OpenInserters) {
	inserterCases(t, open, map[string]func(f inserterFixture){
		"every field comes back, with a key and without": func(f inserterFixture) {
			ver := f.newVersion()
			for _, idempotency := range []domain.IdempotencyKey{{}, onceWith("k", "same")} {
				trg := f.newTrigger(ver, "Morgens früh")
				f.wantResult(trg, idempotency, true)
				f.wantStored(trg)
			}
		},
		"an active schedule is due, as that of a unit is": func(f inserterFixture) {
			ver := f.newVersion()
			f.publish(ver)
			trg := f.newTrigger(ver, "Morgens früh")
			f.wantResult(trg, domain.IdempotencyKey{}, true)
			f.write(func(ctx context.Context, st outbound.Stores) error {
				found, err := st.Schedules.Due(ctx, noon.AddDate(0, 0, 1), 9)
				if err == nil && (len(found) != 1 || found[0].Trigger.ID() != trg.ID()) {
					f.Errorf("due are %+v", found)
				}
				return err
			})
		},
		"the total counts it": func(f inserterFixture) {
			ver := f.newVersion()
			for range 3 {
				f.wantResult(f.newTrigger(ver, "Orders"), domain.IdempotencyKey{}, true)
			}
			f.wantTotal(ver.Tenant(), 3)
		},
		"a version that is not there, or is another tenant's, is left to a unit": func(f inserterFixture) {
			mine, other := f.newVersion(), f.newVersion()
			for claim, version := range map[string]workflow.VersionID{"absent": "wfv_absent", "of another tenant": other.ID()} {
				st := f.newTrigger(mine, "Orders").State()
				st.Version = version
				f.wantResult(trigger.Restore(st), onceWith(claim, "same"), false)
				f.wantResult(trigger.Restore(st), domain.IdempotencyKey{}, false)
				f.wantFree(mine.Tenant(), onceWith(claim, "same"))
			}
			f.wantTotal(mine.Tenant(), 0)
			f.wantTotal(other.Tenant(), 0)
		},
		"the verdict is true to the effect although the client is gone": func(f inserterFixture) {
			ver := f.newVersion()
			gone, cancel := context.WithCancel(f.Context())
			cancel()
			trg := f.newTrigger(ver, "Orders")
			done, err := insert(gone, f.here, trg, onceWith("k", "same"))
			_, missing := f.getTrigger(trg.Tenant(), trg.ID())
			if err == nil && done != (missing == nil) {
				f.Errorf("done is %v, and the trigger: %v", done, missing)
			}
		},
	})
}

// inserterKeys is what idempotency keys do.
func inserterKeys(t *testing.T, open OpenInserters) {
	inserterCases(t, open, map[string]func(f inserterFixture){
		"a unit replays the outcome, and the inserter leaves a repeat to it": func(f inserterFixture) {
			ver := f.newVersion()
			f.wantResult(f.newTrigger(ver, "Orders"), answering("k", "same"), true)
			f.wantResult(f.newTrigger(ver, "Orders"), answering("k", "same"), false)
			f.wantResult(f.newTrigger(ver, "Orders"), answering("k", "other"), false)
			f.wantReplayOf(ver.Tenant(), "Orders", noon.Add(23*time.Hour))
			err := f.do(ver.Tenant(), answering("k", "other"), noon, func() {})
			f.wantError(err, domain.Invalid, "idempotency_key_reused")
			f.wantTotal(ver.Tenant(), 1)
		},
		"the outcome of a unit is respected": func(f inserterFixture) {
			ver := f.newVersion()
			if err := f.do(ver.Tenant(), onceWith("k", "same"), noon, func() {}); err != nil {
				f.Fatal(err)
			}
			f.wantResult(f.newTrigger(ver, "Orders"), onceWith("k", "same"), false)
			f.wantReplay(f.do(ver.Tenant(), onceWith("k", "same"), noon, func() {}))
			f.wantTotal(ver.Tenant(), 0)
		},
		"an outcome that has expired is replaced, one that is about to is not": func(f inserterFixture) {
			ver := f.newVersion()
			f.wantResult(f.newTrigger(ver, "First"), answering("k", "same"), true)
			for _, c := range []struct {
				age  time.Duration
				name string
				done bool
			}{{domain.IdempotencyRetention - time.Millisecond, "Second", false}, {domain.IdempotencyRetention, "Third", true}} {
				st := f.newTrigger(ver, c.name).State()
				st.CreatedAt = noon.Add(c.age)
				st.UpdatedAt, st.ActivatedAt = st.CreatedAt, st.CreatedAt
				f.wantResult(trigger.Restore(st), answering("k", "same"), c.done)
			}
			f.wantReplayOf(ver.Tenant(), "Third", noon.Add(domain.IdempotencyRetention+time.Hour))
			f.wantTotal(ver.Tenant(), 2)
		},
		"another tenant and another scope are free": func(f inserterFixture) {
			ver, other := f.newVersion(), f.newVersion()
			elsewhere := onceWith("k", "same")
			elsewhere.Scope = "POST /others"
			f.wantResult(f.newTrigger(ver, "Orders"), onceWith("k", "same"), true)
			f.wantResult(f.newTrigger(ver, "Orders"), elsewhere, true)
			f.wantResult(f.newTrigger(other, "Orders"), onceWith("k", "same"), true)
		},
		"of many with one key, in two processes and next to units, one takes effect": func(f inserterFixture) {
			ver := f.newVersion()
			effects := f.together(60, func(i int) bool {
				trg := f.newTrigger(ver, "Orders")
				inserter := []outbound.TriggerInserter{f.here, f.there, nil}[i%3]
				if inserter != nil {
					done, err := insert(f.Context(), inserter, trg, onceWith("k", "same"))
					if err != nil {
						f.Error(err)
					}
					return done
				}
				return f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
					if err := st.Idempotency.Claim(ctx, trg.Tenant(), onceWith("k", "same"), noon); err != nil {
						return err
					}
					return errors.Join(st.Triggers.Insert(ctx, trg), st.Idempotency.Record(ctx, trg.Tenant(), onceWith("k", "same"), trg, noon))
				}) == nil
			})
			if len(effects) != 1 {
				f.Errorf("%d say that they took effect", len(effects))
			}
			f.wantTotal(ver.Tenant(), 1)
		},
	})
}

// inserterBacklog is what happens when many ask at once.
func inserterBacklog(t *testing.T, open OpenInserters) {
	inserterCases(t, open, map[string]func(f inserterFixture){
		"each of many, of several tenants, gets its own verdict": func(f inserterFixture) {
			versions := []*workflow.Version{f.newVersion(), f.newVersion(), f.newVersion()}
			all := make([]*trigger.Trigger, manyRequests)
			for i := range all {
				st := f.newTrigger(versions[i%3], fmt.Sprint("trigger ", i)).State()
				if i%10 == 9 {
					st.Version = "wfv_absent"
				}
				all[i] = trigger.Restore(st)
			}
			said := f.together(manyRequests, func(i int) bool {
				var idempotency domain.IdempotencyKey
				if i%2 == 0 {
					idempotency = answering(fmt.Sprint("k", i), "same")
				}
				done, err := insert(f.Context(), []outbound.TriggerInserter{f.here, f.here, f.there}[i%3], all[i], idempotency)
				if err != nil {
					f.Errorf("trigger %d: %v", i, err)
				}
				return done
			})
			wanted := make(map[tenant.ID]int)
			for i, trg := range all {
				if there := i%10 != 9; said[i] != there {
					f.Errorf("trigger %d: done is %v", i, said[i])
				} else if there {
					wanted[trg.Tenant()]++
					f.wantStored(trg)
				}
			}
			for owner, n := range wanted {
				f.wantTotal(owner, n)
			}
		},
		"pairs that arrive at once, again and again, are told the truth": func(f inserterFixture) {
			ver := f.newVersion()
			const rounds = 100
			for range rounds {
				if said := f.together(2, func(int) bool {
					done, err := insert(f.Context(), f.here, f.newTrigger(ver, "Orders"), domain.IdempotencyKey{})
					if err != nil {
						f.Error(err)
					}
					return done
				}); len(said) != 2 {
					f.Fatalf("of two %d say that they took effect", len(said))
				}
			}
			f.wantTotal(ver.Tenant(), 2*rounds)
		},
		"those that the database refuses leave the others unharmed": func(f inserterFixture) {
			ver := f.newVersion()
			all, suspect := make([]*trigger.Trigger, 40), map[int]bool{3: true, 7: true, 27: true}
			for i := range all {
				st := f.newTrigger(ver, "Orders").State()
				if suspect[i] {
					st.Name = "a\x00b" // no text in PostgreSQL
				}
				all[i] = trigger.Restore(st)
			}
			made := f.together(len(all), func(i int) bool {
				done, err := insert(f.Context(), f.here, all[i], domain.IdempotencyKey{})
				if err == nil && !done { // as the application goes on
					err = f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error { return st.Triggers.Insert(ctx, all[i]) })
				}
				if err != nil && !suspect[i] {
					f.Errorf("trigger %d: %v", i, err)
				}
				return err == nil
			})
			want := len(all)
			if !made[3] {
				want -= len(suspect)
			}
			if len(made) != want {
				f.Errorf("%d were made, not %d: %v", len(made), want, made)
			}
			f.wantTotal(ver.Tenant(), len(made))
		},
	})
}

// ReinsertedTriggers is what is asked besides of an inserter whose statements may be sent
// again by themselves: a trigger that is there by the first of them was added.
func ReinsertedTriggers(t *testing.T, open OpenInserters) {
	inserterCases(t, open, map[string]func(f inserterFixture){
		"one alone": func(f inserterFixture) {
			trg := f.newTrigger(f.newVersion(), "Orders")
			f.wantResult(trg, domain.IdempotencyKey{}, true)
			f.wantResult(trg, domain.IdempotencyKey{}, true)
			f.wantTotal(trg.Tenant(), 1)
		},
		"among others": func(f inserterFixture) {
			ver := f.newVersion()
			all := make([]*trigger.Trigger, 60)
			for i := range all {
				all[i] = f.newTrigger(ver, "Orders")
				if i%4 == 0 {
					f.wantResult(all[i], domain.IdempotencyKey{}, true)
				}
			}
			var batch []*outbound.NewTrigger
			for _, trg := range all {
				batch = append(batch, &outbound.NewTrigger{Trigger: trg})
			}
			if err := f.here.Insert(f.Context(), batch); err != nil {
				f.Fatal(err)
			}
			for i, e := range batch {
				there := i%4 == 0
				if there && !e.Added {
					f.Errorf("trigger %d was there, and is not reported as added", i)
				}
				if !e.Added { // it fell with its batch, as the application goes on
					f.write(func(ctx context.Context, st outbound.Stores) error { return st.Triggers.Insert(ctx, all[i]) })
				}
			}
			f.wantTotal(ver.Tenant(), len(all))
		},
	})
}

// insert adds one trigger and says whether it was added.
func insert(ctx context.Context, inserter outbound.TriggerInserter, trg *trigger.Trigger, idempotency domain.IdempotencyKey) (bool, error) {
	e, err := newEntry(trg, idempotency)
	if err == nil {
		err = inserter.Insert(ctx, []*outbound.NewTrigger{e})
	}
	return e.Added, err
}

func newEntry(trg *trigger.Trigger, idempotency domain.IdempotencyKey) (e *outbound.NewTrigger, err error) {
	e = &outbound.NewTrigger{Trigger: trg, IdempotencyKey: idempotency}
	if idempotency.Wanted() {
		e.Answer, err = idempotency.Answer(trg)
	}
	return e, err
}

// newVersion stores a version of a new tenant.
func (f fixture) newVersion() *workflow.Version {
	f.Helper()
	return f.version(f.workflow(f.tenant().ID(), "team"))
}

// newTrigger makes a trigger without storing it.
func (f fixture) newTrigger(ver *workflow.Version, name string) *trigger.Trigger {
	f.Helper()
	config := domain.RestoreDocument(`{"zulu":1.50,"timeoutMs":5e3,"alpha":{"b":"é <&> \" \\ {,}","a":null},"scheduleConfig":{"cron":"0 8 * * *"}}`)
	around := trigger.References{VersionExists: true, SubTenant: ver.SubTenant()}
	draft := trigger.Draft{Version: ver.ID(), Name: name, Type: trigger.Scheduled, Config: &config, Metadata: domain.MetadataPatch{Pairs: map[string]string{"color": "é <&> \\ {,}"}}}
	trg, err := trigger.New(trigger.ID(newID("trg")), ver.Tenant(), around, draft, noon)
	if err != nil {
		f.Fatal(err)
	}
	return trg
}

// publish makes a version the active one.
func (f fixture) publish(ver *workflow.Version) {
	f.Helper()
	st := ver.State()
	st.Active, st.PublishedAt = true, &noon
	f.write(func(ctx context.Context, stores outbound.Stores) error {
		return stores.Versions.Update(ctx, workflow.RestoreVersion(st))
	})
}

// answering is a key whose recorded answer tells which trigger was made.
func answering(key, fingerprint string) domain.IdempotencyKey {
	idempotency := onceWith(key, fingerprint)
	idempotency.Answer = func(outcome any) ([]byte, error) {
		trg, _ := outcome.(*trigger.Trigger)
		if trg == nil {
			return nil, errOnPurpose
		}
		return []byte("answer: " + trg.Name()), nil
	}
	return idempotency
}

func (f inserterFixture) wantResult(trg *trigger.Trigger, idempotency domain.IdempotencyKey, want bool) {
	f.Helper()
	if done, err := insert(f.Context(), f.here, trg, idempotency); done != want || err != nil {
		f.Errorf("done is %v, %v", done, err)
	}
}

func (f inserterFixture) wantStored(trg *trigger.Trigger) {
	f.Helper()
	got, err := f.getTrigger(trg.Tenant(), trg.ID())
	if err != nil {
		f.Error(err)
		return
	}
	if diff := cmp.Diff(trg.State(), got.State()); diff != "" {
		f.Error(diff)
	}
}

func (f inserterFixture) wantFree(owner tenant.ID, idempotency domain.IdempotencyKey) {
	f.Helper()
	err := f.work.View(f.Context(), func(ctx context.Context, st outbound.Stores) error {
		return st.Idempotency.Claim(ctx, owner, idempotency, noon)
	})
	if err != nil {
		f.Errorf("the key is taken: %v", err)
	}
}

func (f inserterFixture) wantReplayOf(owner tenant.ID, name string, at time.Time) {
	f.Helper()
	err := f.do(owner, answering("k", "same"), at, func() { f.Error("the repeat had an effect") })
	var replay *domain.Replay
	if !errors.As(err, &replay) || string(replay.Answer) != "answer: "+name {
		f.Errorf("the repeat got %v", err)
	}
}

// wantTotal checks how many triggers a tenant has, by the total that is kept and by
// counting.
func (f inserterFixture) wantTotal(owner tenant.ID, want int) {
	f.Helper()
	f.read(func(ctx context.Context, st outbound.Stores) error {
		for _, filter := range []trigger.Filter{{}, {Type: trigger.Scheduled}} {
			found, err := st.Triggers.List(ctx, tenant.All(owner), filter, f.query("", 1, 0))
			if err != nil {
				return err
			}
			if found.Total != want {
				f.Errorf("%+v: the total is %d, not %d", filter, found.Total, want)
			}
		}
		return nil
	})
}

// together runs n at the same time and returns which said yes.
func (f inserterFixture) together(n int, ask func(i int) bool) map[int]bool {
	f.Helper()
	var mu sync.Mutex
	var done sync.WaitGroup
	said, begin := make(map[int]bool), make(chan struct{})
	for i := range n {
		done.Go(func() {
			<-begin
			if ask(i) {
				mu.Lock()
				defer mu.Unlock()
				said[i] = true
			}
		})
	}
	close(begin)
	done.Wait()
	return said
}
