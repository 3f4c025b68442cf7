package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/httpapi"
	"github.com/sluicehq/sluice/adapters/httpapi/contract"
	runfixture "github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
)

func TestGoldens(t *testing.T) {
	files, err := filepath.Glob("testdata/*.http")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".http"), func(t *testing.T) {
			g := newGateway(t)
			e := g.fixture("Acme")
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), `"engine": "table"`) {
				runfixture.TableOnly(t, "it shows with which engine runs begin")
			}
			g.beat()
			var families []contract.Replacement
			scheduled, owner := "", "not shown" // the files of tenants' own routes spell out whose records they are
			if strings.Contains(string(text), "{{tenant}}") {
				owner = string(e.id)
			}
			switch used := string(text); {
			case regexp.MustCompile(`{{(listening|activeVersion|pause|paused|waiting|failed|completed|job)}}`).MatchString(used):
				g.addRuns(e)
				if scheduled = e.ids["nightly"]; strings.Contains(used, "{{child}}") {
					g.addChild(e)
				}
			case strings.Contains(used, "{{schedule}}"):
				scheduled = g.schedule(e)
			case strings.Contains(used, "{{shipped}}"):
				families = g.addLoops(e)
			}
			contract.Golden(t, g.handler, file, *update, append(families,
				contract.Value("secret", e.secret), contract.Value("public", e.public), contract.Value("operator", operatorToken), contract.Value("tenant", owner), contract.Value("version", string(e.version)),
				contract.Value("workflow", e.ids["workflows"]), contract.Value("draft", e.ids["workflow-versions"]),
				contract.Value("trigger", e.ids["triggers"]), contract.Value("registration", e.ids["sub-tenants"]),
				contract.Value("schedule", scheduled), contract.Value("customNode", e.ids["custom-nodes"]), contract.Value("apiKey", e.ids["api-keys"]),
				contract.Value("connection", e.ids["connections"]), contract.Value("consenting", e.ids["consenting"]), contract.Value("endpoint", e.ids["webhook-endpoints"]), contract.Value("delivery", e.ids["deliveries"]),
				contract.Value("activeVersion", e.ids["activeVersion"]), contract.Value("listening", e.ids["listening"]),
				contract.Value("pause", e.ids["pauses"]), contract.Value("paused", e.ids["runs"]), contract.Value("waiting", e.ids["waiting"]), contract.Value("failed", e.ids["failed"]),
				contract.Value("completed", e.ids["completed"]), contract.Value("job", e.ids["jobs"]), contract.Value("child", e.ids["child"]), contract.Value("approval", e.ids["approval"]), contract.Value("shipment", e.ids["delivery"]),
				contract.Value("orderInTransit", e.ids["entity of waiting"]), contract.Value("orderToApprove", e.ids["entity of runs"]))...)
		})
	}
}

func TestTheRoutesAreThoseOfTheDescription(t *testing.T) {
	g := newGateway(t)
	var served, described []string
	for _, r := range g.api.Routes() {
		served = append(served, r.Method+" "+r.Path)
	}
	for _, r := range g.contract.Routes() {
		described = append(described, r.Method+" "+r.Path)
	}
	slices.Sort(served)
	slices.Sort(described)
	if diff := cmp.Diff(described, served); diff != "" {
		t.Errorf("(-described, +served):\n%s", diff)
	}
}

func TestOnlyThoseWhoMayAreLetIn(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	suspended := g.customer("Gone")
	if _, err := g.tenants().Suspend(t.Context(), domain.IdempotencyKey{}, suspended.id); err != nil {
		t.Fatal(err)
	}
	revoked := g.customer("Revoked")
	g.revoke(revoked)
	mistyped := c.secret[:len(c.secret)-1] + "!"
	unknown := tenant.NewKeyText(tenant.Secret, [tenant.KeyEntropy]byte{9}).Reveal()
	var bodies []string
	for claim, key := range map[string]string{
		"no key": "", "a mistyped key": mistyped, "an unknown key": unknown, "a revoked key": revoked.secret,
		"the key of a suspended tenant": suspended.secret, "something else": "Bearer x", "a NUL": "sk_\x00",
	} {
		got := g.send(http.MethodGet, "/v1/gateway/custom-nodes/registry", key, "")
		if got.status != http.StatusUnauthorized || got.header.Get("X-RateLimit-Limit") != "" {
			t.Errorf("%s got %d: %s", claim, got.status, got.body)
		}
		bodies = append(bodies, fmt.Sprint(got.field(t, "message"), got.field(t, "code")))
	}
	slices.Sort(bodies)
	if len(slices.Compact(bodies)) != 1 {
		t.Errorf("the answers tell which check failed: %v", bodies)
	}
	for _, key := range []string{c.public, c.secret} {
		if got := g.send(http.MethodGet, "/v1/gateway/custom-nodes/registry", key, ""); got.status != http.StatusOK {
			t.Errorf("got %d: %s", got.status, got.body)
		}
	}
	// The type of the key is looked at before the body.
	if got := g.createTrigger(c.public, "{ not JSON"); got.status != http.StatusForbidden {
		t.Errorf("a public key with a malformed body got %d", got.status)
	}
}

func TestAnotherTenantsVersionIsAsIfItDidNotExist(t *testing.T) {
	g := newGateway(t)
	mine, theirs := g.customer("Mine"), g.customer("Theirs")
	absent := customer{version: "wfv_0000000000000000000000000z"}
	malformed := customer{version: "../\u00e9 %"}
	var texts []string
	for _, c := range []customer{theirs, absent, malformed} {
		got := g.createTrigger(mine.secret, webhookBody(c), "X-Request-Id", "same")
		if got.status != http.StatusBadRequest {
			t.Errorf("%q got %d", c.version, got.status)
		}
		texts = append(texts, got.body)
	}
	if texts[0] != texts[1] || texts[1] != texts[2] {
		t.Errorf("the answers differ: %v", texts)
	}
	registry := g.send(http.MethodGet, "/v1/gateway/custom-nodes/registry", mine.secret, "").body
	if strings.Contains(registry, string(theirs.id)) {
		t.Error("the registry holds the other tenant's id")
	}
}

func TestTheRegistryFollowsTheTenantsSettings(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	types := func(a answer) (all []string) {
		list, _ := a.field(t, "nodes").([]any)
		for _, n := range list {
			entry, _ := n.(map[string]any)
			all = append(all, fmt.Sprint(entry["type"], " ", entry["name"]))
		}
		return all
	}
	g.configure(c, func(s *tenant.Settings) {
		s.Language = tenant.Spanish
		s.DisabledNodeTypes = []string{"input", "wait", "waitForEvent", "switch", "transform", "callWorkflow", "forEach", "return", "code"}
	})
	got := g.send(http.MethodGet, "/v1/gateway/custom-nodes/registry", c.public, "")
	spanish, _ := nodeNames(tenant.Spanish, "condition", "httpRequest")
	if diff := cmp.Diff(spanish, types(got)); diff != "" || got.field(t, "total") != 2.0 {
		t.Errorf("total %v, %s", got.field(t, "total"), diff)
	}
}

func nodeNames(l tenant.Language, wanted ...node.Type) (names []string, err error) {
	for _, n := range node.BuiltIns(l) {
		if slices.Contains(wanted, n.Type) {
			names = append(names, fmt.Sprint(n.Type, " ", n.Name))
		}
	}
	return names, nil
}

func TestAPublicKeyCreatesWhatTheTenantPermits(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	g.configure(c, func(s *tenant.Settings) { s.PublicTriggerCreation = tenant.PublicTriggersLimited })
	if got := g.createTrigger(c.public, webhookBody(c)); got.status != http.StatusCreated || got.field(t, "isActive") != false {
		t.Errorf("a webhook trigger got %d: %s", got.status, got.body)
	}
	schedule := strings.Replace(webhookBody(c), "webhook", "schedule", 1)
	active := strings.Replace(webhookBody(c), `"config"`, `"isActive":true,"config"`, 1)
	for body, code := range map[string]string{schedule: "public_trigger_type", active: "public_trigger_active"} {
		if got := g.createTrigger(c.public, body); got.status != http.StatusForbidden || got.field(t, "code") != code {
			t.Errorf("got %d: %s", got.status, got.body)
		}
	}
	for i := 2; i <= tenant.PublicTriggersPerMinute; i++ {
		if got := g.createTrigger(c.public, webhookBody(c)); got.status != http.StatusCreated {
			t.Fatalf("trigger %d got %d: %s", i, got.status, got.body)
		}
	}
	got := g.createTrigger(c.public, webhookBody(c))
	if got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") != "60" || got.field(t, "retryAfter") != 60.0 {
		t.Errorf("one more got %d, Retry-After %q: %s", got.status, got.header.Get("Retry-After"), got.body)
	}
	if got := g.createTrigger(c.secret, webhookBody(c)); got.status != http.StatusCreated {
		t.Errorf("a secret key is limited too: %d", got.status)
	}
}

func TestWebhookEventsMustBeKnownWhereTheTenantListsThem(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	g.configure(c, func(s *tenant.Settings) { s.Events = []tenant.Event{{Name: "order.paid"}} })
	body := strings.Replace(webhookBody(c), `{}`, `{"webhookConfig":{"event":"order.lost"}}`, 1)
	if got := g.createTrigger(c.secret, body); !slices.Equal(got.violations(t), []string{"config.webhookConfig.event unknown"}) {
		t.Errorf("got %d: %s", got.status, got.body)
	}
	if got := g.createTrigger(c.secret, strings.Replace(body, "lost", "paid", 1)); got.status != http.StatusCreated {
		t.Errorf("got %d: %s", got.status, got.body)
	}
}

func TestLimitsAreTheTenantsAndAreShown(t *testing.T) {
	g := newGateway(t)
	c, other := g.customer("Acme"), g.customer("Other")
	g.configure(c, func(s *tenant.Settings) {
		s.Quotas = map[tenant.KeyType]tenant.Quota{tenant.Public: {PerMinute: 2, Concurrent: 5}}
	})
	read := func(key string) answer { return g.send(http.MethodGet, "/v1/gateway/custom-nodes/registry", key, "") }
	for _, remaining := range []string{"1", "0"} {
		got := read(c.public)
		headers := []string{got.header.Get("X-RateLimit-Limit"), got.header.Get("X-RateLimit-Remaining"), got.header.Get("X-RateLimit-Reset")}
		if diff := cmp.Diff([]string{"2", remaining, fmt.Sprint(noon.Add(time.Minute).Unix())}, headers); diff != "" || got.status != 200 {
			t.Errorf("%d: %s", got.status, diff)
		}
	}
	g.clock.Set(noon.Add(15500 * time.Millisecond))
	got := read(c.public)
	if got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") != "45" || got.field(t, "retryAfter") != 45.0 ||
		got.field(t, "code") != "rate_limit_exceeded" || !strings.Contains(fmt.Sprint(got.field(t, "message")), "45 seconds") ||
		got.header.Get("X-RateLimit-Remaining") != "0" {
		t.Errorf("got %d %v: %s", got.status, got.header, got.body)
	}
	for claim, key := range map[string]string{"the other type of key": c.secret, "another tenant": other.public} {
		if got := read(key); got.status != http.StatusOK {
			t.Errorf("%s got %d", claim, got.status)
		}
	}
	g.clock.Set(noon.Add(time.Minute))
	if got := read(c.public); got.status != http.StatusOK {
		t.Errorf("after a minute: %d", got.status)
	}
}

func TestRequestsAtTheSameTimeAreLimited(t *testing.T) {
	hold, held := make(chan struct{}), make(chan struct{}, 3)
	g := newGateway(t, func(_ *httpapi.Options, p *httpapi.Ports) { p.Nodes = slowNodes{p.Nodes, hold, held} })
	c := g.customer("Acme")
	g.configure(c, func(s *tenant.Settings) {
		s.Quotas = map[tenant.KeyType]tenant.Quota{tenant.Secret: {PerMinute: 100, Concurrent: 2}}
	})
	read := func() answer { return g.send(http.MethodGet, "/v1/gateway/custom-nodes/registry", c.secret, "") }
	var done sync.WaitGroup
	for range 2 {
		done.Go(func() {
			if got := read(); got.status != http.StatusOK {
				t.Errorf("got %d", got.status)
			}
		})
	}
	<-held
	<-held
	got := read()
	if got.status != http.StatusTooManyRequests || got.field(t, "code") != "too_many_concurrent_requests" || got.header.Get("Retry-After") != "1" {
		t.Errorf("got %d: %s", got.status, got.body)
	}
	close(hold)
	done.Wait()
	if got := read(); got.status != http.StatusOK {
		t.Errorf("the places were not given back: %d", got.status)
	}
}

// slowNodes answers when it is let go.
type slowNodes struct {
	inbound.Nodes
	hold <-chan struct{}
	held chan<- struct{}
}

func (s slowNodes) Registry(ctx context.Context, who tenant.Caller) (*node.Registry, error) {
	s.held <- struct{}{}
	<-s.hold
	return s.Nodes.Registry(ctx, who)
}

// brokenNodes fails as it is told.
type brokenNodes struct{ fail func() error }

func (b brokenNodes) Registry(context.Context, tenant.Caller) (*node.Registry, error) {
	return nil, b.fail()
}

func TestADefectShowsNothingButTheRequestID(t *testing.T) {
	for claim, fail := range map[string]func() error{
		"an unknown error": func() error { return errors.New("pq: relation secret_table does not exist") },
		"a panic":          func() error { panic("index out of secret_table") },
	} {
		t.Run(claim, func(t *testing.T) {
			g := newGateway(t, func(_ *httpapi.Options, p *httpapi.Ports) { p.Nodes = brokenNodes{fail} })
			got := g.send(http.MethodGet, "/v1/gateway/custom-nodes/registry", g.customer("Acme").secret, "", "X-Request-Id", "find-me")
			if got.status != http.StatusInternalServerError || strings.Contains(got.body, "secret_table") || got.field(t, "requestId") != "find-me" {
				t.Errorf("got %d: %s", got.status, got.body)
			}
			if log := g.log.String(); !strings.Contains(log, "secret_table") || !strings.Contains(log, "find-me") {
				t.Errorf("the log does not tell: %s", log)
			}
		})
	}
}

func TestADatabaseThatIsGoneIsUnavailable(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	if err := g.store.Close(); err != nil {
		t.Fatal(err)
	}
	for _, got := range []answer{g.createTrigger(c.secret, webhookBody(c)), g.send(http.MethodGet, "/readyz", "", "")} {
		if got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" {
			t.Errorf("got %d: %s", got.status, got.body)
		}
	}
	if got := g.send(http.MethodGet, "/healthz", "", ""); got.status != http.StatusOK {
		t.Errorf("the process lives, but says %d", got.status)
	}
}

func TestNoKeyEverReachesALogOrAnAnswer(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	g.createTrigger(c.secret, webhookBody(c), "X-Idempotency-Key", "once")
	g.send(http.MethodGet, "/v1/gateway/"+c.secret+"?key="+c.secret, "", "")
	g.send(http.MethodGet, "/docs/"+c.secret, c.secret, "", "X-Request-Id", c.secret)
	g.send(c.secret, "/v1/gateway/triggers", c.secret, "")
	answers := g.createTrigger(c.secret, `{"name":"`+c.secret+`"}`).body
	r := httptest.NewRequest(http.MethodGet, "/v1/gateway/nothing/"+c.public, nil)
	answers += g.do(r).body
	for _, key := range []string{c.secret, c.public} {
		if strings.Contains(g.log.String(), key[3:20]) {
			t.Errorf("a key is in the log: %s", g.log.String())
		}
		if strings.Contains(answers, key[3:20]) {
			t.Errorf("a key is in an answer: %s", answers)
		}
	}
	if !strings.Contains(g.log.String(), `"tenantId":"`+string(c.id)) || !strings.Contains(g.log.String(), `"route":"/v1/gateway/triggers"`) {
		t.Errorf("the log does not tell who and what: %s", g.log.String())
	}
}

func TestATenantCannotLockItselfOut(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	keys := func(query string) []any {
		list, _ := g.send(http.MethodGet, "/v1/gateway/api-keys"+query, c.secret, "").field(t, "items").([]any)
		return list
	}
	var first string
	for _, item := range keys("") {
		if k, _ := item.(map[string]any); k["type"] == "secret" {
			first = fmt.Sprint(k["id"])
		}
	}
	revoke := func() answer { return g.send(http.MethodDelete, "/v1/gateway/api-keys/"+first, c.secret, "") }
	refused := func(step string) {
		t.Helper()
		if got := revoke(); got.status != http.StatusConflict || got.field(t, "code") != "last_secret_key" {
			t.Errorf("%s: got %d: %s", step, got.status, got.body)
		}
	}
	refused("the only key")
	g.send(http.MethodPost, "/v1/gateway/api-keys", c.secret, `{"type":"public"}`)
	refused("beside a public key")
	g.send(http.MethodPost, "/v1/gateway/api-keys", c.secret, `{"type":"secret","expiresAt":"2026-11-21T13:00:00Z"}`)
	refused("beside a key that ends in an hour")
	if made := g.send(http.MethodPost, "/v1/gateway/api-keys", c.secret, `{"type":"secret"}`); made.status != http.StatusCreated {
		t.Fatalf("got %d: %s", made.status, made.body)
	}
	if got := revoke(); got.status != http.StatusNoContent {
		t.Errorf("beside a key that lasts: got %d: %s", got.status, got.body)
	}
	if got := g.send(http.MethodGet, "/v1/gateway/settings", c.secret, ""); got.status != http.StatusUnauthorized {
		t.Errorf("the revoked key got %d", got.status)
	}
}

func TestOperationsWithoutABodyStillRefuseAMalformedOne(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	for path, method := range map[string]string{
		"/workflows/" + e.ids["workflows"] + "/toggle-status":            http.MethodPatch,
		"/workflow-versions/" + e.ids["workflow-versions"] + "/publish":  http.MethodPost,
		"/workflow-versions/" + e.ids["workflow-versions"] + "/validate": http.MethodPost,
	} {
		if got := g.send(method, "/v1/gateway"+path, e.secret, `{"a":`); got.status != http.StatusBadRequest || got.field(t, "code") != "malformed_json" {
			t.Errorf("%s got %d: %s", path, got.status, got.body)
		}
	}
}

func TestAKeyInItsGraceIsNotRotatedAgain(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	made := g.send(http.MethodPost, "/v1/gateway/api-keys", c.secret, `{"type":"secret"}`)
	path := fmt.Sprintf("/v1/gateway/api-keys/%v/rotate", made.field(t, "id"))
	first := g.send(http.MethodPost, path, c.secret, `{"graceSeconds":3600}`)
	if first.status != http.StatusCreated || strings.Contains(first.body, "expiresAt") {
		t.Fatalf("%d: %s", first.status, first.body)
	}
	again := g.send(http.MethodPost, path, c.secret, `{"graceSeconds":3600}`)
	if again.status != http.StatusConflict || again.field(t, "code") != "api_key_not_active" || !strings.Contains(again.body, fmt.Sprint(first.field(t, "id"))) {
		t.Errorf("%d: %s", again.status, again.body)
	}
}
