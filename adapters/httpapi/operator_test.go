package httpapi_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/httpapi"
	"github.com/sluicehq/sluice/adapters/httpapi/operator"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
)

const tenantsPath = "/v1/operator/tenants"

// operate makes a request of the operator; headers are pairs of name and value.
func (g *gateway) operate(method, path, body string, headers ...string) answer {
	g.Helper()
	return g.send(method, path, "", body, append(headers, "Authorization", "Bearer "+operatorToken)...)
}

// operatorRoutes lists the operator's routes, in order.
func operatorRoutes(g *gateway) []httpapi.Route {
	var all []httpapi.Route
	for _, r := range g.api.Routes() {
		if strings.HasPrefix(r.Path, "/v1/operator/") {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b httpapi.Route) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Method, b.Method))
	})
	return all
}

// fillOperators puts a customer, or a run, and one of its keys into the path of an operator's route.
func fillOperators(path, id, key string) string {
	return strings.NewReplacer("{id}", id, "{keyId}", key).Replace(path)
}

// operated is a customer that an operator's route can be tried with: its own identifier or that of a run of its, as the
// path wants it, and a key.
func (g *gateway) operated(r httpapi.Route) (id, key string) {
	g.Helper()
	e := g.fixture("Acme")
	if !strings.HasPrefix(r.Path, operatorRunsPath) {
		return string(e.id), fmt.Sprint(g.operate(http.MethodPost, tenantsPath+"/"+string(e.id)+"/api-keys", `{"type":"public"}`).field(g.T, "id"))
	}
	g.addRuns(e)
	if strings.HasSuffix(r.Path, "/retry") {
		return e.ids["failed"], ""
	}
	return e.ids["runs"], ""
}

const nobodysKey = "key_7zzzzzzzzzzzzzzzzzzzzzzzzz"

func TestWithoutATokenThereIsNothingOfTheOperators(t *testing.T) {
	with := newGateway(t)
	without := newGateway(t, func(o *httpapi.Options, _ *httpapi.Ports) { o.OperatorTokens = nil })
	health := newGateway(t, func(o *httpapi.Options, _ *httpapi.Ports) { o.HealthOnly = true })
	c := without.customer("Acme")
	routes := operatorRoutes(with)
	if len(routes) != 18 || len(operatorRoutes(without)) != 0 || len(operatorRoutes(health)) != 0 {
		t.Fatalf("the routes are %v", routes)
	}
	for _, r := range routes {
		path := fillOperators(r.Path, string(c.id), nobodysKey)
		for _, authorization := range []string{"Bearer " + operatorToken, "Bearer ", "Bearer", ""} {
			for _, g := range []*gateway{without, health} {
				if got := g.send(r.Method, path, c.secret, "", "Authorization", authorization); got.status != http.StatusNotFound || got.field(t, "code") != "route_not_found" {
					t.Errorf("%s %s with %q got %d: %s", r.Method, path, authorization, got.status, got.body)
				}
			}
		}
	}
}

// Narrowed tokens of the operator, as the file has them.
const (
	readingToken = "reading-operator-of-the-tests_11112222"
	tenantsToken = "tenants-operator-of-the-tests_33334444"
	runsToken    = "runs-operator-of-the-tests_55556666"
	wholeToken   = "whole-operator-of-the-tests_77778888"
)

func namedTokens(t *testing.T) *operator.Tokens {
	t.Helper()
	all, err := operator.ParseTokens("ana=" + readingToken + " read\nbilling=" + tenantsToken + " tenants\nnight=" + runsToken + " runs,read\neve=" + wholeToken + "\n")
	if err != nil {
		t.Fatal(err)
	}
	return operator.NewTokens(append(all, operator.NewToken(operatorToken))...)
}

func TestATokenOfTheOperatorOpensWhatItsScopesSayAndTheLogNamesIt(t *testing.T) {
	tokens := namedTokens(t)
	g := newGateway(t, func(o *httpapi.Options, _ *httpapi.Ports) { o.OperatorTokens = tokens })
	c := g.customer("Acme")
	opens := map[string]func(r httpapi.Route) bool{
		readingToken: func(r httpapi.Route) bool { return r.Method == http.MethodGet },
		tenantsToken: func(r httpapi.Route) bool { return strings.HasPrefix(r.Path, "/v1/operator/tenants") },
		runsToken: func(r httpapi.Route) bool {
			return r.Method == http.MethodGet || strings.HasPrefix(r.Path, "/v1/operator/runs")
		},
		wholeToken:    func(httpapi.Route) bool { return true },
		operatorToken: func(httpapi.Route) bool { return true },
	}
	names := map[string]string{readingToken: "ana", tenantsToken: "billing", runsToken: "night", wholeToken: "eve", operatorToken: "operator"}
	for _, r := range operatorRoutes(g) {
		path := fillOperators(r.Path, "tenant_7zzzzzzzzzzzzzzzzzzzzzzzzz", nobodysKey)
		if r.Path == tenantsPath {
			path += "?color=red" // which is refused, and makes nothing
		}
		for token, may := range opens {
			got := g.send(r.Method, path, "", "", "Authorization", "Bearer "+token)
			if refused := got.status == http.StatusForbidden && got.field(t, "code") == "permission_missing"; refused == may(r) || got.status == http.StatusUnauthorized {
				t.Errorf("%s %s with the token of %s got %d: %s", r.Method, r.Path, names[token], got.status, got.body)
			}
			lines := g.log.lines(t)
			if last := lines[len(lines)-1]; last["operator"] != names[token] {
				t.Errorf("%s %s was asked by %v", r.Method, r.Path, last["operator"])
			}
		}
	}
	tokens.Set(nil)
	if got := g.operate(http.MethodGet, tenantsPath+"/"+string(c.id), ""); got.status != http.StatusUnauthorized {
		t.Errorf("a token that was taken away got %d", got.status)
	}
}

func TestOnlyTheTokenLetsTheOperatorIn(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	next := func() { g.clock.Set(g.clock.Now().Add(time.Second)) } // in which as many may be wrong again
	for _, authorization := range []string{"Bearer " + operatorToken, "bearer " + operatorToken, "BEARER  " + operatorToken + " "} {
		if got := g.send(http.MethodGet, tenantsPath, "", "", "Authorization", authorization); got.status != http.StatusOK || got.header.Get("WWW-Authenticate") != "" {
			t.Errorf("%q got %d: %s", strings.ReplaceAll(authorization, operatorToken, "TOKEN"), got.status, got.body)
		}
	}
	var bodies []string
	refused := func(claim string, got answer) {
		t.Helper()
		if got.status != http.StatusUnauthorized || got.header.Get("WWW-Authenticate") != "Bearer" || strings.Contains(got.body, operatorToken) {
			t.Errorf("%s got %d %v: %s", claim, got.status, got.header, got.body)
		}
		bodies = append(bodies, fmt.Sprint(got.field(t, "message"), got.field(t, "code")))
		next()
	}
	for claim, authorization := range map[string]string{
		"nothing": "", "no token": "Bearer", "an empty token": "Bearer ", "another token": "Bearer " + strings.Repeat("x", 40),
		"a shorter one": "Bearer " + operatorToken[:len(operatorToken)-1], "a longer one": "Bearer " + operatorToken + "x",
		"another case": "Bearer " + strings.ToUpper(operatorToken), "another scheme": "Basic " + operatorToken, "no scheme": operatorToken,
		"a tenant's key": "Bearer " + c.secret, "a NUL": "Bearer \x00",
	} {
		refused(claim, g.send(http.MethodGet, tenantsPath, "", "", "Authorization", authorization))
	}
	refused("the token as a key", g.send(http.MethodGet, tenantsPath, operatorToken, ""))
	refused("a key", g.send(http.MethodGet, tenantsPath, c.secret, ""))
	refused("the token in the query", g.send(http.MethodGet, tenantsPath+"?access_token="+operatorToken, "", ""))
	twice := httptest.NewRequestWithContext(t.Context(), http.MethodGet, tenantsPath, nil)
	twice.Header["Authorization"] = []string{"Bearer " + operatorToken, "Bearer " + operatorToken}
	refused("two of them", g.do(twice))
	slices.Sort(bodies)
	if len(slices.Compact(bodies)) != 1 {
		t.Errorf("the answers tell which check failed: %v", bodies)
	}
	for _, r := range operatorRoutes(g) {
		path := fillOperators(r.Path, string(c.id), nobodysKey)
		refused(r.Method+" "+path, g.send(r.Method, path, c.secret, "{ not JSON"))
	}
	for _, r := range routesBehindKeys(g) {
		if got := g.send(r.Method, r.Path, "", "", "Authorization", "Bearer "+operatorToken); got.status != http.StatusUnauthorized || got.header.Get("WWW-Authenticate") != "" {
			t.Errorf("%s %s lets the operator in: %d %s", r.Method, r.Path, got.status, got.body)
		}
	}
}

func TestGuessesAreHeldUpAndTheOperatorIsNot(t *testing.T) {
	g := newGateway(t)
	guess := func() answer {
		return g.send(http.MethodGet, tenantsPath, "", "", "Authorization", "Bearer guess")
	}
	for _, now := range []time.Time{noon, noon.Add(time.Second), noon.Add(-time.Hour)} { // clocks go backward, too
		g.clock.Set(now)
		for i := range 10 {
			if got := guess(); got.status != http.StatusUnauthorized {
				t.Fatalf("guess %d at %s got %d: %s", i+1, now, got.status, got.body)
			}
		}
		g.clock.Set(now.Add(999 * time.Millisecond))
		for range 5 {
			got := guess()
			if got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") != "1" || got.field(t, "code") != "too_many_failed_attempts" || got.header.Get("WWW-Authenticate") != "" {
				t.Errorf("one more got %d %v: %s", got.status, got.header, got.body)
			}
			if got := g.operate(http.MethodGet, tenantsPath, ""); got.status != http.StatusOK {
				t.Errorf("the operator got %d: %s", got.status, got.body)
			}
		}
	}
}

func TestTheOperatorUsesNoBrowser(t *testing.T) {
	g := newGateway(t, func(o *httpapi.Options, _ *httpapi.Ports) { o.AllowedOrigins = []string{"*"} })
	const origin = "https://app.example.com"
	for _, r := range operatorRoutes(g) {
		path := fillOperators(r.Path, "tenant_7zzzzzzzzzzzzzzzzzzzzzzzzz", nobodysKey)
		asked := g.send(http.MethodOptions, path, "", "", "Origin", origin, "Access-Control-Request-Method", r.Method)
		if asked.status != http.StatusMethodNotAllowed {
			t.Errorf("a preflight for %s %s got %d", r.Method, path, asked.status)
		}
		for _, got := range []answer{asked, g.operate(r.Method, path, "", "Origin", origin)} {
			for name := range got.header {
				if strings.HasPrefix(name, "Access-Control-") || name == "Vary" {
					t.Errorf("%s %s answers with %s", r.Method, path, name)
				}
			}
		}
	}
	for _, path := range []string{"/v1/operators", triggersPath} {
		if got := g.send(http.MethodGet, path, "", "", "Origin", origin); got.header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s answers with %v", path, got.header)
		}
	}
}

// operatorPosts are two bodies that differ, for a POST of the operator.
func operatorPosts(path string) [2]string {
	bodies := map[string][2]string{
		tenantsPath: {`{"name":"once"}`, `{"name":"other"}`}, tenantsPath + "/{id}/api-keys": {`{"type":"public"}`, `{"type":"secret"}`},
		tenantsPath + "/{id}/api-keys/{keyId}/rotate": {`{"graceSeconds":60}`, `{"graceSeconds":61}`},
		operatorRunsPath + "/{id}/cancel":             {`{"reason":"a"}`, `{"reason":"b"}`},
	}[path]
	if bodies[0] == "" {
		return [2]string{`{}`, `{"createdAt":"then"}`} // what the tenant, or the run, is answered with
	}
	return bodies
}

func TestEveryPostOfTheOperatorTakesEffectOnceForItsKey(t *testing.T) {
	g := newGateway(t)
	made := 0
	for _, r := range operatorRoutes(g) {
		if r.Method != http.MethodPost {
			continue
		}
		made++
		t.Run(r.Path, func(t *testing.T) {
			id, key := g.operated(r)
			posts := operatorPosts(r.Path)
			path := fillOperators(r.Path, id, key)
			post := func(body string) answer { return g.operate(http.MethodPost, path, body, "X-Idempotency-Key", "k") }
			first := post(posts[0])
			if first.status >= http.StatusBadRequest {
				t.Fatalf("got %d: %s", first.status, first.body)
			}
			again := post(" " + posts[0] + "\n")
			if again.status != first.status || again.header.Get("Idempotent-Replayed") != "true" || secretShape.MatchString(again.body) {
				t.Errorf("the repeat got %d: %s", again.status, again.body)
			}
			if again.body != withoutSecrets(t, first) {
				t.Errorf("the repeat got %s, not %s", again.body, first.body)
			}
			if other := post(posts[1]); other.status != http.StatusBadRequest || other.field(t, "code") != "idempotency_key_reused" {
				t.Errorf("another body got %d: %s", other.status, other.body)
			}
		})
	}
	if made != 7 {
		t.Errorf("%d routes are POST", made)
	}
}

// withoutSecrets is a body without the texts of keys, which stand at its end or in front
// of another member.
func withoutSecrets(t *testing.T, a answer) string {
	t.Helper()
	body := a.body
	for _, member := range []string{"key", "publicKey", "secretKey"} {
		if text, ok := a.field(t, member).(string); ok {
			pair := fmt.Sprintf(`"%s":%q`, member, text)
			body = strings.Replace(strings.Replace(body, pair+",", "", 1), ","+pair, "", 1)
		}
	}
	return body
}

func TestOfThirtyCreatesWithOneKeyOneMakesATenant(t *testing.T) {
	g := newGateway(t)
	var mu sync.Mutex
	statuses, keys := make(map[int]int), 0
	var done sync.WaitGroup
	for range 30 {
		done.Go(func() {
			got := g.operate(http.MethodPost, tenantsPath, `{"name":"Once"}`, "X-Idempotency-Key", "k")
			mu.Lock()
			defer mu.Unlock()
			statuses[got.status]++
			if got.field(t, "secretKey") != nil {
				keys++
			}
		})
	}
	done.Wait()
	list := g.operate(http.MethodGet, tenantsPath+"?search=once", "")
	if list.field(t, "total") != 1.0 || statuses[201] < 1 || keys != 1 || statuses[201]+statuses[409] != 30 {
		t.Errorf("%v tenants, %d with keys; the answers were %v", list.field(t, "total"), keys, statuses)
	}
}

func TestALateRepeatDoesNotMakeADeletedTenantAgain(t *testing.T) {
	g := newGateway(t)
	create := func() answer {
		return g.operate(http.MethodPost, tenantsPath, `{"name":"Once"}`, "X-Idempotency-Key", "k")
	}
	first := create()
	path := tenantsPath + "/" + fmt.Sprint(first.field(t, "id"))
	if got := g.operate(http.MethodDelete, path, ""); got.status != http.StatusNoContent {
		t.Fatalf("got %d: %s", got.status, got.body)
	}
	if again := create(); again.header.Get("Idempotent-Replayed") != "true" || again.field(t, "id") != first.field(t, "id") {
		t.Errorf("the repeat got %d: %s", again.status, again.body)
	}
	if got := g.operate(http.MethodGet, path, ""); got.status != http.StatusNotFound {
		t.Errorf("the tenant is there again: %s", got.body)
	}
}

// brokenTenants fails, or panics, with the token at hand.
type brokenTenants struct {
	inbound.Tenants
	fail func() error
}

func (b brokenTenants) Get(context.Context, tenant.ID) (*tenant.Tenant, error) { return nil, b.fail() }

func TestADefectBehindTheOperatorsRoutesShowsNothing(t *testing.T) {
	for claim, fail := range map[string]func() error{
		"an error": func() error { return errors.New("the disk is full") }, "a panic": func() error { panic("the disk is full") },
	} {
		g := newGateway(t, func(_ *httpapi.Options, p *httpapi.Ports) { p.Tenants = brokenTenants{p.Tenants, fail} })
		got := g.operate(http.MethodGet, tenantsPath+"/1", "")
		if got.status != http.StatusInternalServerError || strings.Contains(got.body, "disk") || !strings.Contains(g.log.String(), "disk") {
			t.Errorf("%s got %d: %s", claim, got.status, got.body)
		}
	}
}
