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

func TestAFewPasswordsAreHashedAtATime(t *testing.T) {
	for claim, c := range map[string]struct {
		limit      int64
		processors int
		want       int64
	}{
		"one with little memory":                  {budget.MinMemory, 8, 1},
		"as many as a sixteenth of it lets":       {1 << 30, 8, 3},
		"no more than there are processors":       {4 << 30, 2, 2},
		"one where there is hardly any of either": {0, 0, 1},
	} {
		memory := budget.Divide(c.limit, c.processors)
		for i := range c.want {
			if !memory.Passwords.TryReserve("", outbound.PasswordMemory) {
				t.Errorf("%s: %d of %d are hashed at a time", claim, i, c.want)
			}
		}
		if memory.Passwords.TryReserve("", outbound.PasswordMemory) {
			t.Errorf("%s: more than %d are hashed at a time", claim, c.want)
		}
	}
}
