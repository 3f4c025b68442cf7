package execution

import (
	"context"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Bounds of what runs compute.
const (
	// InlineSteps is how much a call computes of the runs that it continues. Workers do the
	// rest.
	InlineSteps = 20_000

	// Copies is how many copies of a run's results there are while they are recorded.
	Copies = 3

	// valuesFactor is how much memory the values of a run take, as a multiple of what is stored,
	// where they are not many and small.
	valuesFactor = 16

	// minValues is what one node may look at in any case, in bytes.
	minValues = 4 << 20
)

// Computing reserves memory before runs compute.
type Computing struct {
	budget     outbound.Budget
	brief      outbound.Budget
	processors outbound.Budget
	calls      outbound.Budget
	values     int64 // what one node may look at
}

// NewComputing lets one node look at as much as fits into the budget.
func NewComputing(b outbound.Budgets) Computing {
	values := max(minValues, (b.Computing.Max()-run.MaxComputed)*4/5)
	return Computing{budget: b.Computing, brief: b.Brief, processors: b.Processors, calls: b.Calls, values: min(run.DefaultValueBytes, values)}
}

// StepBudget bounds one step by the number of its operations; 0 stands for the default.
func (c Computing) StepBudget(steps int64) run.Budget {
	return run.Budget{Steps: steps, ValueBytes: c.values}
}

// Most is what the largest run takes.
func (c Computing) Most() int64 { return run.MaxDemand(c.StepBudget(0)) }

// Demand is what it takes to move a run on that takes so many bytes as it is stored.
func (c Computing) Demand(size int64) int64 {
	return min(c.Most(), run.MaxComputed+valuesFactor*size) + Copies*size
}

// DoLong is Do for what may take long: it leaves processors to others.
func (c Computing) DoLong(ctx context.Context, owner tenant.ID, memory int64, fn func()) error {
	return c.DoWithAside(ctx, owner, memory, func(Aside) error { fn(); return nil })
}

// Aside lets others compute while somebody waits for what is done elsewhere: what is reserved to
// compute is given back, and reserved again afterwards. What is taken all the same, in bytes, counts
// as memory of a call meanwhile. After an error nothing is reserved, and nothing is to be computed.
type Aside func(taken int64, wait func() error) error

// DoWithAside is DoLong for what waits in between.
func (c Computing) DoWithAside(ctx context.Context, owner tenant.ID, memory int64, fn func(Aside) error) error {
	held := false
	reserve := func() error {
		if err := c.budget.Reserve(ctx, owner, memory); err != nil {
			return err
		}
		if err := c.processors.Reserve(ctx, owner, 1); err != nil {
			c.budget.Release(owner, memory)
			return err
		}
		held = true
		return nil
	}
	release := func() {
		if held {
			c.processors.Release(owner, 1)
			c.budget.Release(owner, memory)
			held = false
		}
	}
	if err := reserve(); err != nil {
		return err
	}
	defer release()
	return fn(func(taken int64, wait func() error) error {
		release()
		if err := c.calls.Reserve(ctx, owner, taken); err != nil {
			return err
		}
		defer c.calls.Release(owner, taken)
		if err := wait(); err != nil {
			return err
		}
		return reserve()
	})
}

// Do computes once there is memory for it; the error is that of waiting for it. What takes little
// memory waits for nothing that may take long.
func (c Computing) Do(ctx context.Context, owner tenant.ID, memory int64, fn func()) error {
	budget := c.budget
	if memory <= outbound.BriefMemory {
		budget = c.brief
	}
	if err := budget.Reserve(ctx, owner, memory); err != nil {
		return err
	}
	defer budget.Release(owner, memory)
	fn()
	return nil
}
