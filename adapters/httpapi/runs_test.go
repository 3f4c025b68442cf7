package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/expression"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

const runsPath = "/v1/gateway/runs"

// kept is what a run keeps of its payload, as it stands in the answer.
func (a answer) kept(t *testing.T) string {
	t.Helper()
	var body struct {
		Context struct {
			Data struct{ Input json.RawMessage }
		}
	}
	if err := json.Unmarshal([]byte(a.body), &body); err != nil {
		t.Fatalf("%v: %s", err, a.body)
	}
	return string(body.Context.Data.Input)
}

func TestEventDataIsKeptAsItWasSent(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	g.addRuns(e)
	for _, sent := range []string{
		`{"b":1,"a":{"z":[],"y":null}}`, `[1.50,1e3,-0,12345678901234567890.000]`, `"<b> \u00e9 é & 🙂"`, `null`, `false`, `7`, `{"":{"":""}}`,
	} {
		for path, member := range map[string]string{
			"/triggers/" + e.ids["listening"] + "/webhook": "runId", "/workflows/" + e.ids["workflows"] + "/runs": "id",
		} {
			fired := g.send(http.MethodPost, "/v1/gateway"+path, e.secret, `{"eventData": `+sent+` }`)
			if fired.status >= http.StatusBadRequest {
				t.Fatalf("%s got %d: %s", sent, fired.status, fired.body)
			}
			found := g.send(http.MethodGet, fmt.Sprint(runsPath, "/", fired.field(t, member)), e.secret, "")
			if got := found.kept(t); got != sent {
				t.Errorf("%s was kept as %s", sent, got)
			}
		}
	}
	nothing := g.send(http.MethodPost, "/v1/gateway/workflows/"+e.ids["workflows"]+"/runs", e.secret, "")
	if got := nothing.kept(t); got != "{}" {
		t.Errorf("nothing was kept as %s", got)
	}
}

// Where a run is repeated or a node tested, what eventData is called elsewhere is the payload.
func TestThePayloadOfARunOfAVersionHasTwoNames(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	path := "/v1/gateway/workflow-versions/" + string(e.version)
	for operation, status := range map[string]int{"/runs": http.StatusCreated, "/simulate": http.StatusOK} {
		got := g.send(http.MethodPost, path+operation, e.secret, `{"payload":{"n":5}}`, "Prefer", "handling=strict")
		if input := got.field(t, "context.data.input"); got.status != status || !cmp.Equal(input, map[string]any{"n": 5.0}) {
			t.Errorf("%s: %d %s", operation, got.status, got.body)
		}
		both := g.send(http.MethodPost, path+operation, e.secret, `{"payload":{"n":5},"eventData":{}}`)
		if diff := cmp.Diff([]string{"payload conflicting"}, both.violations(t)); both.status != http.StatusBadRequest || diff != "" {
			t.Errorf("%s with both: %d %s", operation, both.status, diff)
		}
	}
}

func TestRunsAreNarrowedByTheirFilters(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	g.addRuns(e)
	g.send(http.MethodPost, "/v1/gateway/workflows/"+e.ids["workflows"]+"/runs", e.secret, `{"entityId":"by hand"}`)
	ids := func(names ...string) (all []string) {
		for _, name := range names {
			all = append(all, e.ids[name])
		}
		return all
	}
	if total := g.send(http.MethodGet, runsPath, e.secret, "").field(t, "total"); total != 5.0 {
		t.Fatalf("there are %v runs", total)
	}
	for query, want := range map[string][]string{
		"triggerId=" + e.ids["listening"]:                                       ids("runs", "waiting", "failed", "completed"),
		"sortOrder=asc&triggerId=" + e.ids["listening"]:                         ids("completed", "failed", "waiting", "runs"),
		"sortBy=updatedAt&limit=2&triggerId=" + e.ids["listening"]:              ids("runs", "waiting"),
		"limit=2&offset=1&triggerId=" + e.ids["listening"]:                      ids("waiting", "failed"),
		"triggerId=" + e.ids["triggers"]:                                        nil,
		"include=children&triggerId=" + e.ids["listening"]:                      ids("runs", "waiting", "failed", "completed"),
		"parentRunId=" + e.ids["runs"]:                                          nil,
		"parentRunId=x":                                                         nil,
		"status=paused":                                                         ids("runs", "waiting"),
		"status=failed":                                                         ids("failed"),
		"status=cancelled":                                                      nil,
		"status=paused&entityId=" + url.QueryEscape(e.ids["entity of runs"]):    ids("runs"),
		"status=completed&workflowId=" + e.ids["workflows"]:                     ids("completed"),
		"status=completed&workflowVersionId=" + e.ids["activeVersion"]:          ids("completed"),
		"workflowVersionId=" + e.ids["workflow-versions"]:                       nil,
		"status=completed&subTenantId=" + url.QueryEscape(e.ids["subTenantId"]): ids("completed"),
		"subTenantId=team-7":                                                    nil,
		"entityId=":                                                             nil,
		"to=2026-11-21T11:02:00Z":                                               ids("failed", "completed"),
		"from=2026-11-21T11:02:00Z&to=2026-11-21T12:00:00Z":                     ids("runs", "waiting"),
		"from=2026-11-21T16:48:00%2B05:45&to=2026-11-21T12:00:00Z":              ids("runs"),
		"from=2026-11-21T12:00:00.001Z":                                         nil,
	} {
		got := g.send(http.MethodGet, runsPath+"?"+query, e.secret, "")
		var page struct {
			Items []struct{ ID string }
		}
		if err := json.Unmarshal([]byte(got.body), &page); err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, item := range page.Items {
			found = append(found, item.ID)
		}
		if diff := cmp.Diff(want, found); diff != "" || got.status != http.StatusOK {
			t.Errorf("%s got %d: %s", query, got.status, diff)
		}
	}
}

// A trigger's rate limit counts the runs that it starts, and no repeats of them.
func TestATriggerAboveItsRateLimitSaysWhenToComeBack(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	g.activate(e, graph([]string{`a transform {"expression":"1"}`}), `{"webhookConfig":{"event":"order.paid"},"rateLimit":{"maxRequests":2,"windowMs":90000}}`)
	path := triggersPath + "/" + e.ids["listening"] + "/webhook"
	call := func(key string) answer {
		return g.send(http.MethodPost, path, e.secret, fmt.Sprintf(`{"dedupeKey":%q}`, key))
	}
	refused := func(step, seconds string) {
		t.Helper()
		got := call("other")
		if got.status != http.StatusTooManyRequests || got.field(t, "code") != "trigger_rate_limit_exceeded" ||
			got.header.Get("Retry-After") != seconds || fmt.Sprint(got.field(t, "retryAfter")) != seconds {
			t.Errorf("%s: got %d, Retry-After %q: %s", step, got.status, got.header.Get("Retry-After"), got.body)
		}
	}
	first := call("a")
	for range 3 {
		if again := call("a"); again.body != first.body {
			t.Errorf("a repeat got %d: %s, not %s", again.status, again.body, first.body)
		}
	}
	g.clock.Set(noon.Add(30 * time.Second))
	if second := call("b"); second.status != http.StatusOK {
		t.Errorf("the second run got %d: %s", second.status, second.body)
	}
	refused("the third run", "60")
	if again := call("a"); again.body != first.body {
		t.Errorf("a repeat above the limit got %d: %s", again.status, again.body)
	}
	event := g.send(http.MethodPost, triggersPath+"/webhook/by-event", e.secret, `{"event":"order.paid"}`)
	if event.status != http.StatusOK || event.field(t, "total") != 0.0 {
		t.Errorf("by event it is not left out: %s", event.body)
	}
	g.clock.Set(noon.Add(60500 * time.Millisecond))
	refused("half a minute later", "30")
	g.clock.Set(noon.Add(90 * time.Second))
	if third := call("c"); third.status != http.StatusOK {
		t.Errorf("after the window the third run got %d: %s", third.status, third.body)
	}
}

// What is done to a run is answered with the run as lists show it, whatever it holds.
func TestACommandOnARunIsAnsweredAsListsShowIt(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	g.addRuns(e)
	for command, id := range map[string]string{"cancel": e.ids["waiting"], "retry": e.ids["failed"]} {
		got := g.send(http.MethodPost, runsPath+"/"+id+"/"+command, e.secret, "", "X-Idempotency-Key", "k")
		again := g.send(http.MethodPost, runsPath+"/"+id+"/"+command, e.secret, "", "X-Idempotency-Key", "k")
		var listed struct{ Items []json.RawMessage }
		if err := json.Unmarshal([]byte(g.send(http.MethodGet, runsPath, e.secret, "").body), &listed); err != nil {
			t.Fatal(err)
		}
		item := slices.IndexFunc(listed.Items, func(item json.RawMessage) bool { return strings.Contains(string(item), `{"id":"`+id+`"`) })
		if diff := cmp.Diff([]string{string(listed.Items[item]), string(listed.Items[item])}, []string{got.body, again.body}); diff != "" {
			t.Errorf("%s: %s", command, diff)
		}
	}
}

// Nodes of a run that is retried may wait again. Their tokens are not in the answer, which
// is recorded for repeats.
func TestNoResumeTokenIsKeptForARepeat(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	ver, trg := g.activate(e, graph([]string{`ask input {}`, `call httpRequest {"url":"https://example.com/"}`}), onPaid)
	plan := run.NewPlan(ver.ID(), ver.Graph(), node.RegistryFor(e.id, tenant.English, nil, nil), expression.Compiler{})
	r := run.New(run.ID(e.named("run", 'r')), run.Start{
		Tenant: e.id, SubTenant: ver.SubTenant(), Workflow: ver.Workflow(), Version: ver.ID(), Trigger: trg, Entity: "order", Cause: run.CauseWebhook,
	}, noon)
	g.move(r, plan, noon, []factOf{happens(run.Started{}), happens(run.AttemptFailed{Node: "call", Attempt: 1, Code: "http_404", Message: "No."})})
	retry := func() answer {
		return g.send(http.MethodPost, fmt.Sprint(runsPath, "/", r.ID(), "/retry"), e.secret, "", "X-Idempotency-Key", "k")
	}
	first, again := retry(), retry()
	if first.status != http.StatusOK || strings.Contains(first.body, "resumeToken") {
		t.Errorf("the retry got %d: %s", first.status, first.body)
	}
	if again.status != first.status || again.body != first.body || again.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("the repeat got %d: %s\nnot %s", again.status, again.body, first.body)
	}
	_, text, _ := strings.Cut(g.send(http.MethodGet, fmt.Sprint(runsPath, "/", r.ID()), e.secret, "").body, `"resumeToken":"`)
	shown, _, _ := strings.Cut(text, `"`)
	got := g.send(http.MethodPost, triggersPath+"/resume", e.secret, fmt.Sprintf(`{"runId":%q,"resumeToken":%q,"input":"x"}`, r.ID(), shown))
	if got.status != http.StatusNoContent || got.header.Get("Content-Type") != "" || got.body != "" {
		t.Errorf("the token got %d %v: %s", got.status, got.header, got.body)
	}
}

// An event of one tenant never reaches another one's triggers and runs, though they
// bear the same names.
func TestAnEventStaysWithItsTenant(t *testing.T) {
	g := newGateway(t)
	mine, theirs := g.fixture("Mine"), g.fixture("Theirs")
	g.addRuns(mine)
	g.addRuns(theirs)
	fired := g.send(http.MethodPost, triggersPath+"/webhook/by-event", mine.secret, `{"event":"order.paid","dedupeKey":"one"}`)
	if fired.field(t, "total") != 1.0 || !strings.Contains(fired.body, mine.ids["listening"]) {
		t.Errorf("the event fired %s", fired.body)
	}
	for _, call := range []string{
		fmt.Sprintf(`{"event":"order.shipped","entityId":%q}`, theirs.ids["entity of waiting"]),
		fmt.Sprintf(`{"event":"order.shipped","entityId":%q,"resumeOptions":{"resumeAll":true,"runIds":[%q]}}`, theirs.ids["entity of waiting"], theirs.ids["waiting"]),
	} {
		if got := g.send(http.MethodPost, triggersPath+"/ingest", mine.secret, call); got.status != http.StatusOK || !strings.Contains(got.body, `"resumed":[],"triggered":[]`) {
			t.Errorf("%s got %d: %s", call, got.status, got.body)
		}
	}
	for claim, body := range map[string]string{
		"their token, which is right": fmt.Sprintf(`{"runId":%q,"resumeToken":%q}`, theirs.ids["waiting"], theirs.ids["delivery"]),
		"their token for my run":      fmt.Sprintf(`{"runId":%q,"resumeToken":%q}`, mine.ids["waiting"], theirs.ids["delivery"]),
	} {
		if got := g.send(http.MethodPost, triggersPath+"/resume", mine.secret, body); got.status != http.StatusNotFound || got.field(t, "code") != "run_not_found" {
			t.Errorf("%s got %d: %s", claim, got.status, got.body)
		}
	}
	for claim, c := range map[string]struct{ path, body, field string }{
		"their version of my workflow":      {"/workflows/" + mine.ids["workflows"] + "/runs", fmt.Sprintf(`{"workflowVersionId":%q}`, theirs.ids["activeVersion"]), "workflowVersionId"},
		"their trigger of my version":       {"/workflow-versions/" + mine.ids["activeVersion"] + "/simulate", fmt.Sprintf(`{"triggerId":%q}`, theirs.ids["listening"]), "triggerId"},
		"a trigger that is of another kind": {"/workflow-versions/" + mine.ids["activeVersion"] + "/simulate", fmt.Sprintf(`{"triggerId":%q}`, mine.ids["triggers"]), "triggerId"},
	} {
		if got := g.send(http.MethodPost, "/v1/gateway"+c.path, mine.secret, c.body); got.status != http.StatusBadRequest || got.violations(t)[0] != c.field+" unknown" {
			t.Errorf("%s got %d: %s", claim, got.status, got.body)
		}
	}
	if got := g.send(http.MethodGet, runsPath+"?status=paused", theirs.secret, ""); got.field(t, "total") != 2.0 {
		t.Errorf("their runs are %s", got.body)
	}
}

// A whole run, as a client sees it: the call, the stream while a worker moves the run
// on, a person's answer, and the end.
func TestAStreamShowsARunWhileItContinues(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	g.activate(e, graph([]string{`call httpRequest {"url":"https://example.com/"}`, `ask input {}`, `after transform {"expression":"input.value"}`},
		"call -> ask", "ask -> after"), onPaid)
	called := make(chan outbound.NodeCall, 1)
	answered := make(chan struct{})
	g.startWorker(func(ctx context.Context, call outbound.NodeCall) (outbound.NodeOutcome, error) {
		called <- call
		select {
		case <-answered:
			return outbound.NodeCompleted{Output: map[string]any{"status": json.Number("200")}}, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	})
	server := httptest.NewServer(g.api) // the validator holds answers back until they are complete
	defer server.Close()
	id := fmt.Sprint(g.send(http.MethodPost, triggersPath+"/"+e.ids["listening"]+"/webhook", e.secret, `{"eventData":{"n":1}}`).field(t, "runId"))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+runsPath+"/"+id+"/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-API-Key", e.secret)
	stream, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Body.Close() }() // it has been read
	events := newEvents(stream.Body)
	want := func(types ...string) {
		t.Helper()
		for _, name := range types {
			if got := events.next(t); got != name {
				t.Fatalf("%s was told, not %s", got, name)
			}
		}
	}
	want("run.started", "node.started")
	if call := <-called; call.RunID != id || call.IdempotencyKey != id+":call" {
		t.Errorf("the call is %+v", call)
	}
	close(answered)
	want("node.completed", "node.waiting", "run.paused")
	shown := g.send(http.MethodGet, runsPath+"/"+id, e.secret, "")
	_, token, _ := strings.Cut(shown.body, `"resumeToken":"`)
	token, _, _ = strings.Cut(token, `"`)
	resumed := g.send(http.MethodPost, triggersPath+"/resume", e.secret, fmt.Sprintf(`{"runId":%q,"resumeToken":%q,"input":"yes"}`, id, token))
	if resumed.status != http.StatusNoContent {
		t.Fatalf("the answer got %d: %s, the run is %s", resumed.status, resumed.body, shown.body)
	}
	want("run.resumed", "node.completed", "node.completed", "run.completed", "end", "")
	over := g.send(http.MethodGet, runsPath+"/"+id+"/stream?after="+fmt.Sprint(events.last), e.secret, "")
	if over.status != http.StatusNoContent || over.body != "" {
		t.Errorf("whoever has everything gets %d: %s", over.status, over.body)
	}
}
