package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// schedule stores a trigger that fires each night on an active version of the fixture's
// workflow, with a ledger of three nights, and returns its identifier.
func (g *gateway) schedule(e fixture) string {
	g.Helper()
	const suffix = "_0000000000000000000000000s"
	night := time.Date(2026, 11, 19, 1, 30, 0, 0, time.UTC)
	g.write(func(ctx context.Context, st outbound.Stores) error {
		wf, err := st.Workflows.Get(ctx, tenant.All(e.id), workflow.ID(e.ids["workflows"]))
		if err != nil {
			return err
		}
		number, err := st.Workflows.NextVersion(ctx, tenant.All(e.id), wf.ID())
		if err != nil {
			return err
		}
		ver := workflow.VersionState{
			ID: "wfv" + suffix, Workflow: wf.ID(), Tenant: e.id, SubTenant: wf.SubTenant(), Number: number,
			Active: true, PublishedAt: &night, CreatedAt: night, Revision: 1,
		}
		if err := st.Versions.Insert(ctx, workflow.RestoreVersion(ver)); err != nil {
			return err
		}
		trg := trigger.State{
			ID: "trg" + suffix, Tenant: e.id, SubTenant: wf.SubTenant(), Version: ver.ID, Name: "Each night", Type: trigger.Scheduled, Active: true,
			Config:      trigger.RestoreConfig(`{"scheduleConfig":{"cron":"30 2 * * *","timezone":"Europe/Berlin","overlap":"skip"}}`),
			ActivatedAt: night, CreatedAt: night, UpdatedAt: night, Revision: 1,
		}
		if err := st.Triggers.Insert(ctx, trigger.Restore(trg)); err != nil {
			return err
		}
		var fires []*trigger.Fire
		for i, f := range []trigger.FireState{
			{Outcome: trigger.Fired, RunID: "run_00000000000000000000000001"},
			{Outcome: trigger.Late, Reason: "fired 7s after it was due", RunID: "run_00000000000000000000000002"},
			{Outcome: trigger.Suppressed, Reason: "a run of this trigger still goes on, and overlap is set to skip"},
		} {
			f.Trigger, f.Tenant, f.At = trg.ID, trg.Tenant, night.AddDate(0, 0, i)
			f.RecordedAt = f.At.Add(31 * time.Millisecond)
			fires = append(fires, trigger.RestoreFire(f))
		}
		_, err = st.Fires.Record(ctx, fires)
		return err
	})
	return "trg" + suffix
}

// What the preview promises is what the schedule keeps: the times of a trigger are those
// of its configuration.
func TestATriggerAndItsConfigurationArePreviewedAlike(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	for _, config := range []string{
		`{"scheduleConfig":{"cron":"*/15 9-17 * * 1-5","timezone":"America/New_York"}}`, `{"scheduleConfig":{"intervalMs":90000}}`, `{"scheduleConfig":{}}`,
	} {
		made := g.createTrigger(e.secret, fmt.Sprintf(`{"workflowVersionId":%q,"name":"Scheduled","type":"schedule","config":%s}`, e.ids["workflow-versions"], config))
		stored := g.send(http.MethodGet, fmt.Sprint(triggersPath, "/", made.field(t, "id"), "/preview?count=100"), e.public, "")
		draft := g.send(http.MethodPost, triggersPath+"/preview", e.secret, fmt.Sprintf(`{"config":%s,"count":100}`, config))
		if stored.status != http.StatusOK || draft.status != http.StatusOK {
			t.Fatalf("got %d and %d: %s", stored.status, draft.status, draft.body)
		}
		if diff := cmp.Diff(draft.field(t, "items"), stored.field(t, "items")); diff != "" {
			t.Errorf("%s: %s", config, diff)
		}
	}
}

func TestWhatATriggerDoesNextFollowsWhatIsSwitchedOff(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	id := g.schedule(e)
	reason := func() string {
		got := g.send(http.MethodGet, triggersPath+"/"+id+"/preview", e.public, "")
		if items, _ := got.field(t, "items").([]any); got.status != http.StatusOK || len(items) != trigger.DefaultPreview {
			t.Fatalf("got %d: %s", got.status, got.body)
		}
		text, _ := got.field(t, "reason").(string)
		return text
	}
	if got := reason(); got != "" {
		t.Errorf("while all is active: %s", got)
	}
	g.send(http.MethodPatch, "/v1/gateway/workflows/"+e.ids["workflows"], e.secret, `{"isActive":false}`)
	if got := reason(); !strings.HasPrefix(got, "The workflow is inactive") {
		t.Error(got)
	}
	g.send(http.MethodPatch, triggersPath+"/"+id, e.secret, `{"isActive":false}`)
	if got := reason(); !strings.HasPrefix(got, "The trigger is inactive") {
		t.Error(got)
	}
}

func TestTheLedgerIsReadByTimeInAnyZone(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	id := g.schedule(e)
	for query, want := range map[string]string{
		"":                                      "suppressed late fired",
		"?sortOrder=asc":                        "fired late suppressed",
		"?from=2026-11-20T01:30:00Z":            "suppressed late",
		"?from=2026-11-20T02:30:00.001%2B01:00": "suppressed",
		"?to=2026-11-20T01:30:00Z":              "fired",
		"?from=2026-11-20T00:00:00Z&outcome=late":                         "late",
		"?from=9999-12-31T23:59:59Z":                                      "",
		"?to=0000-01-01T00:00:00Z":                                        "",
		"?" + url.Values{"search": {"x"}, "isActive": {"false"}}.Encode(): "suppressed late fired", // no filters of this list
	} {
		got := g.send(http.MethodGet, triggersPath+"/"+id+"/fires"+query, e.public, "")
		var outcomes []string
		items, _ := got.field(t, "items").([]any)
		for _, item := range items {
			fire, _ := item.(map[string]any)
			outcomes = append(outcomes, fmt.Sprint(fire["outcome"]))
		}
		if diff := cmp.Diff(want, strings.Join(outcomes, " ")); got.status != http.StatusOK || diff != "" || got.field(t, "total") != float64(len(outcomes)) {
			t.Errorf("%q got %d: %s", query, got.status, diff)
		}
	}
}

// The ledger and the plans of one tenant are as absent to another as what does not exist.
func TestNobodyElseSeesATriggersSchedule(t *testing.T) {
	g := newGateway(t)
	mine, theirs := g.fixture("Mine"), g.fixture("Theirs")
	id := g.schedule(theirs)
	for _, path := range []string{"/preview", "/fires", "/preview?count=3", "/fires?outcome=late"} {
		foreign := g.send(http.MethodGet, triggersPath+"/"+id+path, mine.secret, "", "X-Request-Id", "same")
		absent := g.send(http.MethodGet, triggersPath+"/trg_7zzzzzzzzzzzzzzzzzzzzzzzzz"+path, mine.secret, "", "X-Request-Id", "same")
		wrong := g.send(http.MethodGet, triggersPath+"/%00"+path, mine.secret, "", "X-Request-Id", "same")
		for _, got := range []answer{foreign, absent, wrong} {
			if got.status != http.StatusNotFound || got.field(t, "code") != "trigger_not_found" || got.field(t, "message") != absent.field(t, "message") {
				t.Errorf("%s got %d: %s", path, got.status, got.body)
			}
		}
		if own := g.send(http.MethodGet, triggersPath+"/"+id+path, theirs.public, ""); own.status != http.StatusOK {
			t.Errorf("their own %s got %d", path, own.status)
		}
	}
	if !domain.ValidIdentifier(id, trigger.IDPrefix) {
		t.Error("the fixture's identifier is spelled wrong")
	}
}

func TestAPathThatIsSpelledOutIsNoIdentifier(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	for path, methods := range map[string][2]string{
		"/triggers/preview":      {http.MethodPost, "GET PATCH DELETE PUT"},
		"/custom-nodes/registry": {http.MethodGet, "PATCH DELETE POST"},
		"/sub-tenants/combined":  {http.MethodGet, "PATCH DELETE POST"},
	} {
		for method := range strings.FieldsSeq(methods[1]) {
			got := g.send(method, "/v1/gateway"+path, c.secret, "")
			if got.status != http.StatusMethodNotAllowed || got.header.Get("Allow") != methods[0] || got.field(t, "code") != "method_not_allowed" {
				t.Errorf("%s %s got %d, Allow %q: %s", method, path, got.status, got.header.Get("Allow"), got.body)
			}
		}
	}
}
