package workflows

import (
	"context"
	"errors"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// WithBudget has a version checked only when memory is reserved for it. It returns the service.
func (s *Versions) WithBudget(memory outbound.Budget) *Versions {
	s.memory = memory
	return s
}

// memoryTimeout is how long a check waits for memory.
const memoryTimeout = 5 * time.Second

var errMemoryBusy = func() error {
	e := domain.Fail(domain.Unavailable, "memory_busy", "There is no memory to check the version at the moment. Try again in a second.")
	e.RetryAfter = time.Second
	return e
}()

// weightOfCheck is how many bytes it takes at most to check a graph: its documents are
// decoded, and those with templates a second time, its expressions compiled one by one, and what
// each node gives is remembered.
func weightOfCheck(g workflow.Graph) int64 {
	var w domain.JSONWeight
	for _, n := range g.Nodes() {
		for _, doc := range []domain.Document{n.Config, n.InputSchema, n.OutputSchema} {
			w.Add(domain.WeighJSON(doc.String()))
		}
	}
	return 8*w.Bytes + 2*w.Tree() + int64(len(g.Nodes()))*weightOfTypes
}

// weightOfTypes is how many bytes it takes at most to remember what a node gives.
const weightOfTypes = 16 << 10

func weightOfSchemas(of []trigger.Config) int64 {
	var w domain.JSONWeight
	for _, config := range of {
		w.Add(domain.WeighJSON(config.Document().String()))
	}
	return 8*w.Bytes + 2*w.Tree()
}

// reserveFunc reserves the bytes that it takes to check a version with all that it is checked
// against.
type reserveFunc func(need int64) error

// needsMemory ends a unit of work that cannot go on before somebody has waited.
type needsMemory struct{ bytes int64 }

func (*needsMemory) Error() string { return "there is no memory at the moment" }

func isMemoryNeeded(err error) bool {
	var needs *needsMemory
	return errors.As(err, &needs)
}

// reserved calls do, which calls reserve before it checks a version. Where there is no
// memory at once, do is to return its error, and is called again when there is: nothing is
// held of the database while it waits.
func (s *Versions) reserved(ctx context.Context, owner tenant.ID, do func(reserve reserveFunc) error) error {
	if s.memory == nil {
		return do(func(int64) error { return nil })
	}
	var held int64
	defer func() { s.memory.Release(owner, held) }()
	reserve := func(need int64) error {
		switch {
		case need <= held:
			return nil
		case need > s.memory.Max():
			return domain.Fail(domain.Conflict, "version_too_complex",
				"The documents of the version's nodes hold so many values that there is not enough memory to check them. Let them hold fewer.")
		}
		s.memory.Release(owner, held)
		held = 0
		if !s.memory.TryReserve(owner, need) {
			return &needsMemory{need}
		}
		held = need
		return nil
	}
	waiting, stop := context.WithTimeoutCause(ctx, memoryTimeout, errMemoryBusy)
	defer stop()
	for {
		err := do(reserve)
		var needs *needsMemory
		if !errors.As(err, &needs) {
			return err
		}
		if err := s.memory.Reserve(waiting, owner, needs.bytes); err != nil {
			return err
		}
		held = needs.bytes
	}
}
