package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/adapters/budget"
	"github.com/sluicehq/sluice/adapters/directory"
	"github.com/sluicehq/sluice/adapters/expression"
	"github.com/sluicehq/sluice/adapters/httpapi"
	"github.com/sluicehq/sluice/adapters/httpapi/client"
	"github.com/sluicehq/sluice/adapters/httpapi/contract"
	"github.com/sluicehq/sluice/adapters/httpapi/operator"
	"github.com/sluicehq/sluice/adapters/httpapi/stream"
	"github.com/sluicehq/sluice/adapters/limiter/memory"
	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/application/admission"
	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/application/firing"
	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/application/runs"
	"github.com/sluicehq/sluice/application/tenants"
	"github.com/sluicehq/sluice/application/triggers"
	"github.com/sluicehq/sluice/application/worker"
	"github.com/sluicehq/sluice/application/workflows"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

const operatorToken = "operator-of-the-tests_7f3a91c4d2e8"

// serve runs the gateway and returns its address and a tenant's secret key.
func serve(t *testing.T) (baseURL, key string) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "sluice.db"), sqlite.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	if _, err := store.Migrator().Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	engine := fixture.TestEngine(t)
	fixture.BeginWith(t, store, engine)
	clock, random, limiter := system.Clock{}, system.Random{}, memory.New(system.Clock{})
	known, signals, compiler := directory.New(store), sqlstore.NewRunSignals(store), expression.Compiler{}
	versions := workflows.NewVersions(store, known, expression.Checker{}, clock, random)
	allowance := execution.NewAllowance(clock, nil)
	api, err := httpapi.New(httpapi.Ports{
		Admission: admission.New(known, nil, limiter, clock), Tenants: tenants.New(store, clock, random),
		Triggers:  triggers.New(store, known, sqlstore.NewTriggerInserter(store), expression.Checker{}, limiter, clock, random),
		Workflows: workflows.New(store, signals, clock, random), Versions: versions, Publishing: versions,
		Firing: firing.New(store, known, compiler, execution.NewSelections(compiler, budget.Divide(1<<40, 2).OfRuns()), signals, limiter, clock, random, run.Key{1}, budget.Divide(1<<40, 2).OfRuns(), allowance), Runs: runs.New(store, known, compiler, signals, clock, random, run.Key{1}, budget.Divide(1<<40, 2).OfRuns(), allowance),
	}, httpapi.Options{Log: zerolog.Nop(), MaxBody: 1 << 20, Now: clock.Now, NewID: random.ID, Ready: func(context.Context) error { return nil },
		OperatorTokens: operator.NewTokens(operator.NewToken(operatorToken)),
		Memory:         stream.Memory{Intake: budget.New(64 << 20), Pages: budget.New(64 << 20), Simulations: budget.New(4)}})
	if err != nil {
		t.Fatal(err)
	}
	made, err := tenants.New(store, clock, random).Create(t.Context(), domain.IdempotencyKey{}, tenant.Draft{Name: "Acme"})
	if err != nil {
		t.Fatal(err)
	}
	runner := worker.New(store, nobody{}, directory.NewEndpoints(known, clock), compiler, known, signals, random, run.Key{1}, budget.Divide(1<<40, 2).OfRuns(), allowance, worker.Options{Name: "test"}).WithEngine(engine)
	ctx, stop := context.WithCancel(context.Background())
	var working sync.WaitGroup
	working.Go(func() { fixture.Serve(ctx, runner, engine, func(err error) { t.Error(err) }) })
	t.Cleanup(func() {
		stop()
		working.Wait()
	})
	server := httptest.NewServer(contract.New(t).Handler(api))
	t.Cleanup(server.Close)
	return server.URL, made.Secret.Text.Reveal()
}

// nobody is outside.
type nobody struct{ outbound.NodeRunner }

func connect(t *testing.T) *client.Client {
	t.Helper()
	api, err := client.Connect(serve(t))
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// publish makes a version with one node active and returns it.
func publish(t *testing.T, api *client.Client, node client.NodeDraft) *client.WorkflowVersion {
	t.Helper()
	wf, err := api.CreateWorkflow(t.Context(), nil, client.CreateWorkflow{Name: "Orders"})
	if err != nil {
		t.Fatal(err)
	}
	ver, err := api.CreateWorkflowVersion(t.Context(), client.CreateWorkflowVersion{WorkflowID: wf.ID, Nodes: &[]client.NodeDraft{node}})
	if err != nil {
		t.Fatal(err)
	}
	published, err := api.PublishWorkflowVersion(t.Context(), ver.ID, client.OnPublish{})
	if err != nil {
		t.Fatal(err)
	}
	return &published.Version
}

func transform(id, source string) client.NodeDraft {
	return client.NodeDraft{
		ID: id, Type: new("transform"), Version: new("1.0.0"), Position: &client.Position{X: 0.5, Y: 1e15 + 1},
		Config: &map[string]any{"transformType": "expression", "expression": source},
	}
}

func TestFromAnEmptyTenantToATrigger(t *testing.T) {
	api := connect(t)
	ver := publish(t, api, transform("notice", "payload.id"))
	if !ver.IsActive || ver.PublishedAt.After(time.Now().Add(time.Minute)) || ver.Nodes[0].Position.Y != 1e15+1 {
		t.Errorf("published %+v", ver)
	}
	trg, err := api.CreateTrigger(t.Context(), client.CreateTrigger{WorkflowVersionID: ver.ID, Name: "Paid", Type: client.TriggerTypeWebhook})
	if err != nil {
		t.Fatal(err)
	}
	page, err := api.ListTriggers(t.Context(), &client.ListTriggersParams{
		Limit: new(5), IsActive: new(true), Type: new(client.TriggerTypeWebhook), SortBy: new(client.TypedSortFieldName),
	})
	if want := (&client.TriggerPage{Items: []client.Trigger{*trg}, Total: 1, Limit: 5}); err != nil || !reflect.DeepEqual(page, want) {
		t.Errorf("got %+v, %v, want %+v", page, err, want)
	}
	none, err := api.ListRuns(t.Context(), &client.ListRunsParams{To: new(trg.CreatedAt), EntityID: new("a&b=c")})
	if err != nil || none.Total != 0 {
		t.Errorf("got %+v, %v", none, err)
	}
}

func TestHeadersOfRequestsAndAnswers(t *testing.T) {
	api := connect(t)
	var first, second http.Header
	create := func(h *http.Header) *client.Workflow {
		t.Helper()
		wf, err := api.CreateWorkflow(t.Context(), nil, client.CreateWorkflow{Name: "Orders"},
			client.IdempotencyKey("first"), client.Header("X-Request-Id", "mine"), client.AnswerHeader(h))
		if err != nil {
			t.Fatal(err)
		}
		return wf
	}
	if made, again := create(&first), create(&second); !reflect.DeepEqual(made, again) || second.Get("Idempotent-Replayed") != "true" || second.Get("X-Request-Id") != "mine" {
		t.Errorf("made %+v, then %+v with %v", made, again, second)
	}
	page, err := api.ListWorkflows(t.Context(), nil)
	if err != nil || page.Total != 1 {
		t.Fatalf("%+v, %v", page, err)
	}
	id, stale := page.Items[0].ID, client.IfMatch(first.Get("ETag"))
	if _, err := api.UpdateWorkflow(t.Context(), id, client.UpdateWorkflow{IsActive: new(false)}, stale); err != nil {
		t.Fatal(err)
	}
	if err := api.DeleteWorkflow(t.Context(), id, stale); statusOf(err) != http.StatusPreconditionFailed {
		t.Errorf("a stale ETag gives %v", err)
	}
	if err := api.DeleteWorkflow(t.Context(), id); err != nil {
		t.Error(err)
	}
}

// statusOf returns the status of a refusal, 0 for any other error.
func statusOf(err error) int {
	var failure *client.RequestError
	if errors.As(err, &failure) {
		return failure.Status
	}
	return 0
}

func TestARefusalSaysWhatIsWrong(t *testing.T) {
	api := connect(t)
	_, err := api.CreateWorkflow(t.Context(), nil, client.CreateWorkflow{})
	var failure *client.RequestError
	if !errors.As(err, &failure) || failure.Status != http.StatusBadRequest || failure.Body.Code != "workflow_invalid" || failure.Header.Get("X-Request-Id") == "" ||
		err.Error() != "gateway: 400 workflow_invalid: The workflow is not valid.; name must not be empty" {
		t.Errorf("the refusal is %v", err)
	}
	if _, err := api.GetWorkflow(t.Context(), "wf/../../settings?x=1"); statusOf(err) != http.StatusNotFound {
		t.Errorf("an id with a slash gives %v", err)
	}
	for name, connect := range map[string]func(string, string) (*client.Client, error){"a key": client.Connect, "the operator's token": client.ConnectOperator} {
		if _, err := connect("https://gateway.example", ""); err == nil {
			t.Errorf("%s may be empty", name)
		}
		for _, address := range []string{"", "gateway.example", "ftp://gateway.example", "https://gateway.example/?a=b", "https://a b"} {
			if _, err := connect(address, "secret"); err == nil {
				t.Errorf("%s may go to %q", name, address)
			}
		}
	}
}

func TestAnswersThatAreNotFromTheGateway(t *testing.T) {
	var location string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-API-Key") != "" {
			t.Error("the key was sent to another host")
		}
	}))
	defer other.Close()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if location != "" {
			http.Redirect(w, r, location, http.StatusTemporaryRedirect)
			return
		}
		w.WriteHeader(http.StatusBadGateway)
		_, _ = io.WriteString(w, "<html>")
	}))
	defer proxy.Close()
	api, err := client.Connect(proxy.URL+"/prefix/", "sk_1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api.GetSettings(t.Context()); statusOf(err) != http.StatusBadGateway || err.Error() != "gateway: 502 : Bad Gateway" {
		t.Errorf("the refusal is %v", err)
	}
	location = other.URL
	if _, err := api.GetSettings(t.Context()); statusOf(err) != http.StatusTemporaryRedirect {
		t.Errorf("a redirect gives %v", err)
	}
}

func TestARunFromItsCallToItsEnd(t *testing.T) {
	api, ctx := connect(t), t.Context()
	ver := publish(t, api, transform("total", "payload.net * 2"))
	trg, err := api.CreateTrigger(ctx, client.CreateTrigger{WorkflowVersionID: ver.ID, Name: "Paid", Type: client.TriggerTypeWebhook})
	if err != nil {
		t.Fatal(err)
	}
	fired, err := api.CallTrigger(ctx, trg.ID, client.CallTrigger{
		EventData: map[string]any{"net": 21}, EntityID: new("order-1042"), DedupeKey: new("payment-77"),
	})
	if err != nil || fired.DedupeKey != "payment-77" || fired.RunID == nil {
		t.Fatalf("%+v, %v", fired, err)
	}
	events, err := api.StreamRun(ctx, *fired.RunID, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = events.Close() }()
	if events, err := io.ReadAll(events); err != nil || !strings.HasSuffix(string(events), "event: end\ndata: {\"status\":\"completed\"}\n\n") {
		t.Fatalf("%s, %v", events, err)
	}
	got, err := api.GetRun(ctx, *fired.RunID)
	if err != nil || got.Context.Data["total"] != 42.0 || got.Nodes[0].Output != 42.0 {
		t.Fatalf("%+v, %v", got, err)
	}
	var failure *client.RequestError
	if _, err := api.RetryRun(ctx, *fired.RunID); !errors.As(err, &failure) || failure.Body.Code != "run_not_failed" {
		t.Fatal(err)
	}
}

func TestTheOperatorMakesATenantWhoseKeyWorks(t *testing.T) {
	baseURL, _ := serve(t)
	op, err := client.ConnectOperator(baseURL, operatorToken)
	if err != nil {
		t.Fatal(err)
	}
	made, err := op.CreateTenant(t.Context(), client.CreateTenant{Name: "Beta"}, client.IdempotencyKey("customer-42"))
	if err != nil || made.SecretKey == nil {
		t.Fatalf("%+v, %v", made, err)
	}
	own, err := client.Connect(baseURL, *made.SecretKey)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := own.CreateWorkflow(t.Context(), nil, client.CreateWorkflow{Name: "Orders"}); err != nil {
		t.Error(err)
	}
	if suspended, err := op.SuspendTenant(t.Context(), made.ID); err != nil || suspended.Status != client.TenantStatusSuspended {
		t.Errorf("%+v, %v", suspended, err)
	}
	if _, err := own.ListTenants(t.Context(), nil); statusOf(err) != http.StatusUnauthorized {
		t.Errorf("a tenant's key gives %v", err)
	}
}
