package firing_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// gate counts units of work, and holds them back until it is opened.
type gate struct {
	outbound.UnitOfWork
	opened chan struct{}
	units  atomic.Int32
	broken atomic.Bool // units panic
}

func (g *gate) Do(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	g.units.Add(1)
	<-g.opened
	if g.broken.Load() {
		panic("broken")
	}
	return g.UnitOfWork.Do(ctx, fn)
}

// callers call at the same time.
type callers struct {
	*env
	gate    *gate
	calling sync.WaitGroup
}

// withCallers runs a test in a bubble, with calls whose units stand before a closed gate.
func withCallers(t *testing.T, test func(c *callers)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &callers{env: newEnv(t, fixture.OpenSQLite(t))}
		c.gate = &gate{UnitOfWork: c.Store, opened: make(chan struct{})}
		c.Firing = c.NewFiring(c.gate)
		test(c)
	})
}

// occupy calls until no further batch starts before the gate is open.
func (c *callers) occupy(trg *trigger.Trigger) {
	for range 2 {
		c.call(trg, run.Call{}, nil)
		synctest.Wait()
	}
}

// call fires a trigger, and hands the outcome on.
func (c *callers) call(trg *trigger.Trigger, call run.Call, then func(run.Fired, error)) {
	c.calling.Go(func() {
		fired, err := c.Firing.Call(c.Context(), c.Caller, domain.IdempotencyKey{}, trg.ID(), call)
		if then != nil {
			then(fired, err)
		} else if err != nil {
			c.Error(err)
		}
	})
}

// open lets all units go on once all calls wait, and waits for their answers.
func (c *callers) open() {
	synctest.Wait()
	close(c.gate.opened)
	c.calling.Wait()
}

func TestCallsThatArriveTogetherShareAUnit(t *testing.T) {
	withCallers(t, func(c *callers) {
		trg := c.NewSimpleTrigger(`{}`)
		c.occupy(trg)
		const many = 200
		var mu sync.Mutex
		own := make(map[run.ID]bool)
		for i := range many {
			c.call(trg, run.Call{EventData: json.RawMessage(fmt.Sprintf(`{"n":%d}`, i))}, func(f run.Fired, err error) {
				mu.Lock()
				defer mu.Unlock()
				own[f.Run] = true
				if err != nil || f.DedupeKey == "" || f.Trigger != trg.ID() {
					c.Error(f, err)
				}
			})
		}
		c.open()
		if len(own) != many || len(c.RunsOf(c.Owner)) < 100 {
			c.Errorf("%d runs were answered", len(own))
		}
		// One for the first call, one for those that were enough to start a second batch, and two for the others; one less where so many
		// came in time for the second batch that the others fit into one.
		if units := c.gate.units.Load(); units < 3 || units > 4 {
			c.Errorf("%d units were made for 2 calls and another %d", units, many)
		}
	})
}

func TestEachCallOfABatchHasAnOutcomeOfItsOwn(t *testing.T) {
	withCallers(t, func(c *callers) {
		good, limited := c.NewSimpleTrigger(`{}`), c.NewSimpleTrigger(`{"rateLimit":{"maxRequests":2,"windowMs":60000}}`)
		inactive := c.NewTrigger(c.VersionOf(good), `{}`, func(st *trigger.State) { st.Active = false })
		gone := trigger.Restore(trigger.State{ID: trigger.ID(system.Random{}.ID(trigger.IDPrefix)), Tenant: c.Owner})
		c.occupy(good)
		var permitted, refused atomic.Int32
		for range 5 {
			c.call(good, run.Call{}, nil)
			c.call(inactive, run.Call{}, func(_ run.Fired, err error) { c.WantCode(err, domain.Conflict, "trigger_inactive") })
			c.call(gone, run.Call{}, func(_ run.Fired, err error) { c.WantCode(err, domain.NotFound, "trigger_not_found") })
			c.call(limited, run.Call{}, func(_ run.Fired, err error) {
				if err == nil {
					permitted.Add(1)
					return
				}
				refused.Add(1)
				c.WantCode(err, domain.RateLimited, "trigger_rate_limit_exceeded")
			})
		}
		c.open()
		if permitted.Load() != 2 || refused.Load() != 3 {
			c.Errorf("of a limit of 2, %d were permitted and %d refused", permitted.Load(), refused.Load())
		}
	})
}

func TestAClientThatGoesBeforeItsTurnStartsNothing(t *testing.T) {
	withCallers(t, func(c *callers) {
		trg, abandoned := c.NewSimpleTrigger(`{}`), c.NewSimpleTrigger(`{}`)
		c.occupy(trg)
		ctx, leave := context.WithCancel(c.Context())
		gone := make(chan error, 1)
		go func() {
			_, err := c.Firing.Call(ctx, c.Caller, domain.IdempotencyKey{}, abandoned.ID(), run.Call{})
			gone <- err
		}()
		c.call(trg, run.Call{}, nil)
		synctest.Wait()
		leave()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			c.Error(err)
		}
		c.open()
		for _, r := range c.RunsOf(c.Owner) {
			if r.Trigger == abandoned.ID() {
				c.Errorf("a run was started for nobody: %v", r)
			}
		}
	})
}

func TestAPanicInAUnitOfCallsIsAnErrorForEachAndHoldsNobodyUp(t *testing.T) {
	withCallers(t, func(c *callers) {
		trg := c.NewSimpleTrigger(`{}`)
		c.gate.broken.Store(true)
		const many = 20
		var failed atomic.Int32
		for range many {
			c.call(trg, run.Call{}, func(_ run.Fired, err error) {
				if inbound.IsPanic(err) {
					failed.Add(1)
				} else {
					c.Error(err)
				}
			})
		}
		c.open()
		if n := failed.Load(); n != many {
			c.Errorf("%d of %d calls are told", n, many)
		}
		c.gate.broken.Store(false)
		for range 5 {
			c.call(trg, run.Call{}, nil)
		}
		c.calling.Wait()
		if n := len(c.RunsOf(c.Owner)); n != 5 {
			c.Errorf("%d runs were started", n)
		}
	})
}
