package tenant_test

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

func TestMoreIsKeptAsLongAsThereIsRoom(t *testing.T) {
	for _, c := range []struct {
		budget     int64
		kept, more int64
		ok         bool
	}{
		{100, 0, 100, true}, {100, 0, 101, false}, {100, 60, 40, true}, {100, 60, 41, false}, {100, 100, 0, true}, {100, 101, 0, false},
		{100, -5, 100, true}, {0, math.MaxInt64, 1, true}, {1, 0, math.MaxInt64, false},
	} {
		err := tenant.Budgets{BytesKept: c.budget}.CheckBytes(c.kept, c.more)
		var e *domain.Error
		if c.ok != (err == nil) || !c.ok && (!errors.As(err, &e) || e.Kind != domain.Conflict || e.Code != "storage_exceeded") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestARefusalSaysHowMuchIsKeptAndMayBe(t *testing.T) {
	for kept, want := range map[int64]string{
		1000: "1000 bytes", 1536: "1.5 KiB", 5 << 20: "5.0 MiB", 11<<30 + 1<<29: "11.5 GiB", 1 << 30: "1.0 GiB", 2000 << 40: "1.9 PiB", 1<<20 - 1: "1023.9 KiB",
	} {
		err := tenant.Budgets{BytesKept: 500}.CheckBytes(kept, 0)
		message := "The runs of this tenant take " + want + ", and at most 500 bytes are kept. Runs are removed some days after they have ended. " +
			"Ask the operator for more storage, or to keep runs for fewer days."
		var e *domain.Error
		if !errors.As(err, &e) || e.Message != message {
			t.Errorf("%d: %v", kept, err)
		}
	}
}

func TestRunsAreStartedAsLongAsNoBudgetIsUsedUp(t *testing.T) {
	for _, c := range []struct {
		budgets, used tenant.Budgets
		more          int64
		retry         time.Duration // 0 where they may be started
	}{
		{tenant.Budgets{}, tenant.Budgets{RunsPerMonth: math.MaxInt64, LiveRuns: math.MaxInt64}, 1, 0},
		{tenant.Budgets{RunsPerMonth: 10}, tenant.Budgets{RunsPerMonth: 9, LiveRuns: 99}, 1, 0},
		{tenant.Budgets{RunsPerMonth: 10}, tenant.Budgets{RunsPerMonth: 9}, 2, time.Hour},
		{tenant.Budgets{RunsPerMonth: 10}, tenant.Budgets{RunsPerMonth: 11}, 1, time.Hour},
		{tenant.Budgets{LiveRuns: 10}, tenant.Budgets{RunsPerMonth: 99, LiveRuns: 9}, 1, 0},
		{tenant.Budgets{LiveRuns: 10}, tenant.Budgets{LiveRuns: 10}, 1, 10 * time.Second},
		{tenant.Budgets{RunsPerMonth: 10, LiveRuns: 10}, tenant.Budgets{RunsPerMonth: 10, LiveRuns: 10}, 1, time.Hour},
		{tenant.Budgets{RunsPerMonth: 1}, tenant.Budgets{}, math.MaxInt64, time.Hour},
	} {
		err := c.budgets.CheckRuns(c.used, c.more, time.Hour)
		var e *domain.Error
		if (c.retry == 0) != (err == nil) || c.retry != 0 && (!errors.As(err, &e) || e.Kind != domain.RateLimited || e.Code != tenant.CodeBudgetExceeded || e.RetryAfter != c.retry) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestAThresholdIsReachedAtItsPartOfABudgetAndTheLastOneByARefusal(t *testing.T) {
	for used, want := range map[int64][2]string{0: {"[]", "[100]"}, 7: {"[]", "[100]"}, 8: {"[80]", "[80 100]"}, 9: {"[80]", "[80 100]"}, 10: {"[80 100]", "[80 100]"}, 11: {"[80 100]", "[80 100]"}} {
		for _, name := range tenant.BudgetNames() {
			var b, u tenant.Budgets
			*b.Field(name), *u.Field(name) = 10, used
			if got := [2]string{fmt.Sprint(b.Reached(name, u, false)), fmt.Sprint(b.Reached(name, u, true))}; got != want {
				t.Errorf("%s of %d: %s", name, used, got)
			}
			if got := (tenant.Budgets{}).Reached(name, u, true); got != nil {
				t.Errorf("without a budget: %v", got)
			}
		}
	}
}

func TestTheOperatorChangesBudgets(t *testing.T) {
	ten, err := tenant.New("tenant_1", tenant.Draft{Name: "Acme", Budgets: map[tenant.BudgetName]tenant.BudgetPatch{
		tenant.RunsPerMonth: {Limit: new(int64(1000))}, tenant.LiveRuns: {Limit: new(int64(50))},
	}}, noon)
	if err != nil {
		t.Fatal(err)
	}
	change := func(p map[tenant.BudgetName]tenant.BudgetPatch) error {
		return ten.Revise(tenant.Patch{Budgets: p}, noon)
	}
	if err := change(map[tenant.BudgetName]tenant.BudgetPatch{tenant.LiveRuns: {Remove: true}, tenant.BytesKept: {Limit: new(int64(1 << 20))}}); err != nil {
		t.Fatal(err)
	}
	if got, want := ten.Settings().Budgets, (tenant.Budgets{RunsPerMonth: 1000, BytesKept: 1 << 20}); got != want {
		t.Errorf("they are %+v", got)
	}
	if got := ten.Facts()["budgets"].String(); got != `{"bytesKept":1048576,"runsPerMonth":1000}` {
		t.Errorf("the audit log says %s", got)
	}
	err = change(map[tenant.BudgetName]tenant.BudgetPatch{tenant.RunsPerMonth: {Limit: new(int64(0))}, tenant.LiveRuns: {Limit: new(int64(-1))}, tenant.BytesKept: {Limit: new(int64(1<<53 + 1))}})
	const want = "tenant_invalid: The tenant is not valid.; budgets.runsPerMonth must be at least 1, not 0; budgets.liveRuns must be at least 1, not -1; " +
		"budgets.bytesKept must be at most 9007199254740992, not 9007199254740993"
	if err == nil || err.Error() != want {
		t.Error(err)
	}
}
