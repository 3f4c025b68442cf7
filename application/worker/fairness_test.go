package worker_test

import (
	"context"
	"os"
	"sync"
	"testing"

	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/application/worker"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// However many runs of a tenant wait to be handed over to an engine, another one's take turns with them.
func TestATenantWithManyRunsThatAreHandedOverKeepsNobodyFromTurns(t *testing.T) {
	t.Parallel()
	w := newEnv(t, fixture.OpenSQLite(t))
	if os.Getenv(fixture.EngineVariable) == "" {
		w.HandOverTo(new(fixture.Relay))
	}
	const backlog, few, perTenant = 20_000, 20, 8
	large := w.Owner
	var mu sync.Mutex
	called := make(map[tenant.ID]int)
	calls := func(of tenant.ID) int {
		mu.Lock()
		defer mu.Unlock()
		return called[of]
	}
	w.NodeRunner.Answer = func(_ context.Context, call outbound.NodeCall) (outbound.NodeOutcome, error) {
		mu.Lock()
		defer mu.Unlock()
		called[call.Tenant]++
		return outbound.NodeCompleted{}, nil
	}
	ver := w.NewVersion([]string{"a " + fixture.CallNode}, nil)
	for left := backlog; left > 0; left -= 1000 {
		w.Accept(ver, 1000, fixture.RunOptions{})
	}
	small := w.NewTenant()
	w.Owner = small
	other := w.NewVersion([]string{"a " + fixture.CallNode}, nil)
	for range 2 {
		w.Work(w.NewWorker(w.Store, w.Signals, worker.Options{Name: "test", Concurrency: 2 * perTenant, PerTenant: perTenant}))
	}
	w.Eventually("runs of the large tenant are worked on", func() bool { return calls(large) > 2*perTenant })
	before := calls(large)
	w.Accept(other, few, fixture.RunOptions{})
	w.Eventually("the runs of the small tenant are over", func() bool { return calls(small) == few })
	if meanwhile := calls(large) - before; meanwhile > 3*few {
		t.Errorf("%d runs of the large tenant came before the %d of the small one", meanwhile, few)
	}
}
