package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicehq/sluice/adapters/budget"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
)

// gated has runs that take their time to be read.
type gated struct {
	inbound.Runs
	inside int
	let    chan struct{}
}

func (g *gated) Get(context.Context, tenant.Caller, run.ID) (inbound.ShownRun, error) {
	return inbound.ShownRun{Run: run.New("run_1", run.Start{}, time.Time{})}, g.pass()
}

func (g *gated) pass() error {
	g.inside++
	<-g.let
	return nil
}

// behind is an API in front of them, and how to read or simulate there.
func behind(g *gated) (a *API, ways map[string]func(context.Context) error) {
	a = &API{
		ports: Ports{Runs: g}, opts: Budgeted(Options{SimulationBytes: 1 << 20, Simulations: budget.NewShared(8, 4)}),
		reading: make(turns, mostReading), patience: time.Minute,
	}
	who := tenant.Caller{Tenant: "tenant_a"}
	intake := func() *reservation { return &reservation{budget: a.opts.Intake, owner: who.Tenant} }
	return a, map[string]func(context.Context) error{
		"read": func(ctx context.Context) error {
			_, err := a.holdRun(ctx, who, "run_1", a.pagesFor(who))
			return err
		},
		"simulated": func(ctx context.Context) error {
			_, err := a.holdSimulation(ctx, intake(), a.pagesFor(who), func() (inbound.Simulated, error) {
				return inbound.Simulated{Trace: run.Trace{Run: run.New("run_1", run.Start{}, time.Time{})}}, g.pass()
			})
			return err
		},
	}
}

func TestAFewWholeRunsAreReadAtATime(t *testing.T) {
	for _, what := range []string{"read", "simulated"} {
		synctest.Test(t, func(t *testing.T) {
			g := &gated{let: make(chan struct{})}
			_, ways := behind(g)
			one := ways[what]
			ended := make(chan error, 10)
			for range 6 {
				go func() { ended <- one(t.Context()) }()
				synctest.Wait()
			}
			if g.inside != 4 {
				t.Errorf("%d are %s at the same time", g.inside, what)
			}
			gone, leave := context.WithCancel(t.Context())
			leave()
			if err := one(gone); !errors.Is(err, context.Canceled) {
				t.Errorf("one that is not waited for any more is %s: %v", what, err)
			}
			g.let <- struct{}{}
			synctest.Wait()
			if g.inside != 5 {
				t.Errorf("when one has left, %d were %s", g.inside, what)
			}
			time.Sleep(2 * time.Minute)
			close(g.let)
			busy := 0
			for range 6 {
				if err := <-ended; errors.Is(err, errRunsBusy) {
					busy++
				} else if err != nil {
					t.Error(err)
				}
			}
			if busy != 1 {
				t.Errorf("%d have waited for too long to be %s", busy, what)
			}
		})
	}
}

func TestASimulationIsAsLargeAsWhatFlowsInItAndWhatItGives(t *testing.T) {
	t.Parallel()
	g := &gated{let: make(chan struct{})}
	a, _ := behind(g)
	held := a.pagesFor(tenant.Caller{Tenant: "tenant_a"})
	filler := json.RawMessage(bytes.Repeat([]byte("1"), smallRun))
	for inputs, want := range map[int]int{0: 0, 1: 2 * smallRun, 3: 4 * smallRun} {
		found := inbound.Simulated{
			Trace:  run.Trace{Run: run.New("run_1", run.Start{Payload: filler}, time.Time{})},
			Inputs: map[workflow.NodeID]json.RawMessage{},
		}
		for i := range inputs {
			found.Inputs[workflow.NodeID(rune('a'+i))] = filler
		}
		if _, err := a.holdSimulation(t.Context(), &reservation{budget: a.opts.Intake}, held, func() (inbound.Simulated, error) { return found, nil }); err != nil || held.size != int64(want) {
			t.Errorf("with %d inputs, %d bytes are held: %v", inputs, held.size, err)
		}
	}
}
