package execution_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/budget"
	"github.com/sluicehq/sluice/adapters/expression"
	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/trigger"
)

func TestSelectingTakesNoMoreMemoryThanThereIs(t *testing.T) {
	budgets := budget.Divide(64<<20, 2).OfRuns()
	selections := execution.NewSelections(expression.Compiler{}, budgets)
	trg := trigger.Restore(trigger.State{ID: "trg_1", Tenant: "tenant_1", Type: trigger.Webhook, Config: trigger.RestoreConfig(`{"filter":"payload.length > 1"}`)})
	of := func(ctx context.Context, payload string) (run.Selection, error) {
		made, err := selections.Of(ctx, []byte(payload), time.Time{}, []*trigger.Trigger{trg})
		if err != nil {
			return run.Selection{}, err
		}
		return made[0], nil
	}
	many := "[" + strings.Repeat("[],", 400_000) + "[]]" // takes many times its text
	if made, err := of(t.Context(), many); err != nil || made.Refused == nil || made.Refused.Code != run.CodePayloadInvalid {
		t.Errorf("%+v, %v", made, err)
	}
	if made, err := of(t.Context(), `[1,2]`); err != nil || made.Refused != nil || made.Filtered {
		t.Errorf("%+v, %v", made, err)
	}
	most := budgets.Computing.Max()
	if err := budgets.Computing.Reserve(t.Context(), "tenant_1", most); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := of(ctx, `[1,2]`); !errors.Is(err, context.Canceled) {
		t.Errorf("without memory it computes, or fails with %v", err)
	}
	budgets.Computing.Release("tenant_1", most)
	if made, err := of(t.Context(), `[1]`); err != nil || !made.Filtered {
		t.Errorf("%+v, %v", made, err)
	}
}
