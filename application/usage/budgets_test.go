package usage_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/application/usage"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	domainusage "github.com/sluicehq/sluice/domain/usage"
	"github.com/sluicehq/sluice/ports/outbound"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

type env struct {
	*fixture.Env
	keeper *usage.Keeper
	trg    *trigger.Trigger
}

func onEachStore(t *testing.T, test func(e *env)) {
	t.Helper()
	fixture.OnEachStore(t, func(t *testing.T, store *sqlstore.Store) {
		e := &env{Env: fixture.New(t, store)}
		e.Clock.Set(time.Date(2031, 1, 31, 23, 0, 0, 0, time.UTC))
		e.keeper, e.trg = usage.NewKeeper(e.Raw, e.Clock, system.Random{}, e.Tally), e.NewSimpleTrigger("{}")
		test(e)
	})
}

// used has the tenant have started runs today, and the usage folded.
func (e *env) used(n int64) {
	e.Helper()
	e.Do(func(ctx context.Context, st outbound.Stores) error {
		return st.Usage.Log.Add(ctx, e.Owner, domainusage.DayOf(e.Clock.Now()), domainusage.Counts{Started: n, Requests: 1})
	})
	if err := e.keeper.Fold(e.Context()); err != nil {
		e.Fatal(err)
	}
}

// told lists the events of thresholds, the oldest first.
func (e *env) told() string {
	e.Helper()
	var all []string
	e.Do(func(ctx context.Context, st outbound.Stores) error {
		waiting, err := st.Webhooks.Events.PendingFanOut(ctx, 10000, "")
		for _, evt := range waiting {
			if evt.Type() == event.UsageThreshold {
				all = append(all, evt.Data().String())
			}
		}
		return err
	})
	return strings.Join(all, " ")
}

func TestATenantIsToldOnceAMonthHowMuchOfABudgetItHasUsed(t *testing.T) {
	onEachStore(t, func(e *env) {
		e.SetBudgets(tenant.Budgets{RunsPerMonth: 10})
		told := func(percent, limit, used int, month string) string {
			return fmt.Sprintf(`{"budget":"runsPerMonth","percent":%d,"limit":%d,"used":%d,"month":"%s"}`, percent, limit, used, month)
		}
		want := ""
		for _, step := range []struct {
			n    int64
			more string
		}{{7, ""}, {1, told(80, 10, 8, "2031-01")}, {1, ""}, {1, told(100, 10, 10, "2031-01")}} {
			e.used(step.n)
			want = strings.TrimSpace(want + " " + step.more)
			if got := e.told(); got != want {
				e.Errorf("after %d: %s", step.n, got)
			}
		}
		e.Clock.Set(e.Clock.Now().Add(time.Hour))
		e.used(10)
		if want += " " + told(80, 10, 10, "2031-02") + " " + told(100, 10, 10, "2031-02"); e.told() != want {
			e.Errorf("in the next month: %s", e.told())
		}
		e.SetBudgets(tenant.Budgets{RunsPerMonth: 12})
		e.used(1)
		if want += " " + told(80, 12, 11, "2031-02"); e.told() != want {
			e.Errorf("of another budget: %s", e.told())
		}
	})
}

func TestATenantIsToldOfLiveRunsAndBytes(t *testing.T) {
	onEachStore(t, func(e *env) {
		e.SetBudgets(tenant.Budgets{LiveRuns: 2})
		e.Call(e.trg, run.Call{})
		e.Call(e.trg, run.Call{})
		e.Raw.BytesKept = 1 // as the gateway has it for those without a budget
		e.used(0)
		if got := e.told(); strings.Count(got, `"budget":"liveRuns","percent":80,"limit":2,"used":2`) != 1 || strings.Count(got, `"budget":"liveRuns","percent":100`) != 1 ||
			strings.Count(got, `"budget":"bytesKept","percent":100,"limit":1`) != 1 {
			e.Error(got)
		}
	})
}

// What is refused may be large, or what else there was have ended before anybody counts it.
func TestATenantIsToldThatSomethingDidNotFit(t *testing.T) {
	for name, c := range map[string]struct {
		budgets tenant.Budgets
		payload json.RawMessage
		told    string
	}{
		"bytes":             {tenant.Budgets{BytesKept: 10_000}, json.RawMessage(`"` + strings.Repeat("x", 20_000) + `"`), `{"budget":"bytesKept","percent":100,"limit":10000,"used":8,"month":"2031-01"}`},
		"runs of the month": {tenant.Budgets{RunsPerMonth: 3}, nil, `{"budget":"runsPerMonth","percent":100,"limit":3,"used":2,"month":"2031-01"}`},
		"live runs":         {tenant.Budgets{LiveRuns: 3}, nil, `{"budget":"liveRuns","percent":80,"limit":3,"used":3,"month":"2031-01"} {"budget":"liveRuns","percent":100,"limit":3,"used":3,"month":"2031-01"}`},
	} {
		t.Run(name, func(t *testing.T) {
			onEachStore(t, func(e *env) {
				for range 2 { // which listen for the same event
					e.Call(e.NewSimpleTrigger(`{"webhookConfig":{"event":"paid"}}`), run.Call{})
				}
				e.used(2)
				e.SetBudgets(c.budgets)
				for range 2 {
					if _, err := e.Firing.ByEvent(e.Context(), e.Caller, domain.IdempotencyKey{}, run.EventCall{Event: "paid", Call: run.Call{EventData: c.payload}}); err == nil {
						e.Fatal("it is taken")
					}
					if err := e.keeper.Flush(e.Context()); err != nil {
						e.Fatal(err)
					}
					if got := e.told(); got != c.told {
						e.Error(got)
					}
				}
			})
		})
	}
}
