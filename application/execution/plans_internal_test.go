package execution

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicehq/sluice/adapters/budget"
	"github.com/sluicehq/sluice/adapters/expression"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// countingStore is a store of versions that counts how often each is read, a directory of
// registries, and a compiler.
type countingStore struct {
	outbound.UnitOfWork
	outbound.Directory
	expression.Compiler

	mu       sync.Mutex
	reads    map[workflow.VersionID]int
	registry *node.Registry
	before   func(ctx context.Context) error // each reading; nil for nothing
}

func newCountingStore() *countingStore {
	return &countingStore{reads: make(map[workflow.VersionID]int), registry: &node.Registry{}}
}

func (s *countingStore) Registry(context.Context, tenant.ID) (*node.Registry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.registry, nil
}

func (s *countingStore) Read(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	return fn(ctx, outbound.Stores{Versions: countingVersions{of: s}})
}

// countingVersions are the versions of a countingStore.
type countingVersions struct {
	outbound.VersionRepository
	of *countingStore
}

func (v countingVersions) Get(ctx context.Context, scope tenant.Scope, id workflow.VersionID) (*workflow.Version, error) {
	s := v.of
	s.mu.Lock()
	s.reads[id]++
	before := s.before
	s.mu.Unlock()
	if before != nil {
		if err := before(ctx); err != nil {
			return nil, err
		}
	}
	if id == "gone" {
		return nil, domain.Fail(domain.NotFound, "version_not_found", "There is no such version.")
	}
	return workflow.RestoreVersion(workflow.VersionState{ID: id, Tenant: scope.Tenant()}), nil
}

func (s *countingStore) plans(most int) *Plans {
	return NewPlans(s, s, s, budget.Divide(1<<40, 2).OfRuns(), most)
}

// getPlan returns a plan, which must be there.
func getPlan(t *testing.T, p *Plans, owner tenant.ID, id workflow.VersionID) *run.Plan {
	t.Helper()
	plan, err := p.Of(t.Context(), owner, run.Source{Version: id})
	if err != nil || plan.Version() != id {
		t.Fatal(plan, err)
	}
	return plan
}

func TestAPlanIsMadeOnceForEachTenantAndVersion(t *testing.T) {
	s := newCountingStore()
	p := s.plans(0)
	a, other := getPlan(t, p, "tenant_1", "wfv_1"), getPlan(t, p, "tenant_2", "wfv_1")
	if getPlan(t, p, "tenant_1", "wfv_1") != a || getPlan(t, p, "tenant_2", "wfv_1") != other || a == other || s.reads["wfv_1"] != 2 {
		t.Errorf("it was read %d times", s.reads["wfv_1"])
	}
}

func TestManyWhoWantTheSamePlanWaitForOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCountingStore()
		let := make(chan struct{})
		s.before = func(context.Context) error { <-let; return nil }
		p := s.plans(0)
		var done sync.WaitGroup
		got := make([]*run.Plan, 20)
		for i := range got {
			done.Go(func() { got[i] = getPlan(t, p, "tenant_1", "wfv_1") })
		}
		synctest.Wait()
		close(let)
		done.Wait()
		for _, plan := range got {
			if plan != got[0] {
				t.Fatal("they differ")
			}
		}
		if s.reads["wfv_1"] != 1 {
			t.Errorf("it was read %d times", s.reads["wfv_1"])
		}
	})
}

// Who has to stop while it makes a plan does not stop others who wait for it.
func TestWhoWaitsForAPlanMakesItWhenItsMakerHadToStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCountingStore()
		s.before = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		p := s.plans(0)
		hurried, stop := context.WithCancel(t.Context())
		var done sync.WaitGroup
		done.Go(func() {
			if _, err := p.Of(hurried, "tenant_1", run.Source{Version: "wfv_1"}); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
		synctest.Wait()
		done.Go(func() { getPlan(t, p, "tenant_1", "wfv_1") })
		synctest.Wait()
		s.mu.Lock()
		s.before = nil
		s.mu.Unlock()
		stop()
		done.Wait()
	})
}

// A database that does not answer is not waited for without an end.
func TestAPlanIsGivenUpWhenItsVersionCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCountingStore()
		s.before = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		began := time.Now()
		if _, err := s.plans(0).Of(t.Context(), "tenant_1", run.Source{Version: "wfv_1"}); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != storeTimeout {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}

func TestAPlanIsMadeAnewWhenTheNodeTypesHaveChanged(t *testing.T) {
	s := newCountingStore()
	p := s.plans(0)
	before := getPlan(t, p, "tenant_1", "wfv_1")
	s.registry = &node.Registry{}
	after := getPlan(t, p, "tenant_1", "wfv_1")
	if after == before || getPlan(t, p, "tenant_1", "wfv_1") != after || s.reads["wfv_1"] != 2 || p.order.Len() != 1 {
		t.Errorf("it was read %d times, %d are kept", s.reads["wfv_1"], p.order.Len())
	}
}

func TestThePlansThatWereAskedForLastAreKept(t *testing.T) {
	s := newCountingStore()
	p := s.plans(3)
	for _, id := range []workflow.VersionID{"a", "b", "c", "a", "d", "a", "c"} { // b has to go for d
		getPlan(t, p, "tenant_1", id)
	}
	getPlan(t, p, "tenant_1", "b")
	if got := fmt.Sprint(s.reads); got != "map[a:1 b:2 c:1 d:1]" || p.order.Len() != 3 || len(p.kept) != 3 {
		t.Errorf("%s, %d are kept", got, p.order.Len())
	}
}

func TestAPlanThatCouldNotBeMadeIsTriedAgain(t *testing.T) {
	broken := errors.New("the text does not decode")
	for claim, c := range map[string]struct {
		id     workflow.VersionID
		before func(context.Context) error
		is     func(error) bool
	}{
		"an unknown version": {"gone", nil, func(err error) bool {
			e, is := errors.AsType[*domain.Error](err)
			return is && e.Code == "version_not_found"
		}},
		"an error": {"wfv_1", func(context.Context) error { return broken }, func(err error) bool { return errors.Is(err, broken) }},
		"a panic":  {"wfv_1", func(context.Context) error { panic("broken") }, func(err error) bool { return domain.KindOf(err) == domain.Internal }},
	} {
		t.Run(claim, func(t *testing.T) {
			s := newCountingStore()
			s.before = c.before
			p := s.plans(0)
			for range 2 {
				if plan, err := p.Of(t.Context(), "tenant_1", run.Source{Version: c.id}); plan != nil || err == nil || !c.is(err) {
					t.Error(plan, err)
				}
			}
			if s.reads[c.id] != 2 || p.order.Len() != 0 || len(p.kept) != 0 {
				t.Errorf("it was read %d times, %d are kept", s.reads[c.id], p.order.Len())
			}
		})
	}
}
