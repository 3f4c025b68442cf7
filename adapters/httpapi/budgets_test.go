package httpapi_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTheOperatorSetsBudgetsThatTheTenantSees(t *testing.T) {
	g := newGateway(t)
	g.store.BytesKept = 10 << 30
	c := g.customer("Acme")
	path := tenantsPath + "/" + string(c.id)
	seen := func(want string) {
		t.Helper()
		for _, got := range []answer{
			g.operate(http.MethodGet, path, ""), g.send(http.MethodGet, "/v1/gateway/settings", c.secret, ""), g.send(http.MethodGet, "/v1/gateway/usage", c.secret, ""),
			g.operate(http.MethodGet, "/v1/operator/usage?tenantId="+string(c.id), ""),
		} {
			if !strings.Contains(got.body, `"budgets":`+want) {
				t.Errorf("%s is not %s", got.body, want)
			}
		}
	}
	seen(`{"bytesKept":10737418240}`)
	got := g.operate(http.MethodPatch, path, `{"budgets":{"runsPerMonth":1000,"liveRuns":50,"bytesKept":1048576}}`)
	if got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	seen(`{"bytesKept":1048576,"liveRuns":50,"runsPerMonth":1000}`)
	if got := g.operate(http.MethodPatch, path, `{"name":"Acme Inc","budgets":{"liveRuns":null,"bytesKept":null}}`); got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	seen(`{"bytesKept":10737418240,"runsPerMonth":1000}`)
	if got := g.send(http.MethodGet, "/v1/gateway/usage", c.secret, ""); !strings.Contains(got.body, `"used":{"bytesKept":0,"runsPerMonth":0}`) {
		t.Error(got.body)
	}
	made := g.operate(http.MethodPost, tenantsPath, `{"name":"b","budgets":{"runsPerMonth":7}}`)
	if made.field(t, "budgets.runsPerMonth") != 7.0 {
		t.Error(made.body)
	}
	wrong := g.operate(http.MethodPatch, path, `{"budgets":{"runsPerMonth":0,"liveRuns":-1,"bytesKept":1.5}}`)
	if diff := cmp.Diff([]string{"budgets.bytesKept not_whole", "budgets.runsPerMonth too_small", "budgets.liveRuns too_small"}, wrong.violations(t)); diff != "" {
		t.Errorf("%s: %s", wrong.body, diff)
	}
	g.send(http.MethodPatch, "/v1/gateway/settings", c.secret, `{"budgets":{"runsPerMonth":9999}}`) // which is not the tenant's to change
	seen(`{"bytesKept":10737418240,"runsPerMonth":1000}`)
}

func TestBeyondABudgetOfRunsTheAnswerSaysWhenToTryAgain(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	g.addRuns(e)
	path := tenantsPath + "/" + string(e.id)
	refused := func(budgets string, after time.Duration, ways map[string]string) {
		t.Helper()
		if got := g.operate(http.MethodPatch, path, `{"budgets":`+budgets+`}`); got.status != http.StatusOK {
			t.Fatalf("%d %s", got.status, got.body)
		}
		for path, body := range ways {
			got := g.send(http.MethodPost, path, e.secret, body)
			if want := strconv.Itoa(int(after.Seconds())); got.status != http.StatusTooManyRequests || got.field(t, "code") != "budget_exceeded" || got.header.Get("Retry-After") != want {
				t.Errorf("%s: %d, after %s and not %s: %s", path, got.status, got.header.Get("Retry-After"), want, got.body)
			}
		}
	}
	ways := map[string]string{
		"/v1/gateway/triggers/" + e.ids["listening"] + "/webhook":               `{}`,
		"/v1/gateway/triggers/webhook/by-event":                                 `{"event":"order.paid"}`,
		"/v1/gateway/triggers/ingest":                                           `{"event":"order.paid"}`,
		"/v1/gateway/workflows/" + e.ids["workflows"] + "/runs":                 `{}`,
		"/v1/gateway/workflow-versions/" + e.ids["workflow-versions"] + "/runs": `{}`,
		"/v1/gateway/runs/" + e.ids["failed"] + "/rerun":                        `{}`,
	}
	refused(`{"runsPerMonth":1}`, time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC).Sub(g.clock.Now()), ways)
	ways["/v1/gateway/runs/"+e.ids["failed"]+"/retry"] = ""
	refused(`{"runsPerMonth":null,"liveRuns":1}`, 10*time.Second, ways)
	if got := g.operate(http.MethodPost, "/v1/operator/runs/"+e.ids["failed"]+"/retry", ""); got.status != http.StatusTooManyRequests || got.field(t, "code") != "budget_exceeded" {
		t.Errorf("the operator: %d %s", got.status, got.body)
	}
}
