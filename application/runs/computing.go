package runs

import (
	"cmp"
	"context"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Bounds of what runs compute.
const (
	// inlineSteps is how much a call computes of the runs that it continues. Workers do the
	// rest.
	inlineSteps = 20_000

	// keptValues is how much memory the values of a run may take between two of its steps, in
	// bytes. Beyond that they are read again.
	keptValues = 64 << 10

	// leastValues is what one node may look at in any case, in bytes.
	leastValues = 4 << 20

	// lightMemory is with how much memory nobody computes for long, in bytes.
	lightMemory = run.MaxComputed + 4<<20

	// lightSteps is how much a run computes before it waits for a turn to compute for long.
	lightSteps = 100_000
)

// computing reserves memory before runs compute.
type computing struct {
	budget     outbound.Budget
	processors outbound.Budget
	values     int64 // what one node may look at
}

// newComputing lets one node look at as much as fits into the budget.
func newComputing(b outbound.Budgets) computing {
	values := max(leastValues, (b.Computing.Most()-run.MaxComputed)*4/5)
	return computing{budget: b.Computing, processors: b.Processors, values: min(run.DefaultValues, values)}
}

// bounded is a budget of a step.
func (c computing) bounded(steps int64) run.Budget { return run.Budget{Steps: steps, Values: c.values} }

// most is what the largest run takes.
func (c computing) most() int64 { return run.MostDemand(c.bounded(0)) }

// doLong is do for what may take long: it leaves processors to others.
func (c computing) doLong(ctx context.Context, owner tenant.ID, memory int64, fn func()) error {
	var waited error
	err := c.do(ctx, owner, memory, func() {
		if waited = c.processors.Reserve(ctx, owner, 1); waited == nil {
			defer c.processors.Release(owner, 1)
			fn()
		}
	})
	return cmp.Or(err, waited)
}

// do computes once there is memory for it; the error is that of waiting for it.
func (c computing) do(ctx context.Context, owner tenant.ID, memory int64, fn func()) error {
	if err := c.budget.Reserve(ctx, owner, memory); err != nil {
		return err
	}
	defer c.budget.Release(owner, memory)
	fn()
	return nil
}
