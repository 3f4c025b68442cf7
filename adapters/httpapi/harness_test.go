package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/adapters/budget"
	"github.com/sluicehq/sluice/adapters/directory"
	"github.com/sluicehq/sluice/adapters/egress"
	"github.com/sluicehq/sluice/adapters/expression"
	"github.com/sluicehq/sluice/adapters/httpapi"
	"github.com/sluicehq/sluice/adapters/httpapi/contract"
	"github.com/sluicehq/sluice/adapters/httpapi/operator"
	"github.com/sluicehq/sluice/adapters/limiter/memory"
	"github.com/sluicehq/sluice/adapters/sandbox"
	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/postgres"
	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
	"github.com/sluicehq/sluice/adapters/sqlstore/sealtest"
	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite/sqlitetest"
	"github.com/sluicehq/sluice/application/admission"
	"github.com/sluicehq/sluice/application/audit"
	"github.com/sluicehq/sluice/application/changes"
	"github.com/sluicehq/sluice/application/connections"
	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/application/firing"
	runfixture "github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/application/hooks"
	"github.com/sluicehq/sluice/application/jobs"
	"github.com/sluicehq/sluice/application/members"
	"github.com/sluicehq/sluice/application/nodes"
	"github.com/sluicehq/sluice/application/processes"
	"github.com/sluicehq/sluice/application/runs"
	"github.com/sluicehq/sluice/application/schedules"
	"github.com/sluicehq/sluice/application/templates"
	"github.com/sluicehq/sluice/application/tenants"
	"github.com/sluicehq/sluice/application/triggers"
	"github.com/sluicehq/sluice/application/usage"
	"github.com/sluicehq/sluice/application/webhooks"
	"github.com/sluicehq/sluice/application/workflows"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

var update = flag.Bool("update", false, "write the answers into the golden files")

// operatorToken is the operator's in every test, and stands in no log.
const operatorToken = "operator-of-the-tests_7f3a91c4d2e8"

// noon is where every test's clock begins.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// gateway is the whole gateway on a database of its own, behind the validator of
// the API description.
type gateway struct {
	*testing.T
	handler  http.Handler
	api      *httpapi.API
	contract *contract.Validator
	store    *sqlstore.Store
	clock    *portstest.ManualClock
	random   *portstest.CountedRandom
	entries  *portstest.CountedRandom // names entries of the audit log, so that they take no identifiers from others
	signals  *sqlstore.RunSignals
	log      *logSink
	mail     *portstest.Mailbox
	mails    *members.MailQueue
	engine   runfixture.Engine // nil where there is only the table
}

// option changes how a gateway is built.
type option func(*httpapi.Options, *httpapi.Ports)

func newGateway(t *testing.T, options ...option) *gateway {
	t.Helper()
	g := &gateway{T: t, store: openStore(t), clock: &portstest.ManualClock{}, random: &portstest.CountedRandom{}, entries: &portstest.CountedRandom{}}
	g.clock.Set(noon)
	g.engine = runfixture.TestEngine(t)
	runfixture.BeginWith(t, g.store, g.engine)
	return g.built(options...)
}

// another is a second gateway on the same database.
func (g *gateway) another() *gateway {
	g.Helper()
	return (&gateway{T: g.T, store: g.store, clock: g.clock, random: g.random, entries: g.entries, engine: g.engine}).built()
}

// built puts a gateway together that has its database.
func (g *gateway) built(options ...option) *gateway {
	t, store := g.T, g.store
	t.Helper()
	g.contract, g.signals, g.log = contract.New(t), sqlstore.NewRunSignals(store), &logSink{tb: t}
	if g.mail == nil {
		g.mail = &portstest.Mailbox{}
	}
	limiter := memory.New(g.clock)
	known := directory.New(store)
	g.follow(known)
	checks := nodes.NewChecks(store, healthyRunner{}, g.clock)
	recorded := audit.NewWork(store, g.clock, g.entries)
	work := timed{recorded, g.clock}
	versions := workflows.NewVersions(recorded, known, expression.Checker{}, g.clock, g.random).WithValues(expression.Compiler{}, budget.Divide(1<<40, 2).OfRuns())
	allowance := execution.NewAllowance(g.clock, nil)
	moved := runs.New(work, known, expression.Compiler{}, g.signals, g.clock, g.random, runKey, budget.Divide(1<<40, 2).OfRuns(), allowance).WithNodes(testedNodes, directory.NewEndpoints(known, g.clock))
	fired := firing.New(work, known, expression.Compiler{}, execution.NewSelections(expression.Compiler{}, budget.Divide(1<<40, 2).OfRuns()), g.signals, limiter, g.clock, g.random, runKey, budget.Divide(1<<40, 2).OfRuns(), allowance)
	hooked := hooks.New(work, directory.NewHooks(known, expression.Compiler{}), fired, moved, expression.Checker{}, limiter, g.clock, g.random, budget.Divide(1<<40, 2).OfRuns(), func() string { return "https://hooks.example.com" })
	letters := members.Letters{Mailer: g.mail, Public: func() string { return publicURL }}
	g.mails = members.NewMailQueue(store, g.clock, g.random, letters)
	people := members.New(recorded, &portstest.PlainPasswords{}, noProvider{}, limiter, g.clock, g.random)
	used := usage.New(work, g.clock)
	ports := httpapi.Ports{
		Accounts: people, SignInElsewhere: people, ForgottenPasswords: members.NewForgotten(people, letters),
		AuditLog:  audit.NewLog(store),
		Admission: admission.New(known, people, limiter, g.clock),
		APIKeys:   tenants.NewKeys(recorded, g.clock, g.random), EmbedTokens: tenants.NewEmbedTokens(recorded, g.clock, g.random), EmbedPages: tenants.NewEmbedPages(store, limiter), CustomNodes: nodes.NewChecked(nodes.NewCustom(recorded, g.clock, g.random), checks),
		NodeChecks: checks, NodeSecrets: nodes.NewSecrets(recorded, g.clock, g.random),
		Processes: timedProcesses{processes.New(store, store, g.clock), g.clock},
		Templates: templates.New(known), Nodes: nodes.New(known), Settings: nodes.NewSettings(tenants.NewSettings(recorded, g.clock), checks), SubTenants: tenants.NewSubTenants(recorded, g.clock, g.random),
		Tenants:   tenants.New(recorded, g.clock, g.random),
		Schedules: schedules.New(store, g.clock),
		Triggers:  triggers.New(recorded, known, audit.NewInserter(sqlstore.NewTriggerInserter(store), g.entries), expression.Checker{}, limiter, g.clock, g.random), Workflows: workflows.New(recorded, g.signals, g.clock, g.random),
		Versions:   versions,
		Publishing: versions, Completions: versions,
		Firing: fired, Hooks: hooked, HookIntake: hooked, HookDeliveries: hooked,
		Jobs: jobs.New(recorded, g.clock, g.random), Erasures: jobs.New(recorded, g.clock, g.random),

		Memberships: members.NewMemberships(recorded, g.clock, g.random, limiter, letters),
		ListChanges: firstChanges{changes.New(store, budget.New(1<<20), g.random)},
		Runs:        moved, OperatorRuns: runs.NewOperator(work),
		Trying: moved,
		Usage:  used, OperatorUsage: used,
		Pauses:      runs.NewQuestions(moved),
		AnswerPages: runs.NewPages(moved, limiter),

		Connections:       connections.New(recorded, egress.Names{}, connections.NewCredentials(store, connections.NewTokens(store, localTokens(t), g.clock, g.random)), testedNodes, g.clock, g.random),
		Consents:          connections.NewConsents(recorded, localTokens(t), g.clock, g.random, func() string { return publicURL }),
		WebhookEndpoints:  webhooks.NewEndpoints(recorded, g.clock, g.random).WithConnections(egress.Names{}),
		WebhookDeliveries: webhooks.NewDeliveries(recorded, g.clock),
	}
	opts := httpapi.Options{
		Log: zerolog.New(g.log), MaxBody: 1 << 20, Now: g.clock.Now, NewID: g.random.ID,
		PublicURL: func() string { return publicURL },
		Ready:     func(ctx context.Context) error { return store.Ping(ctx) }, OperatorTokens: operator.NewTokens(operator.NewToken(operatorToken)),
	}
	for _, change := range options {
		change(&opts, &ports)
	}
	api, err := httpapi.New(ports, httpapi.Budgeted(opts))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nothingHeld(t, api) })
	g.api = api
	g.handler = g.checked()
	if testing.Short() { // the race detector is to look at the gateway, and not for minutes at what checks its answers
		g.handler = g.api
	}
	return g
}

// nothingHeld is what must be true when all requests are answered, however that went.
func nothingHeld(t *testing.T, api *httpapi.API) {
	t.Helper()
	if diff := cmp.Diff(map[string]int64{"intake": 0, "pages": 0, "simulations": 0}, httpapi.Held(api)); diff != "" {
		t.Errorf("when all is answered, this is held: %s", diff)
	}
}

// follow keeps a directory up to date, as the process does.
func (g *gateway) follow(known *directory.Directory) {
	g.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		if err := g.store.Watch(ctx, known); err != nil {
			g.Error(err)
		}
	})
	g.Cleanup(func() {
		stop()
		done.Wait()
	})
}

// storeVariable names the database that the tests run on: sqlite, which is the
// default, or postgres.
const storeVariable = "SLUICE_TEST_STORE"

// openStore opens an empty store with an up-to-date schema.
func openStore(t *testing.T) *sqlstore.Store {
	t.Helper()
	switch name := os.Getenv(storeVariable); name {
	case "", "sqlite":
		return sqlitetest.Open(t)
	case "postgres":
		store, err := postgres.Open(t.Context(), pgtest.Start(t).Migrated(t, migratePostgres), postgres.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() }) // some tests close it themselves
		if err := sealtest.Seal(t.Context(), store); err != nil {
			t.Fatal(err)
		}
		return store
	default:
		t.Fatalf("%s is %q, neither sqlite nor postgres", storeVariable, name)
		return nil
	}
}

func migratePostgres(address string) (err error) {
	ctx := context.Background()
	store, err := postgres.Open(ctx, address, postgres.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	_, err = store.Migrator().Up(ctx)
	return err
}

// serveCode starts the test program as a process that runs code.
const serveCode = "serve-code"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == serveCode {
		os.Exit(sandbox.Serve())
	}
	pgtest.Main(m)
}

// customer is a tenant with its keys and a version to attach triggers to.
type customer struct {
	id             tenant.ID
	public, secret string
	version        workflow.VersionID
}

func (g *gateway) customer(name string) customer {
	g.Helper()
	made, err := tenants.New(g.store, g.clock, g.random).Create(g.Context(), domain.IdempotencyKey{}, tenant.Draft{Name: name})
	if err != nil {
		g.Fatal(err)
	}
	who := tenant.Operator(made.Tenant.ID())
	wf, err := workflows.New(g.store, g.signals, g.clock, g.random).Create(g.Context(), who, domain.IdempotencyKey{}, inbound.WorkflowDraft{Draft: workflow.Draft{Name: "Orders"}})
	if err != nil {
		g.Fatal(err)
	}
	ver, err := workflows.NewVersions(g.store, directory.New(g.store), expression.Checker{}, g.clock, g.random).Create(g.Context(), who, domain.IdempotencyKey{}, inbound.VersionDraft{Workflow: wf.ID()})
	if err != nil {
		g.Fatal(err)
	}
	return customer{made.Tenant.ID(), made.Public.Text.Reveal(), made.Secret.Text.Reveal(), ver.ID()}
}

// configure changes a customer's settings.
func (g *gateway) configure(c customer, change func(*tenant.Settings)) {
	g.Helper()
	g.write(func(ctx context.Context, st outbound.Stores) error {
		ten, err := st.Tenants.Get(ctx, c.id)
		if err != nil {
			return err
		}
		settings := ten.Settings()
		change(&settings)
		if err := ten.Configure(settings, node.IsBuiltIn, g.clock.Now()); err != nil {
			return err
		}
		return st.Tenants.Update(ctx, ten)
	})
}

func (g *gateway) write(fn func(context.Context, outbound.Stores) error) {
	g.Helper()
	if err := g.store.Do(g.Context(), fn); err != nil {
		g.Fatal(err)
	}
}

// answer is what a request got.
type answer struct {
	status int
	header http.Header
	body   string
}

// field returns a member of the JSON body, by its dotted path.
func (a answer) field(t *testing.T, path string) any {
	t.Helper()
	var at any
	if err := json.Unmarshal([]byte(a.body), &at); err != nil {
		t.Fatalf("the body is not JSON: %v: %s", err, a.body)
	}
	for name := range strings.SplitSeq(path, ".") {
		object, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = object[name]
	}
	return at
}

// violations lists "field code" of a 400.
func (a answer) violations(t *testing.T) []string {
	t.Helper()
	var body struct {
		Details []struct{ Field, Code string }
	}
	if err := json.Unmarshal([]byte(a.body), &body); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, d := range body.Details {
		all = append(all, d.Field+" "+d.Code)
	}
	return all
}

// send makes a request; headers are pairs of name and value.
func (g *gateway) send(method, path, key, body string, headers ...string) answer {
	g.Helper()
	r := httptest.NewRequestWithContext(g.Context(), method, path, strings.NewReader(body))
	if key != "" {
		r.Header.Set("X-API-Key", key)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return g.do(r)
}

func (g *gateway) do(r *http.Request) answer {
	g.Helper()
	recorder := httptest.NewRecorder()
	g.handler.ServeHTTP(recorder, r)
	return answer{recorder.Code, recorder.Header(), recorder.Body.String()}
}

const triggersPath = "/v1/gateway/triggers"

func (g *gateway) createTrigger(key, body string, headers ...string) answer {
	g.Helper()
	return g.send(http.MethodPost, triggersPath, key, body, headers...)
}

func webhookBody(c customer) string {
	return fmt.Sprintf(`{"workflowVersionId":%q,"name":"Paid","type":"webhook","config":{}}`, c.version)
}

func (g *gateway) tenants() *tenants.Service { return tenants.New(g.store, g.clock, g.random) }

// revoke ends a customer's secret key, after giving it another one.
func (g *gateway) revoke(c customer) {
	g.Helper()
	keys := tenants.NewKeys(g.store, g.clock, g.random)
	who := tenant.Operator(c.id)
	if _, err := keys.Issue(g.Context(), who, domain.IdempotencyKey{}, tenant.KeyDraft{Type: tenant.Secret}); err != nil {
		g.Fatal(err)
	}
	all, err := keys.List(g.Context(), who, domain.PageRequest{})
	if err != nil {
		g.Fatal(err)
	}
	for _, k := range all.Items {
		if k.LastFour() == c.secret[len(c.secret)-4:] {
			if _, err := keys.Revoke(g.Context(), who, k.ID()); err != nil {
				g.Fatal(err)
			}
		}
	}
}
