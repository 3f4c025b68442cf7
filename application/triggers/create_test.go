package triggers_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/application/triggers"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// slowInserter is an inserter whose batches wait until they are let go on. A database that
// stands still, or has a defect, cannot be made of a real one.
type slowInserter struct {
	batches chan []*outbound.NewTrigger
	goOn    chan func()
}

func (s slowInserter) Insert(_ context.Context, all []*outbound.NewTrigger) error {
	s.batches <- all
	(<-s.goOn)()
	for _, e := range all {
		e.Added = true
	}
	return nil
}

func (slowInserter) Parallel() int { return 1 }

// anyVersion knows every version.
type anyVersion struct{ outbound.Directory }

func (anyVersion) VersionParent(context.Context, tenant.Scope, workflow.VersionID) (outbound.VersionParent, error) {
	return outbound.VersionParent{Workflow: "wf_1"}, nil
}

var (
	secret = tenant.Caller{Scope: tenant.All("tenant_1"), KeyType: tenant.Secret}
	draft  = trigger.Draft{Version: "wfv_1", Name: "Paid", Type: trigger.Webhook, Config: new(domain.Document)}
)

func TestCreatesThatArriveTogetherShareAnInsert(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inserter := slowInserter{make(chan []*outbound.NewTrigger, 9), make(chan func())}
		service := triggers.New(nil, anyVersion{}, inserter, nil, nil, system.Clock{}, system.Random{})
		var all sync.WaitGroup
		for i := range 20 {
			if i == 1 { // the first begins before the others arrive
				synctest.Wait()
			}
			all.Go(func() {
				if trg, err := service.Create(t.Context(), secret, domain.IdempotencyKey{}, draft); err != nil || trg.Name() != "Paid" {
					t.Error(err)
				}
			})
		}
		for _, want := range []int{1, 19} {
			synctest.Wait()
			if n := len(<-inserter.batches); n != want {
				t.Errorf("a batch has %d", n)
			}
			inserter.goOn <- func() {}
		}
		all.Wait()
	})
}

func TestACreateThatWaitsEndsWithItsContextAndAPanicHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inserter := slowInserter{make(chan []*outbound.NewTrigger, 9), make(chan func())}
		service := triggers.New(nil, anyVersion{}, inserter, nil, nil, system.Clock{}, system.Random{})
		create := func(ctx context.Context, want func(error) bool) {
			go func() {
				if _, err := service.Create(ctx, secret, domain.IdempotencyKey{}, draft); !want(err) {
					t.Error(err)
				}
			}()
			synctest.Wait()
		}
		create(t.Context(), inbound.IsPanic)
		var left atomic.Bool
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		create(ctx, func(err error) bool { left.Store(true); return errors.Is(err, context.DeadlineExceeded) })
		create(t.Context(), func(err error) bool { return err == nil })
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if !left.Load() {
			t.Error("it waits on")
		}
		<-inserter.batches
		inserter.goOn <- func() { panic("broken") }
		if n := len(<-inserter.batches); n != 1 {
			t.Errorf("the next batch has %d", n)
		}
		inserter.goOn <- func() {}
	})
}

func TestACreateWhoseAnswerCannotBeRenderedHasNoEffect(t *testing.T) {
	broken := errors.New("broken")
	service := triggers.New(nil, anyVersion{}, slowInserter{}, nil, nil, system.Clock{}, system.Random{})
	idempotency := domain.IdempotencyKey{Scope: "POST /triggers", Key: "k", Answer: func(any) ([]byte, error) { return nil, broken }}
	if _, err := service.Create(t.Context(), secret, idempotency, draft); !errors.Is(err, broken) {
		t.Error(err)
	}
}
