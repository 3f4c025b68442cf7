package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
)

const operatorRunsPath = "/v1/operator/runs"

// listed are the members of items of a list, and its total.
func (a answer) listed(t *testing.T, member string) (texts []string, total any) {
	t.Helper()
	items, _ := a.field(t, "items").([]any)
	for _, one := range items {
		fields, _ := one.(map[string]any)
		texts = append(texts, fmt.Sprint(fields[member]))
	}
	return texts, a.field(t, "total")
}

func TestTheOperatorFindsRunsOfAllTenants(t *testing.T) {
	g := newGateway(t)
	a, b := g.fixture("Acme"), g.fixture("Beta")
	g.addRuns(a)
	g.addRuns(b)
	g.addChild(b)
	for query, want := range map[string][]string{
		"?sortOrder=asc":  {a.ids["completed"], b.ids["completed"], b.ids["child"], a.ids["failed"], b.ids["failed"], a.ids["waiting"], b.ids["waiting"], a.ids["runs"], b.ids["runs"]},
		"?status=failed":  {b.ids["failed"], a.ids["failed"]},
		"?status=pending": {b.ids["child"]},
		"?status=paused&tenantId=" + string(a.id):         {a.ids["runs"], a.ids["waiting"]},
		"?tenantId=" + string(b.id) + "&status=completed": {b.ids["completed"]},
		"?tenantId=tenant_7zzzzzzzzzzzzzzzzzzzzzzzzz":     nil,
		"?tenantId=no%20identifier":                       nil,
		"?olderThan=3540&status=failed":                   nil, // they are exactly as old
		"?olderThan=3539&status=failed":                   {b.ids["failed"], a.ids["failed"]},
		"?status=failed&olderThan=0&limit=1":              {b.ids["failed"]},
		"?status=failed&limit=1&offset=1":                 {a.ids["failed"]},
		"?olderThan=3500&tenantId=" + string(b.id):        {b.ids["failed"], b.ids["child"], b.ids["completed"]},
	} {
		got, _ := g.operate(http.MethodGet, operatorRunsPath+query, "").listed(t, "id")
		if strings.Contains(query, "=asc") { // those of one instant come by their identifiers
			slices.Sort(got)
			slices.Sort(want)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", query, diff)
		}
	}
	for query, want := range map[string]string{
		"?status=nothing": "status", "?olderThan=-1": "olderThan", "?olderThan=1h": "olderThan", "?sortBy=updatedAt": "sortBy",
	} {
		got := g.operate(http.MethodGet, operatorRunsPath+query, "")
		if wrong := got.violations(t); got.status != http.StatusBadRequest || len(wrong) != 1 || !strings.HasPrefix(wrong[0], want+" ") {
			t.Errorf("%s got %d: %s", query, got.status, got.body)
		}
	}
}

// waits starts a run that no worker has taken.
func (g *gateway) waits(e fixture, letter byte, since time.Time) run.ID {
	g.Helper()
	r := run.New(run.ID(e.named("run", letter)), run.Start{
		Tenant: e.id, Workflow: "wf_1", Version: "wfv_1", Entity: e.marker(), Cause: run.CauseManual, Payload: []byte(`{}`),
	}, since)
	g.write(func(ctx context.Context, st outbound.Stores) error {
		_, err := st.Runs.Runs.Start(ctx, r)
		return err
	})
	return r.ID()
}

func TestTheEnvelopeNamesTheRunThatHasWaitedLongest(t *testing.T) {
	g := newGateway(t)
	a, b := g.fixture("Acme"), g.fixture("Beta")
	oldest := func(query string) any {
		return g.operate(http.MethodGet, operatorRunsPath+query, "").field(t, "oldestWaiting")
	}
	if got := oldest(""); got != nil {
		t.Errorf("of none it is %v", got)
	}
	g.waits(a, 'x', noon.Add(-time.Minute))
	first := g.waits(b, 'y', noon.Add(-time.Hour))
	want := map[string]any{"runId": string(first), "tenantId": string(b.id), "since": "2026-11-21T11:00:00.000Z"}
	for _, query := range []string{"", "?status=failed", "?tenantId=" + string(a.id)} {
		if diff := cmp.Diff(want, oldest(query)); diff != "" {
			t.Errorf("with %q: %s", query, diff)
		}
	}
}

func TestAQueueSaysWhatWaitsSinceWhenAndOfWhom(t *testing.T) {
	g := newGateway(t)
	a, b := g.fixture("Acme"), g.fixture("Beta")
	g.waits(a, 'x', noon.Add(-time.Minute))
	g.waits(b, 'y', noon.Add(-time.Hour))
	g.waits(b, 'z', noon.Add(-time.Second))
	want := map[string]any{"name": "runs", "waiting": 3.0, "oldestSince": "2026-11-21T11:00:00.000Z", "tenants": []any{
		map[string]any{"tenantId": string(b.id), "waiting": 2.0}, map[string]any{"tenantId": string(a.id), "waiting": 1.0},
	}}
	items, _ := g.operate(http.MethodGet, "/v1/operator/queues", "").field(t, "items").([]any)
	if len(items) != 3 {
		t.Fatalf("the queues are %v", items)
	}
	if diff := cmp.Diff(any(want), items[0]); diff != "" {
		t.Error(diff)
	}
}

// Whatever the operator asks of runs, nothing is shown of what a tenant has in them.
func TestTheOperatorSeesNothingOfWhatIsInARun(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	g.addRuns(e)
	shows := func(a answer) {
		t.Helper()
		for _, secret := range []string{e.marker(), "order-", "payment-", "Ship it?", "example.com", "1200", e.ids["approval"], e.ids["delivery"]} {
			if a.status != http.StatusOK || strings.Contains(a.body, secret) {
				t.Errorf("got %d, with %q: %s", a.status, secret, a.body)
			}
		}
	}
	shows(g.operate(http.MethodGet, operatorRunsPath, ""))
	for _, name := range []string{"completed", "failed", "waiting", "runs"} {
		shows(g.operate(http.MethodGet, operatorRunsPath+"/"+e.ids[name], ""))
	}
	for range 2 { // the second one is given again
		shows(g.operate(http.MethodPost, operatorRunsPath+"/"+e.ids["failed"]+"/retry", "", "X-Idempotency-Key", "k"))
		shows(g.operate(http.MethodPost, operatorRunsPath+"/"+e.ids["waiting"]+"/cancel", `{"reason":"gone"}`, "X-Idempotency-Key", "k"))
	}
	history := g.send(http.MethodGet, runsPath+"/"+e.ids["waiting"]+"/history", e.secret, "")
	if !strings.Contains(history.body, "gone") && !strings.Contains(g.send(http.MethodGet, runsPath+"/"+e.ids["waiting"]+"/stream", e.secret, "").body, "gone") {
		t.Errorf("the tenant does not learn the reason: %s", history.body)
	}
}

func TestTheOperatorSeesWhoWorksOnARun(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	id := g.waits(e, 'x', noon.Add(-time.Minute))
	queue := func() any { return g.operate(http.MethodGet, operatorRunsPath+"/"+string(id), "").field(t, "queue") }
	if diff := cmp.Diff(any(map[string]any{"freeAt": "2026-11-21T11:59:00.000Z"}), queue()); diff != "" {
		t.Error(diff)
	}
	var until time.Time
	g.write(func(ctx context.Context, st outbound.Stores) error {
		leased, err := st.Runs.Queue.Claim(ctx, outbound.RunClaim{Worker: "worker-7", Period: time.Hour, Limit: 1, PerTenant: 1})
		if len(leased) == 1 {
			until = leased[0].Until
		}
		return err
	})
	at := until.UTC().Format("2006-01-02T15:04:05.000Z")
	if diff := cmp.Diff(any(map[string]any{"freeAt": at, "worker": "worker-7", "leasedUntil": at}), queue()); diff != "" {
		t.Error(diff)
	}
	if g.addRuns(e); g.operate(http.MethodGet, operatorRunsPath+"/"+e.ids["completed"], "").field(t, "queue") != nil {
		t.Error("a run that has ended is in the queue")
	}
}
