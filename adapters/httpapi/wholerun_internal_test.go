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
	"github.com/sluicehq/sluice/adapters/httpapi/stream"
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
func behind(t *testing.T, g *gated) (a *API, calls map[string]func(context.Context) error) {
	memory, err := Budgeted(Options{Memory: stream.Memory{SimulationBytes: 1 << 20, Simulations: budget.NewShared(8, 4), MaxWait: time.Minute}}).Memory.Complete()
	if err != nil {
		t.Fatal(err)
	}
	a = &API{ports: Ports{Runs: g}, memory: memory}
	who := tenant.Caller{Scope: tenant.All("tenant_a")}
	return a, map[string]func(context.Context) error{
		"read": func(ctx context.Context) error {
			held := stream.Reserve(memory.Pages, who.Tenant())
			_, err := a.holdRun(ctx, who, "run_1", &held)
			return err
		},
		"simulated": func(ctx context.Context) error {
			intake, held := stream.Reserve(memory.Intake, who.Tenant()), stream.Reserve(memory.Pages, who.Tenant())
			_, err := a.holdSimulation(ctx, who.Tenant(), &intake, &held, func() (inbound.Simulated, error) {
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
			_, calls := behind(t, g)
			one := calls[what]
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

// logged has one run, whose nodes wrote logs, and notes how much may be shown of what flowed into them.
type logged struct {
	inbound.Runs
	shown inbound.ShownRun
	most  int
}

func (l *logged) Get(context.Context, tenant.Caller, run.ID) (inbound.ShownRun, error) {
	return l.shown, nil
}

func (l *logged) Inputs(_ context.Context, _ tenant.Caller, _ *run.Run, most int) (map[workflow.NodeID]run.ShownInput, int) {
	l.most = most
	return nil, most / 2
}

func TestARunIsAsLargeAsItsLogsAndWhatFlowedIntoItsNodes(t *testing.T) {
	t.Parallel()
	a, _ := behind(t, &gated{})
	who := tenant.Caller{Scope: tenant.All("tenant_a")}
	more := stream.Reserve(a.memory.Pages, who.Tenant())
	filler := json.RawMessage(bytes.Repeat([]byte("1"), smallRun))
	for lines, want := range map[int]int{0: 0, 3: smallRun + 3*(16+1000)} {
		held := stream.Reserve(a.memory.Pages, who.Tenant())
		l := &logged{shown: inbound.ShownRun{Run: run.New("run_1", run.Start{Payload: filler}, time.Time{}), Logs: map[workflow.NodeID][]string{"a": nil}}}
		for range lines {
			l.shown.Logs["a"] = append(l.shown.Logs["a"], string(filler[:1000]))
		}
		a.ports.Runs = l
		found, err := a.holdRun(t.Context(), who, "run_1", &held)
		if err != nil || held.Size() != int64(want) {
			t.Errorf("with %d lines, %d bytes are held: %v", lines, held.Size(), err)
		}
		a.inputs(t.Context(), who, found.Run, &more)
		if l.most != run.MaxOutput || more.Size() != run.MaxOutput/2 {
			t.Errorf("of what flowed into nodes %d bytes may be shown, and %d are held", l.most, more.Size())
		}
		held.Release()
	}
	more.Release()
	full := stream.Reserve(a.memory.Pages, who.Tenant())
	full.TryReplace(32 << 20)
	for size, want := range map[int]int{smallRun: smallRun, smallRun + 1: 0} {
		l := &logged{}
		a.ports.Runs = l
		a.inputs(t.Context(), who, run.New("run_1", run.Start{Payload: bytes.Repeat([]byte("1"), size)}, time.Time{}), &more)
		if l.most != want || more.Size() != 0 {
			t.Errorf("without memory, of a run of %d bytes %d may be shown, and %d are held", size, l.most, more.Size())
		}
	}
}

func TestASimulationIsAsLargeAsWhatFlowsInItAndWhatItGives(t *testing.T) {
	t.Parallel()
	g := &gated{let: make(chan struct{})}
	a, _ := behind(t, g)
	held := stream.Reserve(a.memory.Pages, "tenant_a")
	filler := json.RawMessage(bytes.Repeat([]byte("1"), smallRun))
	for inputs, want := range map[int]int{0: 0, 1: 2 * smallRun, 3: 4 * smallRun} {
		found := inbound.Simulated{
			Trace:  run.Trace{Run: run.New("run_1", run.Start{Payload: filler}, time.Time{})},
			Inputs: map[workflow.NodeID]json.RawMessage{},
		}
		for i := range inputs {
			found.Inputs[workflow.NodeID(rune('a'+i))] = filler
		}
		if _, err := a.holdSimulation(t.Context(), "tenant_a", new(stream.Reserve(a.memory.Intake, "tenant_a")), &held, func() (inbound.Simulated, error) { return found, nil }); err != nil || held.Size() != int64(want) {
			t.Errorf("with %d inputs, %d bytes are held: %v", inputs, held.Size(), err)
		}
	}
}
