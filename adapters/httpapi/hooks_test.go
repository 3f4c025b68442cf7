package httpapi_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/hook"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/outbound"
)

// hook gives a trigger a hook that verifies nothing and has received one delivery.
func (g *gateway) hook(e fixture, trg *trigger.Trigger) {
	g.Helper()
	var r domain.Rules
	token := tokenOf(string(e.id))
	h, err := hook.New(trg, hook.Draft{Config: hook.Config{Scheme: hook.ParseScheme(&r, "", []byte(`{"kind":"none"}`))}}, token, hook.Checks{}, noon)
	if err != nil {
		g.Fatal(err)
	}
	e.ids["deliveryId"] = "hdl_0000000000000000000000000" + string(e.id[len(e.id)-1])
	received := &hook.Received{
		ID: hook.DeliveryID(e.ids["deliveryId"]), Tenant: e.id, Trigger: trg.ID(), At: noon.Add(-time.Minute), Verdict: hook.Accepted, Client: "192.0.2.1",
		Request: hook.Request{Method: http.MethodPost, Headers: hook.Headers{"content-type": {"text/plain"}}, Body: []byte(e.marker())},
	}
	g.write(func(ctx context.Context, st outbound.Stores) error {
		if err := st.Hooks.Hooks.Insert(ctx, h); err != nil {
			return err
		}
		return st.Hooks.Deliveries.Add(ctx, received)
	})
}

// tokenOf makes a token that is the same in every run.
func tokenOf(name string) hook.Token {
	sum := sha256.Sum256([]byte(name))
	return hook.NewToken([hook.TokenEntropy]byte(sum[:hook.TokenEntropy]))
}

// hooked is a tenant with a trigger whose hook is made with a body.
type hooked struct {
	*gateway
	fixture
	address string
}

func newHooked(t *testing.T, body string) hooked {
	t.Helper()
	g := newGateway(t)
	e := g.fixture("Acme")
	g.addRuns(e)
	h := hooked{gateway: g, fixture: e}
	if got := g.send(http.MethodDelete, h.path(""), e.secret, ""); got.status != http.StatusNoContent {
		t.Fatalf("deleting got %d: %s", got.status, got.body)
	}
	made := g.send(http.MethodPost, h.path(""), e.secret, body)
	if made.status != http.StatusCreated {
		t.Fatalf("got %d: %s", made.status, made.body)
	}
	address, _ := made.field(t, "url").(string)
	h.address = strings.TrimPrefix(address, "https://hooks.example.com")
	return h
}

func (h hooked) path(rest string) string {
	return "/v1/gateway/triggers/" + h.ids["listening"] + "/hook" + rest
}

// deliver sends to the address as a third party does.
func (h hooked) deliver(method, body string, headers ...string) answer {
	h.Helper()
	request := httptest.NewRequestWithContext(h.Context(), method, h.address, strings.NewReader(body))
	request.RemoteAddr = "192.0.2.7:1234"
	for i := 0; i < len(headers); i += 2 {
		request.Header.Add(headers[i], headers[i+1])
	}
	recorder := httptest.NewRecorder()
	h.api.ServeHTTP(recorder, request)
	return answer{recorder.Code, recorder.Header(), recorder.Body.String()}
}

// payload is what a run was started with.
func (h hooked) payload(id string) (payload map[string]any) {
	h.Helper()
	err := h.store.Read(h.Context(), func(ctx context.Context, st outbound.Stores) error {
		r, err := st.Runs.Runs.Get(ctx, tenant.All(h.id), run.ID(id))
		if err != nil {
			return err
		}
		return json.Unmarshal(r.Payload(), &payload)
	})
	if err != nil {
		h.Fatal(err)
	}
	return payload
}

// received lists what the hook has received, the latest first.
func (h hooked) received() (all []receivedDelivery) {
	h.Helper()
	var page struct{ Items []receivedDelivery }
	if err := json.Unmarshal([]byte(h.send(http.MethodGet, h.path("/deliveries"), h.secret, "").body), &page); err != nil {
		h.Fatal(err)
	}
	return page.Items
}

type receivedDelivery struct {
	ID, Verdict, Code, ReplayOf string
	RunIDs                      []string
}

func (h hooked) verdicts() (all []string) {
	for _, d := range h.received() {
		all = append(all, strings.TrimSpace(d.Verdict+" "+d.Code))
	}
	return all
}

func TestADeliveryStartsARunOfItsTrigger(t *testing.T) {
	h := newHooked(t, `{"scheme":{"kind":"none"},"event":"payload.body.type","entityId":"payload.body.order","rawBody":true}`)
	got := h.deliver(http.MethodPost, `{"type":"paid","order":17}`, "Content-Type", "application/json", "Cookie", "a=b", "X-Custom", "1")
	if got.status != http.StatusAccepted || got.body != "" {
		t.Fatalf("got %d: %s", got.status, got.body)
	}
	d := h.received()
	if len(d) != 1 || len(d[0].RunIDs) != 1 || d[0].Verdict != "accepted" {
		t.Fatalf("it is kept as %+v", d)
	}
	started := h.send(http.MethodGet, "/v1/gateway/runs/"+d[0].RunIDs[0], h.secret, "")
	want := map[string]any{
		"method": "POST", "path": "", "query": map[string]any{}, "headers": map[string]any{"content-type": "application/json", "x-custom": "1"}, "contentType": "application/json",
		"body": map[string]any{"type": "paid", "order": 17.0}, "rawBody": "eyJ0eXBlIjoicGFpZCIsIm9yZGVyIjoxN30=", "event": "paid",
	}
	if diff := cmp.Diff(want, h.payload(d[0].RunIDs[0])); diff != "" || started.field(t, "entityId") != "17" || started.field(t, "cause") != "webhook" {
		t.Errorf("the run is about %v, by %v: %s", started.field(t, "entityId"), started.field(t, "cause"), diff)
	}
}

func TestWhatStartsNothingIsAnsweredLikeWhatDoes(t *testing.T) {
	for claim, c := range map[string]struct{ hook, body, verdict string }{
		"a duplicate":                {`{"scheme":{"kind":"none"},"dedupe":"payload.body.id"}`, `{"id":1}`, "duplicate"},
		"what the hook filters":      {`{"scheme":{"kind":"none"},"filter":"payload.body.id > 1"}`, `{"id":1}`, "filtered filtered"},
		"a hook that is off":         {`{"scheme":{"kind":"none"},"isActive":false}`, `{"id":1}`, "inactive hook_inactive"},
		"a split into nothing":       {`{"scheme":{"kind":"none"},"split":"payload.body"}`, `[]`, "filtered filtered"},
		"items that came before":     {`{"scheme":{"kind":"none"},"split":"payload.body","dedupe":"payload.body.id"}`, `[{"id":1},{"id":2}]`, "duplicate"},
		"items of one delivery's id": {`{"scheme":{"kind":"none"},"split":"payload.body","dedupe":"payload.headers['x-id']"}`, `[1,2,3]`, "duplicate"},
	} {
		t.Run(claim, func(t *testing.T) {
			h := newHooked(t, c.hook)
			for range 2 {
				if got := h.deliver(http.MethodPost, c.body, "Content-Type", "application/json", "X-Id", "d1"); got.status != http.StatusAccepted || got.body != "" {
					t.Errorf("got %d: %s", got.status, got.body)
				}
			}
			if all := h.verdicts(); len(all) != 2 || all[0] != c.verdict {
				t.Errorf("it came to %q", all)
			}
		})
	}
}

func TestADeliveryThatIsSplitStartsARunForEachItem(t *testing.T) {
	h := newHooked(t, `{"scheme":{"kind":"none"},"split":"payload.body.items","dedupe":"payload.body.id","entityId":"payload.body.id"}`)
	var items []string
	for i := range 120 {
		items = append(items, fmt.Sprintf(`{"id":%d}`, i))
	}
	body := `{"items":[` + strings.Join(items, ",") + `]}`
	for range 2 {
		if got := h.deliver(http.MethodPost, body, "Content-Type", "application/json"); got.status != http.StatusAccepted {
			t.Fatalf("got %d: %s", got.status, got.body)
		}
	}
	all := h.received()
	if len(all) != 2 || all[0].Verdict != "duplicate" || len(all[0].RunIDs) != 0 || len(all[1].RunIDs) != 120 {
		t.Fatalf("%d deliveries, the first with %d runs", len(all), len(all[len(all)-1].RunIDs))
	}
	one := h.send(http.MethodGet, "/v1/gateway/runs/"+all[1].RunIDs[0], h.secret, "")
	payload := h.payload(all[1].RunIDs[0])
	item, _ := payload["body"].(map[string]any)
	if item["id"] != payload["index"] || one.field(t, "entityId") != fmt.Sprint(item["id"]) {
		t.Errorf("the run is about %v with %v", one.field(t, "entityId"), payload)
	}
	if got := h.deliver(http.MethodPost, `{"items":[`+strings.Repeat("1,", hook.MaxItems)+`1]}`, "Content-Type", "application/json"); got.status != http.StatusBadRequest || got.field(t, "code") != "too_many_items" {
		t.Errorf("too many items got %d: %s", got.status, got.body)
	}
}

func TestWhoIsNotKnownIsToldNothing(t *testing.T) {
	h := newHooked(t, `{"scheme":{"kind":"none"},"allowFrom":["192.0.2.0/29"]}`)
	if got := h.deliver(http.MethodPost, "a"); got.status != http.StatusAccepted {
		t.Fatalf("an address that may send got %d: %s", got.status, got.body)
	}
	refused := string(hook.Refused().Body)
	patch := h.send(http.MethodPatch, h.path(""), h.secret, `{"allowFrom":["198.51.100.0/24"]}`)
	if patch.status != http.StatusOK {
		t.Fatal(patch.body)
	}
	if got := h.deliver(http.MethodPost, "a"); got.status != http.StatusForbidden || got.body != refused {
		t.Errorf("another address got %d: %s", got.status, got.body)
	}
	token := strings.TrimPrefix(h.address, "/h/")
	for claim, address := range map[string]string{"an unknown token": "/h/" + tokenOf("nobody").Reveal(), "no token": "/h/x", "a token that is cut off": "/h/" + token[:20], "a NUL": "/h/%00"} {
		other := h
		other.address = address
		got := other.deliver(http.MethodPost, "a")
		if got.status != http.StatusNotFound || got.body != refused {
			t.Errorf("%s got %d: %s", claim, got.status, got.body)
		}
		safe(t, got)
	}
	if strings.Contains(h.log.String(), token[4:20]) {
		t.Error("the log has the token")
	}
}

func TestOfAFloodOfForgedDeliveriesFewAreKept(t *testing.T) {
	h := newHooked(t, `{"scheme":{"kind":"none"}}`)
	signing := h.send(http.MethodPost, "/v1/gateway/connections", h.secret, `{"name":"GitHub","kind":"hmac","shared":true,"secret":{"key":"what-github-signs-with"}}`).field(t, "id")
	if got := h.send(http.MethodPatch, h.path(""), h.secret, fmt.Sprintf(`{"scheme":{"preset":"github"},"secrets":[%q]}`, signing)); got.status != http.StatusOK {
		t.Fatal(got.body)
	}
	body := `{}`
	forge := func(n int) {
		for range n {
			if got := h.deliver(http.MethodPost, body, "X-Hub-Signature-256", "sha256="+strings.Repeat("0", 64)); got.status != http.StatusUnauthorized {
				t.Fatalf("got %d: %s", got.status, got.body)
			}
		}
	}
	last := func() string { return h.received()[0].ID }
	forge(hook.MaxRefused - 1)
	before := last()
	forge(1)
	kept := last()
	forge(20)
	if before == kept || last() != kept {
		t.Errorf("the last one kept is %s, of those before it %s", last(), before)
	}
	h.clock.Set(noon.Add(time.Minute))
	forge(1)
	if last() == kept {
		t.Error("a minute later none is kept")
	}

	kept = last()
	body = `{"large":"` + strings.Repeat("a", 64<<10) + `"}`
	forge(15)
	if large := slices.IndexFunc(h.received(), func(r receivedDelivery) bool { return r.ID == kept }); large != 10 {
		t.Errorf("%d large ones are kept", large)
	}
}

func TestADeliveryThatDoesNotOpenIsToldAsThat(t *testing.T) {
	h := newHooked(t, `{"scheme":{"kind":"none"}}`)
	if got := h.deliver(http.MethodPost, `{"from":"a third party"}`); got.status != http.StatusAccepted {
		t.Fatalf("got %d: %s", got.status, got.body)
	}
	one := h.path("/deliveries/" + h.received()[0].ID)
	if got := h.send(http.MethodGet, one, h.secret, ""); got.status != http.StatusOK {
		t.Fatalf("got %d: %s", got.status, got.body)
	}
	if err := h.store.Statements(t.Context(), func(u *core.Unit) error {
		_, err := u.Exec(t.Context(), "damage a delivery", `UPDATE hook_deliveries SET sealed = sealed || '!'`)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if got := h.send(http.MethodGet, one, h.secret, ""); got.status != http.StatusServiceUnavailable || got.field(t, "code") != "secret_unreadable" || strings.Contains(got.body, "sealed") {
		t.Errorf("got %d: %s", got.status, got.body)
	}
	if got := h.send(http.MethodGet, h.path("/deliveries"), h.secret, ""); got.status != http.StatusOK {
		t.Errorf("the list: got %d: %s", got.status, got.body)
	}
}

// What the process knows of an address goes with what the hook belongs to, though nobody names the hook.
func TestAHookIsGoneTogetherWithItsWorkflow(t *testing.T) {
	h := newHooked(t, `{"scheme":{"kind":"none"}}`)
	if got := h.deliver(http.MethodPost, `{}`); got.status != http.StatusAccepted {
		t.Fatalf("got %d: %s", got.status, got.body)
	}
	if got := h.send(http.MethodDelete, "/v1/gateway/workflows/"+h.ids["workflows"], h.secret, ""); got.status != http.StatusNoContent {
		t.Fatalf("got %d: %s", got.status, got.body)
	}
	if got := h.deliver(http.MethodPost, `{}`); got.status != http.StatusNotFound {
		t.Errorf("got %d: %s", got.status, got.body)
	}
}

// safe checks that an answer can do nothing in a browser.
func safe(t *testing.T, a answer) {
	t.Helper()
	for name, want := range map[string]string{"Content-Security-Policy": "sandbox; default-src 'none'", "X-Content-Type-Options": "nosniff", "Set-Cookie": "", "Location": "", "Access-Control-Allow-Origin": ""} {
		if got := a.header.Get(name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
}

func TestWhateverIsAnsweredCanDoNothingOnOurOrigin(t *testing.T) {
	h := newHooked(t, `{"scheme":{"kind":"none"},"respond":{"mode":"fixed","status":201,"headers":{"content-type":"text/csv"},"body":"<script>1</script>"}}`)
	got := h.deliver("PROPFIND", "", "Origin", "https://evil.example")
	if got.status != http.StatusCreated || got.body != "<script>1</script>" || !strings.HasPrefix(got.header.Get("Content-Type"), "text/csv") {
		t.Errorf("got %d: %v %s", got.status, got.header, got.body)
	}
	safe(t, got)
	if wrong := h.send(http.MethodPatch, h.path(""), h.secret, `{"respond":{"mode":"fixed","headers":{"set-cookie":"a=b"}}}`); wrong.status != http.StatusBadRequest {
		t.Errorf("a cookie got %d: %s", wrong.status, wrong.body)
	}
	h = newHooked(t, `{"scheme":{"kind":"none"}}`)
	for claim, a := range map[string]answer{
		"a body that cannot be read": h.deliver(http.MethodPost, "{", "Content-Type", "application/json"),
		"a body that is too large":   h.deliver(http.MethodPost, strings.Repeat("a", hook.MaxBody+1)),
		"headers that are too large": h.deliver(http.MethodPost, "a", "X-Large", strings.Repeat("a", 40<<10)),
	} {
		if a.status < 400 || a.status >= 500 || strings.Contains(a.body, h.address) {
			t.Errorf("%s got %d: %s", claim, a.status, a.body)
		}
		safe(t, a)
	}
	if all := h.verdicts(); len(all) != 1 || all[0] != "unreadable hook_delivery_unreadable" {
		t.Errorf("they are kept as %q", all)
	}
}

func TestTheOldAddressLivesForAGrace(t *testing.T) {
	h := newHooked(t, `{"scheme":{"kind":"none"}}`)
	old := h.address
	rotated := h.send(http.MethodPost, h.path("/rotate"), h.secret, `{"graceSeconds":60}`)
	address, _ := rotated.field(t, "url").(string)
	if h.address = strings.TrimPrefix(address, "https://hooks.example.com"); h.address == old || rotated.field(t, "oldUrlUntil") == nil {
		t.Fatalf("got %d: %s", rotated.status, rotated.body)
	}
	if shown := h.send(http.MethodGet, h.path(""), h.secret, ""); strings.Contains(shown.body, h.address) {
		t.Errorf("it is shown again: %s", shown.body)
	}
	status := func(address string) int {
		other := h
		other.address = address
		return other.deliver(http.MethodPost, "a").status
	}
	if one, two := status(old), status(h.address); one != http.StatusAccepted || two != http.StatusAccepted {
		t.Errorf("within the grace the addresses get %d and %d", one, two)
	}
	h.clock.Set(noon.Add(61 * time.Second))
	if one, two := status(old), status(h.address); one != http.StatusNotFound || two != http.StatusAccepted {
		t.Errorf("after it they get %d and %d", one, two)
	}
	if gone := h.send(http.MethodDelete, "/v1/gateway/triggers/"+h.ids["listening"], h.secret, ""); gone.status != http.StatusNoContent {
		t.Fatal(gone.body)
	}
	if left := status(h.address); left != http.StatusNotFound {
		t.Errorf("without its trigger the address gets %d", left)
	}
}

func TestADeliveryIsReplayed(t *testing.T) {
	h := newHooked(t, `{"scheme":{"kind":"none"},"dedupe":"payload.body.id"}`)
	h.deliver(http.MethodPost, `{"id":1}`, "Content-Type", "application/json", "X-Secret", "shown")
	first := h.received()[0]
	whole := h.send(http.MethodGet, h.path("/deliveries/"+first.ID), h.secret, "")
	if whole.status != http.StatusOK || whole.field(t, "body") != `{"id":1}` || whole.field(t, "client") != "192.0.2.7" {
		t.Fatalf("got %d: %s", whole.status, whole.body)
	}
	var ids []string
	for _, key := range []string{"a", "a", "b"} {
		again := h.send(http.MethodPost, h.path("/deliveries/"+first.ID+"/replay"), h.secret, "", "X-Idempotency-Key", key)
		if again.status != http.StatusOK || again.field(t, "verdict") != "accepted" || again.field(t, "replayOf") != first.ID {
			t.Fatalf("got %d: %s", again.status, again.body)
		}
		started, _ := again.field(t, "runIds").([]any)
		ids = append(ids, fmt.Sprint(started[0]))
		if shown := h.send(http.MethodGet, "/v1/gateway/runs/"+ids[len(ids)-1], h.secret, ""); shown.field(t, "replayOf") != first.ID {
			t.Errorf("the run is %s", shown.body)
		}
	}
	if ids[0] != ids[1] || ids[0] == ids[2] || ids[0] == first.RunIDs[0] {
		t.Errorf("%s was replayed as %v", first.RunIDs[0], ids)
	}
}
