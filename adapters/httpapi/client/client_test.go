package client_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
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
	"github.com/sluicehq/sluice/adapters/limiter/memory"
	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/application/admission"
	"github.com/sluicehq/sluice/application/runs"
	"github.com/sluicehq/sluice/application/tenants"
	"github.com/sluicehq/sluice/application/triggers"
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
	clock, random, limiter := system.Clock{}, system.Random{}, memory.New(system.Clock{})
	known, signals, compiler := directory.New(store), sqlstore.NewRunSignals(store), expression.Compiler{}
	api, err := httpapi.New(httpapi.Ports{
		Admission: admission.New(known, limiter, clock), Tenants: tenants.New(store, clock, random),
		Triggers:  triggers.New(store, known, sqlstore.NewTriggerIntake(store), limiter, clock, random),
		Workflows: workflows.New(store, runs.NewStarter(clock, random, 0), signals, clock, random), Versions: workflows.NewVersions(store, expression.Checker{}, clock, random),
		Firing: runs.NewFiring(store, known, compiler, signals, limiter, clock, random, run.Key{1}, budget.Divide(1<<40, 2).OfRuns(), 0), Runs: runs.NewRuns(store, known, compiler, signals, clock, random, run.Key{1}, budget.Divide(1<<40, 2).OfRuns()),
	}, httpapi.Options{Log: zerolog.Nop(), MaxBody: 1 << 20, Now: clock.Now, NewID: random.ID, Ready: func(context.Context) error { return nil },
		OperatorToken: httpapi.NewOperatorToken(operatorToken),
		Intake:        budget.New(64 << 20), Pages: budget.New(64 << 20), Simulations: budget.New(4)})
	if err != nil {
		t.Fatal(err)
	}
	made, err := tenants.New(store, clock, random).Create(t.Context(), domain.Once{}, tenant.Draft{Name: "Acme"})
	if err != nil {
		t.Fatal(err)
	}
	worker := runs.NewWorker(store, nobody{}, directory.NewEndpoints(known, clock), compiler, known, signals, random, run.Key{1}, budget.Divide(1<<40, 2).OfRuns(), runs.WorkerOptions{Name: "test"})
	ctx, stop := context.WithCancel(context.Background())
	var working sync.WaitGroup
	working.Go(func() { worker.Run(ctx, func(err error) { t.Error(err) }) })
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

func of[T any](v T) *T { return &v }

func TestFromAnEmptyTenantToAPublishedVersion(t *testing.T) {
	baseURL, key := serve(t)
	api, err := client.Connect(baseURL, key)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	wf, err := api.PublicworkflowsCreateWorkflowV1WithResponse(ctx, &client.PublicworkflowsCreateWorkflowV1Params{XIdempotencyKey: of("first")},
		client.CreateWorkflow{Name: "Orders"})
	if err != nil || wf.JSON201 == nil {
		t.Fatalf("%v, %s", err, wf.Body)
	}
	nodes := []client.NodeDraft{{
		Id: "notice", Type: of("transform"), Version: of("1.0.0"), Name: of("Notice"),
		Config: &map[string]any{"transformType": "expression", "expression": "payload.id"}, Position: &client.Position{X: 0.5, Y: 1e15 + 1},
	}}
	ver, err := api.PublicworkflowversionsCreateWorkflowVersionV1WithResponse(ctx, nil, client.CreateWorkflowVersion{WorkflowId: wf.JSON201.Id, Nodes: &nodes})
	if err != nil || ver.JSON201 == nil || ver.JSON201.Nodes[0].Position.Y != 1e15+1 {
		t.Fatalf("%v, %s", err, ver.Body)
	}
	published, err := api.PublicworkflowversionsPublishWorkflowVersionV1WithResponse(ctx, ver.JSON201.Id, nil)
	if err != nil || published.JSON200 == nil || !published.JSON200.Version.IsActive || published.JSON200.Version.PublishedAt.After(time.Now().Add(time.Minute)) {
		t.Fatalf("%v, %s", err, published.Body)
	}
	trg, err := api.PublictriggersCreateTriggerV1WithResponse(ctx, nil, client.CreateTrigger{
		WorkflowVersionId: ver.JSON201.Id, Name: "Paid", Type: client.TriggerTypeWebhook,
	})
	if err != nil || trg.JSON201 == nil {
		t.Fatalf("%v, %s", err, trg.Body)
	}
	page, err := api.PublictriggersListTriggersV1WithResponse(ctx, &client.PublictriggersListTriggersV1Params{Limit: of(5)})
	if err != nil || page.JSON200 == nil || page.JSON200.Total != 1 || page.JSON200.Items[0].Id != trg.JSON201.Id {
		t.Fatalf("%v, %s", err, page.Body)
	}
}

func TestAFailureSaysWhatIsWrong(t *testing.T) {
	baseURL, key := serve(t)
	api, err := client.Connect(baseURL, key)
	if err != nil {
		t.Fatal(err)
	}
	got, err := api.PublicworkflowsCreateWorkflowV1WithResponse(t.Context(), nil, client.CreateWorkflow{})
	if err != nil {
		t.Fatal(err)
	}
	var failure *client.RequestError
	if err := client.Failure(got.StatusCode(), got.Body); !errors.As(err, &failure) || failure.Status != http.StatusBadRequest ||
		failure.Body.Code != "workflow_invalid" || err.Error() != "gateway: 400 workflow_invalid: The workflow is not valid.; name must not be empty" {
		t.Errorf("the failure is %v", err)
	}
	if err := client.Failure(http.StatusBadGateway, []byte("<html>")); !errors.As(err, &failure) || failure.Status != http.StatusBadGateway {
		t.Errorf("the failure is %v", err)
	}
	if err := client.Failure(http.StatusNoContent, nil); err != nil {
		t.Errorf("a success is %v", err)
	}
	if _, err := client.Connect(baseURL, ""); err == nil {
		t.Error("an empty key is accepted")
	}
}

func TestARunFromItsCallToItsEnd(t *testing.T) {
	baseURL, key := serve(t)
	api, err := client.Connect(baseURL, key)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	wf, err := api.PublicworkflowsCreateWorkflowV1WithResponse(ctx, nil, client.CreateWorkflow{Name: "Orders"})
	if err != nil || wf.JSON201 == nil {
		t.Fatalf("%v, %s", err, wf.Body)
	}
	nodes := []client.NodeDraft{{
		Id: "total", Type: of("transform"), Version: of("1.0.0"), Config: &map[string]any{"transformType": "expression", "expression": "payload.net * 2"},
	}}
	ver, err := api.PublicworkflowversionsCreateWorkflowVersionV1WithResponse(ctx, nil, client.CreateWorkflowVersion{WorkflowId: wf.JSON201.Id, Nodes: &nodes})
	if err != nil || ver.JSON201 == nil {
		t.Fatalf("%v, %s", err, ver.Body)
	}
	if published, err := api.PublicworkflowversionsPublishWorkflowVersionV1WithResponse(ctx, ver.JSON201.Id, nil); err != nil || published.JSON200 == nil {
		t.Fatalf("%v, %s", err, published.Body)
	}
	trg, err := api.PublictriggersCreateTriggerV1WithResponse(ctx, nil, client.CreateTrigger{
		WorkflowVersionId: ver.JSON201.Id, Name: "Paid", Type: client.TriggerTypeWebhook,
	})
	if err != nil || trg.JSON201 == nil {
		t.Fatalf("%v, %s", err, trg.Body)
	}
	fired, err := api.PublictriggersCallTriggerV1WithResponse(ctx, trg.JSON201.Id, nil, client.CallTrigger{
		EventData: map[string]any{"net": 21}, EntityId: of("order-1042"), DedupeKey: of("payment-77"),
	})
	if err != nil || fired.JSON200 == nil || fired.JSON200.DedupeKey != "payment-77" {
		t.Fatalf("%v, %s", err, fired.Body)
	}
	stream, err := api.PublicrunsStreamRunV1WithResponse(ctx, fired.JSON200.RunId, nil)
	if err != nil || !strings.HasSuffix(string(stream.Body), "event: end\ndata: {\"status\":\"completed\"}\n\n") {
		t.Fatalf("%v, %s", err, stream.Body)
	}
	got, err := api.PublicrunsGetRunV1WithResponse(ctx, fired.JSON200.RunId, nil)
	if err != nil || got.JSON200 == nil || got.JSON200.Context.Data["total"] != 42.0 || got.JSON200.Nodes[0].Output != 42.0 {
		t.Fatalf("%v, %s", err, got.Body)
	}
	again, err := api.PublicrunsRetryRunV1WithResponse(ctx, fired.JSON200.RunId, nil)
	var failure *client.RequestError
	if err != nil || !errors.As(client.Failure(again.StatusCode(), again.Body), &failure) || failure.Body.Code != "run_not_failed" {
		t.Fatalf("%v, %s", err, again.Body)
	}
}

func TestTheOperatorMakesATenantWhoseKeyWorks(t *testing.T) {
	baseURL, _ := serve(t)
	if _, err := client.ConnectOperator(baseURL, ""); err == nil {
		t.Error("an empty token is accepted")
	}
	operator, err := client.ConnectOperator(baseURL, operatorToken)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	made, err := operator.OperatorCreateTenantV1WithResponse(ctx, &client.OperatorCreateTenantV1Params{XIdempotencyKey: of("customer-42")}, client.CreateTenant{Name: "Beta"})
	if err != nil || made.JSON201 == nil || made.JSON201.SecretKey == nil {
		t.Fatalf("%v, %s", err, made.Body)
	}
	own, err := client.Connect(baseURL, *made.JSON201.SecretKey)
	if err != nil {
		t.Fatal(err)
	}
	if wf, err := own.PublicworkflowsCreateWorkflowV1WithResponse(ctx, nil, client.CreateWorkflow{Name: "Orders"}); err != nil || wf.JSON201 == nil {
		t.Errorf("%v, %s", err, wf.Body)
	}
	suspended, err := operator.OperatorSuspendTenantV1WithResponse(ctx, made.JSON201.Id, nil)
	if err != nil || suspended.JSON200 == nil || suspended.JSON200.Status != client.Suspended {
		t.Errorf("%v, %s", err, suspended.Body)
	}
	var failure *client.RequestError
	refused, err := own.OperatorListTenantsV1WithResponse(ctx, nil)
	if err != nil || !errors.As(client.Failure(refused.StatusCode(), refused.Body), &failure) || failure.Body.Code != "unauthenticated" {
		t.Errorf("%v, %s", err, refused.Body)
	}
}
