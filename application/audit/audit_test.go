package audit_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
	"github.com/sluicehq/sluice/adapters/system"
	recording "github.com/sluicehq/sluice/application/audit"
	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/audit"
	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// env is a store with a clock, and units of work that are recorded.
type env struct {
	*testing.T
	store  *sqlstore.Store
	clock  *portstest.ManualClock
	work   *recording.Work
	sealer *recording.Sealer
}

func onEach(t *testing.T, test func(e env)) {
	fixture.OnEachStore(t, func(t *testing.T, store *sqlstore.Store) {
		clock := &portstest.ManualClock{}
		clock.Set(noon)
		test(env{t, store, clock, recording.NewWork(store, clock, system.Random{}), recording.NewSealer(store, clock, recording.Retention(48*time.Hour))})
	})
}

// act is somebody's context.
func (e env) act(kind audit.ActorKind, id, action string) context.Context {
	return inbound.Acting(e.Context(), audit.Act{Actor: audit.Actor{Kind: kind, ID: id}, Action: action})
}

// do runs a unit that must commit.
func (e env) do(ctx context.Context, fn func(context.Context, outbound.Stores) error) {
	e.Helper()
	if err := e.work.Do(ctx, fn); err != nil {
		e.Fatal(err)
	}
}

func (e env) tenant() *tenant.Tenant {
	e.Helper()
	ten, err := tenant.New(tenant.ID(system.Random{}.ID(tenant.IDPrefix)), tenant.Draft{Name: "Acme"}, noon)
	if err != nil {
		e.Fatal(err)
	}
	e.do(e.Context(), func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Insert(ctx, ten) })
	return ten
}

// register has somebody register sub-tenants, a minute after one another.
func (e env) register(owner tenant.ID, n int) {
	e.Helper()
	for i := range n {
		e.do(e.act(audit.ByKey, "key_1", "createSubTenant"), func(ctx context.Context, st outbound.Stores) error {
			id := system.Random{}.ID(tenant.RegistrationIDPrefix)
			sub, err := tenant.NewSubTenant(tenant.RegistrationID(id), owner, tenant.SubTenantDraft{SubTenant: tenant.SubTenantID(id), Name: fmt.Sprint(i)}, noon)
			if err != nil {
				return err
			}
			return st.SubTenants.Insert(ctx, sub)
		})
		e.clock.Set(e.clock.Now().Add(time.Minute))
	}
}

// append adds entries to a log.
func (e env) append(owner tenant.ID, n int) {
	e.Helper()
	all := make([]audit.Entry, n)
	for i := range all {
		act := audit.Act{Actor: audit.Actor{Kind: audit.ByKey, ID: "key_1"}, Action: "createSubTenant"}
		all[i] = audit.New(audit.ID(system.Random{}.ID(audit.IDPrefix)), act, owner, audit.Target{}, nil, domain.Facts{"name": domain.TextFact("1")}, e.clock.Now(), "salt")
	}
	e.do(e.Context(), func(ctx context.Context, st outbound.Stores) error { return st.Audit.Log.Append(ctx, all...) })
}

func (e env) log(owner tenant.ID) (all []audit.Entry) {
	e.Helper()
	take := func(some []audit.Entry) error {
		all = append(all, some...)
		return nil
	}
	if err := recording.NewChains(e.store).Export(e.Context(), owner, audit.Filter{}, take); err != nil {
		e.Fatal(err)
	}
	return all
}

func (e env) verify(owner tenant.ID) *audit.Verifier {
	e.Helper()
	v, err := recording.NewChains(e.store).Verify(e.Context(), owner, nil, func(int64) {})
	if err != nil {
		e.Fatal(err)
	}
	return v
}

func (e env) seal() {
	e.Helper()
	if err := e.sealer.Seal(e.Context()); err != nil {
		e.Fatal(err)
	}
}

func TestAnEntryIsWrittenWithTheChangeOrNotAtAll(t *testing.T) {
	onEach(t, func(e env) {
		ten := e.tenant()
		if all := e.log(ten.ID()); len(all) > 0 {
			e.Error("what the gateway does for itself is recorded", all)
		}
		refused := errors.New("refused")
		err := e.work.Do(e.act(audit.ByKey, "key_1", "changeSettings"), func(ctx context.Context, st outbound.Stores) error {
			ten.Suspend(noon)
			return errors.Join(st.Tenants.Update(ctx, ten), refused)
		})
		if !errors.Is(err, refused) || len(e.log(ten.ID())) > 0 {
			e.Error(err, e.log(ten.ID()))
		}
	})
}

func TestWhatAUnitDoesToOneRecordIsOneEntry(t *testing.T) {
	onEach(t, func(e env) {
		ten := e.tenant()
		rename := func(kind audit.ActorKind, names ...string) {
			e.do(e.act(kind, "ana", "changeTenant"), func(ctx context.Context, st outbound.Stores) error {
				for _, name := range names {
					found, err := st.Tenants.Get(ctx, ten.ID())
					if err != nil {
						return err
					}
					if err := found.Revise(tenant.Patch{Name: &name}, noon); err != nil {
						return err
					}
					if err := st.Tenants.Update(ctx, found); err != nil {
						return err
					}
				}
				return nil
			})
		}
		rename(audit.ByKey, "a", "b")
		rename(audit.ByKey, "c", "b") // which comes to nothing
		rename(audit.ByOperator, "d")
		said := func(owner tenant.ID) (all []string) {
			for _, one := range e.log(owner) {
				for _, c := range one.Changes() {
					all = append(all, fmt.Sprintf("%s %s %s>%s", one.ActorKind, c.Field, c.Old, c.New))
				}
			}
			return all
		}
		if diff := cmp.Diff([]string{`apiKey name "Acme">"b"`, `operator name "b">"d"`}, said(ten.ID())); diff != "" {
			e.Error(diff)
		}
		if diff := cmp.Diff([]string{`operator name "b">"d"`}, said("")); diff != "" {
			e.Error("the operator's own", diff)
		}
	})
}

func TestWhoChangesAnAccountIsWhoseItIs(t *testing.T) {
	onEach(t, func(e env) {
		u, err := member.NewUser("usr_1", member.UserDraft{Email: "a@example.com", Name: "Ana"}, noon)
		if err != nil {
			e.Fatal(err)
		}
		e.do(e.Context(), func(ctx context.Context, st outbound.Stores) error { return st.Members.Users.Insert(ctx, u) })
		e.do(e.act(audit.ByMember, "", "changePassword"), func(ctx context.Context, st outbound.Stores) error {
			u.SetPassword("$argon2id$s3cret")
			return st.Members.Users.Update(ctx, u)
		})
		all := e.log("")
		if len(all) != 1 || all[0].Actor() != (audit.Actor{Kind: audit.ByMember, ID: "usr_1", Name: "Ana"}) {
			e.Fatal(all)
		}
		if diff := cmp.Diff([]audit.Change{{Field: "password", New: domain.Redacted}}, all[0].Changes()); diff != "" {
			e.Error(diff)
		}
	})
}

func TestTheSealerSealsAllLogsAndOldEntriesGo(t *testing.T) {
	onEach(t, func(e env) {
		first, second := e.tenant().ID(), e.tenant().ID()
		e.register(first, 5)
		e.register(second, 2)
		e.seal()
		if waited := e.sealer.OldestUnsealed(); waited != 0 {
			e.Error("nothing waits", waited)
		}
		if n, err := e.sealer.Prune(e.Context()); n != 0 || err != nil {
			e.Error("nothing is old", n, err)
		}
		e.clock.Set(noon.Add(48*time.Hour + 2*time.Minute)) // the first two of seven are older than 48 hours
		if n, err := e.sealer.Prune(e.Context()); n != 2 || err != nil {
			e.Error(n, err)
		}
		e.register(first, 1)
		e.seal()
		for owner, want := range map[tenant.ID][2]int64{first: {4, 6}, second: {2, 2}} {
			v, all := e.verify(owner), e.log(owner)
			if v.Failed > 0 || v.Checked != want[0] || all[len(all)-1].Sequence != want[1] {
				e.Error(owner, v.Problems, v.Checked, all)
			}
		}
	})
}

func TestNoHeadIsLeftOfATenantThatIsDeletedMeanwhile(t *testing.T) {
	onEach(t, func(e env) {
		owner := e.tenant().ID()
		e.append(owner, 1)
		late := &interrupted{UnitOfWork: e.store, before: func() {
			e.do(e.Context(), func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Delete(ctx, owner) })
		}}
		if err := recording.NewSealer(late, e.clock, recording.Retention(time.Hour)).Seal(e.Context()); err != nil {
			e.Error(err)
		}
		heads := func() (n int) {
			if err := recording.NewChains(e.store).Heads(e.Context(), func(audit.Head) error { n++; return nil }); err != nil {
				e.Error(err)
			}
			return n
		}
		if n := heads(); n > 0 {
			e.Error("a head is left")
		}
		e.append(owner, 2) // by who had not seen the deletion
		e.seal()
		if n, err := e.sealer.Prune(e.Context()); n != 3 || err != nil || heads() > 0 {
			e.Error(n, err, heads())
		}
	})
}

// interrupted has something happen before each unit that writes.
type interrupted struct {
	outbound.UnitOfWork
	before func()
}

// Do runs it first.
func (i *interrupted) Do(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	i.before()
	return i.UnitOfWork.Do(ctx, fn)
}

func TestABusyChainHasNoOtherWaitForAllOfIt(t *testing.T) {
	onEach(t, func(e env) {
		busy, quiet := e.tenant().ID(), e.tenant().ID()
		e.append(busy, 500)
		e.clock.Set(noon.Add(time.Minute))
		e.append(quiet, 1)
		stopped := errors.New("stopped")
		if err := recording.NewSealer(&limited{e.store, 2, stopped}, e.clock, recording.Retention(time.Hour)).Seal(e.Context()); !errors.Is(err, stopped) {
			e.Error(err)
		}
		if v := e.verify(quiet); v.Checked != 1 {
			e.Error("it waits for a busy one")
		}
		e.seal()
		if v := e.verify(busy); v.Checked != 500 || v.Failed > 0 {
			e.Error(v.Checked, v.Problems)
		}
	})
}

// limited fails after some units that write.
type limited struct {
	outbound.UnitOfWork
	left int
	with error
}

// Do fails when none is left.
func (l *limited) Do(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	if l.left--; l.left < 0 {
		return l.with
	}
	return l.UnitOfWork.Do(ctx, fn)
}

func TestPruningGoesOnBehindAChainThatFails(t *testing.T) {
	onEach(t, func(e env) {
		owners := []tenant.ID{e.tenant().ID(), e.tenant().ID(), e.tenant().ID()}
		const each = 250 // more than are removed at a time
		for _, owner := range owners {
			e.append(owner, each)
		}
		e.seal()
		e.clock.Set(noon.Add(100 * time.Hour))
		gone := errors.New("this chain is broken")
		n, err := recording.NewSealer(&failingOnce{UnitOfWork: e.store, with: gone}, e.clock, recording.Retention(48*time.Hour)).Prune(e.Context())
		if n != 2*each || !errors.Is(err, gone) {
			e.Error(n, err)
		}
	})
}

// failingOnce fails with its second unit that writes: the first sweeps.
type failingOnce struct {
	outbound.UnitOfWork
	with  error
	units int
}

// Do fails the second time.
func (f *failingOnce) Do(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	if f.units++; f.units == 2 {
		return f.with
	}
	return f.UnitOfWork.Do(ctx, fn)
}

func TestASealerThatDoesNotSealSaysHowLongEntriesWait(t *testing.T) {
	onEach(t, func(e env) {
		owner := e.tenant().ID()
		e.register(owner, 2)
		for _, with := range []error{errors.New("the database is gone"), nil} { // nil as where another unit has what waits
			sealer := recording.NewSealer(failing{e.store, with}, e.clock, recording.Retention(time.Hour))
			if err := sealer.Seal(e.Context()); !errors.Is(err, with) {
				e.Error(err)
			}
			if waited := sealer.OldestUnsealed(); waited != 2*time.Minute {
				e.Error(waited)
			}
		}
	})
}

// failing can be read, and writes nothing.
type failing struct {
	outbound.UnitOfWork
	with error
}

// Do fails, or does nothing.
func (f failing) Do(context.Context, func(context.Context, outbound.Stores) error) error {
	return f.with
}

func TestSealersAtTheSameTimeMakeOneChain(t *testing.T) {
	onEach(t, func(e env) {
		owner := e.tenant().ID()
		e.register(owner, 30)
		done := make(chan error)
		const sealers = 4
		for range sealers {
			go func() {
				done <- recording.NewSealer(e.store, e.clock, recording.Retention(time.Hour)).Seal(e.Context())
			}()
		}
		for range sealers {
			if err := <-done; err != nil {
				e.Error(err)
			}
		}
		if v := e.verify(owner); v.Failed > 0 || v.Checked != 30 {
			e.Error(v.Checked, v.Problems)
		}
	})
}

func TestASealerSealsWhatItIsToldOfAndFindsTheRest(t *testing.T) {
	onEach(t, func(e env) {
		gone := errors.New("the database is gone")
		for claim, one := range map[string]struct {
			work       outbound.UnitOfWork
			woken      bool
			poll       time.Duration
			wantFailed error
		}{
			"what it is told of":        {e.store, true, time.Hour, nil},
			"what nobody tells":         {e.store, false, time.Millisecond, nil},
			"what it could not seal":    {&failingOnce{UnitOfWork: e.store, with: gone, units: 1}, true, time.Hour, gone},
			"what there was at a start": {e.store, false, time.Hour, nil},
		} {
			e.Run(claim, func(t *testing.T) {
				owner := e.tenant().ID()
				sealer := recording.NewSealer(one.work, e.clock, recording.Retention(time.Hour))
				sealer.SetPauses(time.Millisecond, one.poll)
				ctx, stop := context.WithCancel(t.Context())
				done := make(chan error)
				var failed error
				run := func() {
					sealer.Run(ctx, func(err error) { failed = errors.Join(failed, err) })
					done <- failed
				}
				sealed := func(want int64) {
					t.Helper()
					for deadline := time.Now().Add(20 * time.Second); e.verify(owner).Checked != want; time.Sleep(time.Millisecond) {
						if time.Now().After(deadline) {
							t.Fatal("it is not sealed")
						}
					}
				}
				e.append(owner, 1)
				go run()
				if sealed(1); one.woken || one.poll < time.Hour {
					e.append(owner, 1)
					if one.woken {
						sealer.Wake()
					}
					sealed(2)
				}
				stop()
				if err := <-done; !errors.Is(err, one.wantFailed) {
					t.Error(err)
				}
			})
		}
	})
}
