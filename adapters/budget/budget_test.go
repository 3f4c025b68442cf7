package budget_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/sluicehq/sluice/adapters/budget"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

func TestBudget(t *testing.T) {
	portstest.Budget(t, func(whole, share int64) outbound.Budget { return budget.NewShared(whole, share) })
}

func TestABudgetSaysWhatIsUsedAndWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(8)
		if b.Whole() != 8 || b.Max() != 4 {
			t.Errorf("of %d the most is %d", b.Whole(), b.Max())
		}
		if err := b.Reserve(t.Context(), "a", 2); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		failed := make(chan error)
		go func() { failed <- b.Reserve(ctx, "a", 1) }()
		synctest.Wait()
		if b.Used() != 2 || b.Waiting() != 1 {
			t.Errorf("%d are used and %d wait", b.Used(), b.Waiting())
		}
		gone := errors.New("gone")
		cancel(gone)
		if err := <-failed; !errors.Is(err, gone) || b.Waiting() != 0 {
			t.Errorf("%d wait: %v", b.Waiting(), err)
		}
		if b.Release("a", 2); b.Used() != 0 {
			t.Errorf("%d are used", b.Used())
		}
	})
}
