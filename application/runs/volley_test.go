package runs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/directory"
	"github.com/sluicehq/sluice/adapters/expression"
	"github.com/sluicehq/sluice/adapters/limiter/memory"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/application/runs"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// gated counts units, and holds the first ones back until it is opened.
type gated struct {
	outbound.UnitOfWork
	began  chan struct{}
	opened chan struct{}
	units  atomic.Int32
	broken atomic.Bool // units panic
}

func (g *gated) Do(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	g.units.Add(1)
	select {
	case g.began <- struct{}{}:
	default:
	}
	<-g.opened
	if g.broken.Load() {
		panic("broken")
	}
	return g.UnitOfWork.Do(ctx, fn)
}

// crowd is a desk at which many call at the same time.
type crowd struct {
	*desk
	gate    *gated
	calling sync.WaitGroup
}

// newCrowd returns one behind a closed gate, at which as many units stand as go at once.
func newCrowd(d *desk, ahead *trigger.Trigger) *crowd {
	c := &crowd{desk: d, gate: &gated{UnitOfWork: d.store, began: make(chan struct{}, 2), opened: make(chan struct{})}}
	known := directory.New(d.raw)
	known.Trust(true)
	c.firing = runs.NewFiring(c.gate, known, expression.Compiler{}, d.told, memory.New(d.clock), d.clock, system.Random{}, d.key, plenty(), 0)
	for range 2 {
		c.calls(ahead, run.Call{}, nil)
		<-c.gate.began
	}
	return c
}

// calls fires a trigger, and hands the outcome on.
func (c *crowd) calls(trg *trigger.Trigger, call run.Call, then func(run.Fired, error)) {
	c.calling.Go(func() {
		fired, err := c.firing.Call(c.Context(), c.who, domain.Once{}, trg.ID(), call)
		if then != nil {
			then(fired, err)
		} else if err != nil {
			c.Error(err)
		}
	})
}

// open lets everybody go on, once those who call have had time to line up, and waits for
// all of them.
func (c *crowd) open() {
	time.Sleep(50 * time.Millisecond)
	close(c.gate.opened)
	c.calling.Wait()
}

func TestCallsThatArriveTogetherShareAUnit(t *testing.T) {
	t.Parallel()
	atDesk(t, func(d *desk) {
		trg := d.simple(`{}`)
		c := newCrowd(d, trg)
		const many = 200
		var mu sync.Mutex
		own := make(map[run.ID]bool)
		for i := range many {
			c.calls(trg, run.Call{EventData: json.RawMessage(fmt.Sprintf(`{"n":%d}`, i))}, func(f run.Fired, err error) {
				mu.Lock()
				defer mu.Unlock()
				own[f.Run] = true
				if err != nil || f.DedupeKey == "" || f.Trigger != trg.ID() {
					c.Error(f, err)
				}
			})
		}
		c.open()
		if len(own) != many || len(d.of(d.owner)) < 100 {
			c.Errorf("%d runs were answered", len(own))
		}
		if units := c.gate.units.Load(); units > 2+many/10 {
			c.Errorf("%d units were made for %d calls", units, many)
		}
	})
}

func TestEachCallOfAVolleyHasAnOutcomeOfItsOwn(t *testing.T) {
	t.Parallel()
	atDesk(t, func(d *desk) {
		good, limited := d.simple(`{}`), d.simple(`{"rateLimit":{"maxRequests":2,"windowMs":60000}}`)
		asleep := d.trigger(d.versionOf(good), `{}`, func(st *trigger.State) { st.Active = false })
		gone := trigger.Restore(trigger.State{ID: trigger.ID(system.Random{}.ID(trigger.IDPrefix)), Tenant: d.owner})
		c := newCrowd(d, good)
		var permitted, refused atomic.Int32
		for range 5 {
			c.calls(good, run.Call{}, nil)
			c.calls(asleep, run.Call{}, func(_ run.Fired, err error) { d.wantCode(err, domain.Conflict, "trigger_inactive") })
			c.calls(gone, run.Call{}, func(_ run.Fired, err error) { d.wantCode(err, domain.NotFound, "trigger_not_found") })
			c.calls(limited, run.Call{}, func(_ run.Fired, err error) {
				if err == nil {
					permitted.Add(1)
					return
				}
				refused.Add(1)
				d.wantCode(err, domain.RateLimited, "trigger_rate_limit_exceeded")
			})
		}
		c.open()
		if permitted.Load() != 2 || refused.Load() != 3 {
			c.Errorf("of a limit of 2, %d were permitted and %d refused", permitted.Load(), refused.Load())
		}
	})
}

func TestAClientThatGoesBeforeItsTurnStartsNothing(t *testing.T) {
	t.Parallel()
	atDesk(t, func(d *desk) {
		trg, left := d.simple(`{}`), d.simple(`{}`)
		c := newCrowd(d, trg)
		ctx, leave := context.WithCancel(d.Context())
		gone := make(chan error, 1)
		go func() {
			_, err := c.firing.Call(ctx, c.who, domain.Once{}, left.ID(), run.Call{})
			gone <- err
		}()
		c.calls(trg, run.Call{}, nil)
		time.AfterFunc(20*time.Millisecond, leave)
		if err := <-gone; !errors.Is(err, context.Canceled) {
			c.Error(err)
		}
		c.open()
		for _, r := range d.of(d.owner) {
			if r.Trigger == left.ID() {
				c.Errorf("a run was started for nobody: %v", r)
			}
		}
	})
}

func TestAPanicInAUnitOfCallsIsAnErrorForEachAndHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	atDesk(t, func(d *desk) {
		trg := d.simple(`{}`)
		c := &crowd{desk: d, gate: &gated{UnitOfWork: d.store, began: make(chan struct{}, 2), opened: make(chan struct{})}}
		known := directory.New(d.raw)
		known.Trust(true)
		c.firing = runs.NewFiring(c.gate, known, expression.Compiler{}, d.told, memory.New(d.clock), d.clock, system.Random{}, d.key, plenty(), 0)
		c.gate.broken.Store(true)
		const many = 20
		var failed atomic.Int32
		for range many {
			c.calls(trg, run.Call{}, func(_ run.Fired, err error) {
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
			c.calls(trg, run.Call{}, nil)
		}
		c.calling.Wait()
		if n := len(d.of(d.owner)); n != 5 {
			c.Errorf("%d runs were started", n)
		}
	})
}
