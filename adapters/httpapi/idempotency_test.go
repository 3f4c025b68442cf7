package httpapi_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/httpapi"
	"github.com/sluicehq/sluice/domain"
)

// posts gives a body for every POST of the API, and another one that means something
// else; empty where there is no body.
func posts(e fixture) map[string][2]string {
	version := e.ids["workflow-versions"]
	return map[string][2]string{
		"/workflows":         {`{"name":"once"}`, `{"name":"other"}`},
		"/workflow-versions": {fmt.Sprintf(`{"workflowId":%q}`, e.ids["workflows"]), fmt.Sprintf(`{"workflowId":%q,"nodes":[{"id":"a"}]}`, e.ids["workflows"])},
		"/triggers": {
			fmt.Sprintf(`{"workflowVersionId":%q,"name":"a","type":"webhook","config":{}}`, version),
			fmt.Sprintf(`{"workflowVersionId":%q,"name":"b","type":"webhook","config":{}}`, version),
		},
		"/triggers/preview": {`{"config":{"scheduleConfig":{"intervalMs":60000}}}`, `{"config":{"scheduleConfig":{"intervalMs":60000}},"count":2}`},
		"/sub-tenants":      {`{"name":"once"}`, `{"name":"other"}`},
		"/custom-nodes":     {`{"type":"acme.once","name":"a","version":"1.0.0"}`, `{"type":"acme.once","name":"b","version":"1.0.0"}`},
		"/api-keys":         {`{"type":"public"}`, `{"type":"secret"}`},
		"/embed-tokens":     {`{"subTenantId":"a","preset":"viewer"}`, `{"subTenantId":"b","preset":"viewer"}`},
		"/api-keys/" + e.ids["api-keys"] + "/rotate":        {`{"graceSeconds":60}`, `{"graceSeconds":61}`},
		"/custom-nodes/secret/rotate":                       {`{"graceSeconds":60}`, `{"graceSeconds":61}`},
		"/custom-nodes/" + e.ids["custom-nodes"] + "/check": {"", ""},
		"/workflow-versions/" + version + "/publish":        {"", ""},
		"/workflow-versions/" + version + "/validate":       {`{"triggers":"move"}`, `{}`},
		"/workflow-versions/" + version + "/complete":       {`{"nodeId":"a","field":"config.expression","text":"1"}`, `{"nodeId":"a","field":"config.expression","text":"2"}`},
		"/workflows/" + e.ids["workflows"] + "/rollback":    {`{"triggers":"move"}`, `{}`},
		"/connections": {`{"name":"Once","kind":"hmac","secret":{"key":"once"}}`, `{"name":"Once","kind":"hmac","secret":{"key":"other"}}`},
		"/connections/" + e.ids["consenting"] + "/authorize":                  {"", ""},
		"/connections/" + e.ids["connections"] + "/test":                      {`{"url":"https://api.example.com/a"}`, `{"url":"https://api.example.com/b"}`},
		"/webhook-endpoints":                                                  {`{"url":"https://example.com/once"}`, `{"url":"https://example.com/other"}`},
		"/webhook-endpoints/" + e.ids["webhook-endpoints"] + "/rotate-secret": {"", ""},
		"/webhook-endpoints/" + e.ids["webhook-endpoints"] + "/test":          {"", ""},
		"/deliveries/" + e.ids["deliveries"] + "/redeliver":                   {"", ""},

		"/triggers/" + e.ids["unhooked"] + "/hook":                                               {`{"scheme":{"kind":"none"}}`, `{"scheme":{"kind":"none"},"isActive":false}`},
		"/triggers/" + e.ids["triggers"] + "/hook/rotate":                                        {`{"graceSeconds":60}`, `{"graceSeconds":61}`},
		"/triggers/" + e.ids["triggers"] + "/hook/test":                                          {`{"body":"a"}`, `{"body":"b"}`},
		"/triggers/" + e.ids["triggers"] + "/hook/deliveries/replay":                             {`{"from":"2026-01-01T00:00:00Z","to":"2026-01-02T00:00:00Z"}`, `{"from":"2026-01-01T00:00:00Z","to":"2026-01-03T00:00:00Z"}`},
		"/triggers/" + e.ids["triggers"] + "/hook/deliveries/" + e.ids["deliveryId"] + "/replay": {"", ""},

		"/triggers/" + e.ids["triggers"] + "/webhook": {`{"eventData":1}`, `{"eventData":2}`},
		"/triggers/webhook/by-event":                  {`{"event":"order.paid"}`, `{"event":"order.lost"}`},
		"/triggers/ingest":                            {`{"event":"order.paid"}`, `{"event":"order.lost"}`},
		"/triggers/resume": {
			fmt.Sprintf(`{"runId":%q,"resumeToken":%q,"input":1}`, e.ids["waiting"], e.ids["delivery"]),
			fmt.Sprintf(`{"runId":%q,"resumeToken":%q,"input":2}`, e.ids["waiting"], e.ids["delivery"]),
		},
		"/pauses/" + e.ids["pauses"] + "/answer":          {`{"input":true}`, `{"input":false}`},
		"/workflows/" + e.ids["workflows"] + "/runs":      {`{"eventData":1}`, `{"eventData":2}`},
		"/workflow-versions/" + version + "/simulate":     {`{"eventData":1}`, `{"eventData":2}`},
		"/runs/" + e.ids["runs"] + "/cancel":              {`{"reason":"withdrawn"}`, `{"reason":"lost"}`},
		"/runs/" + e.ids["failed"] + "/retry":             {"", ""},
		"/runs/" + e.ids["runs"] + "/rerun":               {`{"payload":1}`, `{"payload":2}`},
		"/workflow-versions/" + version + "/runs":         {`{"eventData":1}`, `{"eventData":2}`},
		"/jobs/" + e.ids["jobs"] + "/cancel":              {"", `{"status":"running"}`},
		"/erasures":                                       {`{"entityId":"a"}`, `{"entityId":"b"}`},
		"/runs/bulk":                                      {`{"action":"retry","filter":{"entityId":"a"}}`, `{"action":"retry","filter":{"entityId":"b"}}`},
		"/workflow-versions/" + version + "/nodes/a/test": {`{"input":1}`, `{"input":2}`},
	}
}

func TestEveryPostTakesEffectOnceForItsKey(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	g.addRuns(e)
	e.ids["triggers"] = e.ids["listening"]
	g.publishAnother(e)
	bodies := posts(e)
	routes := routesBehindKeys(g)
	erasing := slices.IndexFunc(routes, func(r httpapi.Route) bool { return r.Path == "/v1/gateway/erasures" })
	routes = append(slices.Delete(slices.Clone(routes), erasing, erasing+1), routes[erasing]) // once no other job is running
	for _, r := range routes {
		path, _ := e.fill(r.Path)
		if strings.HasSuffix(path, "/hook") {
			path = strings.Replace(path, e.ids["triggers"], e.ids["unhooked"], 1)
		}
		if strings.HasSuffix(path, "/authorize") {
			path = strings.Replace(path, e.ids["connections"], e.ids["consenting"], 1)
		}
		if strings.HasSuffix(path, "/retry") {
			path = strings.Replace(path, e.ids["runs"], e.ids["failed"], 1)
		}
		body, known := bodies[strings.TrimPrefix(path, "/v1/gateway")]
		if r.Method != http.MethodPost {
			continue
		}
		t.Run(r.Path, func(t *testing.T) {
			if !known {
				t.Fatal("this test has no body for the route")
			}
			post := func(body string) answer {
				return g.send(http.MethodPost, path, e.secret, body, "X-Idempotency-Key", "k")
			}
			first := post(body[0])
			if first.status >= http.StatusBadRequest && !strings.HasSuffix(path, "/publish") {
				t.Fatalf("got %d: %s", first.status, first.body)
			}
			if strings.HasSuffix(path, "/publish") { // nothing is recorded for what is refused
				if again := post(body[0]); first.status != http.StatusBadRequest || again.status != first.status || again.header.Get("Idempotent-Replayed") != "" {
					t.Errorf("the repeat of a refusal got %d %v", again.status, again.header)
				}
				return
			}
			again := post(" " + body[0] + "\n")
			if body[0] == "" {
				again = post("")
			}
			if again.status != first.status || again.header.Get("Idempotent-Replayed") != "true" || withoutKey(t, again) != withoutKey(t, first) {
				t.Errorf("the repeat got %d: %s, not %s", again.status, again.body, first.body)
			}
			if body[1] != body[0] {
				if other := post(body[1]); other.status != http.StatusBadRequest || other.field(t, "code") != "idempotency_key_reused" {
					t.Errorf("another body got %d: %s", other.status, other.body)
				}
			}
			if third := g.send(http.MethodPost, path, e.secret, body[1], "X-Idempotency-Key", "K"); third.status >= http.StatusBadRequest && third.status != http.StatusConflict {
				t.Errorf("another key got %d: %s", third.status, third.body)
			}
		})
	}
}

// withoutKey is a body without the text of a key or a webhook's secret, which only the
// first answer shows.
func withoutKey(t *testing.T, a answer) string {
	t.Helper()
	body := a.body
	if body == "" {
		return body
	}
	for _, member := range []string{"key", "token", "secret", "url"} {
		if text, ok := a.field(t, member).(string); ok {
			body = strings.Replace(body, fmt.Sprintf(`"%s":%q,`, member, text), "", 1)
		}
	}
	return body
}

func TestOfThirtyRequestsWithOneKeyOneTakesEffect(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	var mu sync.Mutex
	statuses := make(map[int]int)
	var done sync.WaitGroup
	for range 30 {
		done.Go(func() {
			got := g.send(http.MethodPost, "/v1/gateway/workflows", c.secret, `{"name":"Once"}`, "X-Idempotency-Key", "k")
			if got.status == http.StatusConflict && (got.field(t, "code") != "idempotency_in_progress" || got.header.Get("Retry-After") != "1" || got.header.Get("X-Should-Retry") != "") {
				t.Errorf("the answer is %v %s", got.header, got.body)
			}
			mu.Lock()
			defer mu.Unlock()
			statuses[got.status]++
		})
	}
	done.Wait()
	list := g.send(http.MethodGet, "/v1/gateway/workflows?search=once", c.secret, "")
	if list.field(t, "total") != 1.0 || statuses[201] < 1 || statuses[201]+statuses[409] != 30 {
		t.Errorf("%v workflows; the answers were %v", list.field(t, "total"), statuses)
	}
}

func TestAKeyIsForgottenAfterADay(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	post := func() answer {
		return g.send(http.MethodPost, "/v1/gateway/sub-tenants", c.secret, `{"name":"Again"}`, "X-Idempotency-Key", "k")
	}
	first := post()
	g.clock.Set(noon.Add(domain.IdempotencyRetention - time.Second))
	if again := post(); again.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("a repeat within a day got %d: %s", again.status, again.body)
	}
	g.clock.Set(noon.Add(domain.IdempotencyRetention))
	if again := post(); again.header.Get("Idempotent-Replayed") != "" || again.field(t, "id") == first.field(t, "id") {
		t.Errorf("a request a day later got %d: %s", again.status, again.body)
	}
}

func TestAPermanentConflictTellsClientsNotToRepeatIt(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	got := g.send(http.MethodPost, "/v1/gateway/workflows", c.secret, `{"name":"Orders"}`)
	if got.status != http.StatusConflict || got.header.Get("X-Should-Retry") != "false" || got.header.Get("Retry-After") != "" {
		t.Errorf("got %d %v", got.status, got.header)
	}
}

func TestTheQueryIsPartOfWhatAKeyStandsFor(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	ask := func(query string) answer {
		return g.send(http.MethodPost, "/v1/gateway/workflows"+query, c.secret, `{"name":"Orders"}`, "X-Idempotency-Key", "k")
	}
	first := ask("?subTenantId=a")
	if first.status != http.StatusCreated || first.field(t, "subTenantId") != "a" {
		t.Fatalf("%d: %s", first.status, first.body)
	}
	for _, query := range []string{"?subTenantId=a", "?subTenantId=a&trace=2"} {
		if again := ask(query); again.body != first.body || again.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%q got %d: %s", query, again.status, again.body)
		}
	}
	for _, query := range []string{"?subTenantId=b", ""} {
		if other := ask(query); other.status != http.StatusBadRequest || other.field(t, "code") != "idempotency_key_reused" {
			t.Errorf("%q got %d: %s", query, other.status, other.body)
		}
	}
}
