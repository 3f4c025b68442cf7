package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/connection"
)

// world is what templates call: every address of theirs leads to it.
type world struct {
	*httptest.Server
	mu       sync.Mutex
	received []string          // METHOD /path?query body
	answers  map[string]string // by METHOD /path; {} for others
	failing  map[string]bool   // by METHOD /path
}

func newWorld(t *testing.T) *world {
	w := &world{answers: map[string]string{}, failing: map[string]bool{}}
	w.Server = httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.received = append(w.received, strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Method, r.URL, body)))
		route := r.Method + " " + r.URL.Path
		if w.failing[route] {
			answer.WriteHeader(http.StatusBadRequest)
			return
		}
		answer.Header().Set("Content-Type", "application/json")
		text := w.answers[route]
		if text == "" {
			text = "{}"
		}
		_, _ = io.WriteString(answer, text)
	}))
	t.Cleanup(w.Close)
	return w
}

// got is what was received whose text begins like that.
func (w *world) got(begin string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.received), func(text string) bool { return !strings.HasPrefix(text, begin) })
}

// templateUser begins with templates, at a gateway whose templates call a world of the test.
type templateUser struct {
	fileUser
	world  *world
	hooks  map[string]string // addresses by the names of triggers
	sample map[string]any
	id     string // of the main workflow
}

// hookKey signs what senders deliver.
const hookKey = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// begin makes the workflows of a template with a connection of its kind for each that it names, and publishes them.
func begin(t *testing.T, b binary, s server, id string) templateUser {
	t.Helper()
	u := templateUser{fileUser: fileUser{b, s, fmt.Sprint(b.json("tenant", "create", "--name", id)["secretKey"])}, world: newWorld(t), hooks: map[string]string{}}
	u.fileUser = u.with(u.key)
	template := u.ask(http.MethodGet, "/templates/"+id, "")
	u.sample = template["sample"].(map[string]any)
	where := strings.TrimPrefix(u.world.URL, "http://")
	for _, one := range template["connections"].([]any) {
		name, kind := fmt.Sprint(one.(map[string]any)["name"]), fmt.Sprint(one.(map[string]any)["kind"])
		secret := fmt.Sprintf(`"hosts": [%q], "secret": {"token": "token_of_%s"}`, where, id)
		if kind == string(connection.HMAC) {
			secret = fmt.Sprintf(`"hosts": [%q], "secret": {"key": "whsec_%s"}`, where, hookKey)
		}
		u.post("/connections", fmt.Sprintf(`{"name": %q, "kind": %q, %s}`, name, kind, secret))
	}
	files := map[string]string{}
	for i, w := range template["workflows"].([]any) {
		text, _ := json.Marshal(w)
		for _, a := range template["addresses"].([]any) {
			text = []byte(strings.ReplaceAll(string(text), fmt.Sprint(a.(map[string]any)["url"]), u.world.URL))
		}
		text = []byte(strings.ReplaceAll(string(text), "https://api.github.com", u.world.URL))
		text = []byte(strings.ReplaceAll(string(text), `"delayMs":60000`, `"delayMs":1500`))
		files[fmt.Sprintf("%d.json", i)] = string(text)
	}
	code, applied, stderr := u.run("workflow", "apply", folderOf(t, files), "--publish", "--show-addresses")
	if code != 0 || strings.Contains(applied, "warning") {
		t.Fatalf("%s: %d %s %s", id, code, applied, stderr)
	}
	lines := strings.Split(applied, "\n")
	for i, line := range lines {
		if address, is := strings.CutPrefix(line, "  its address: "); is {
			u.hooks[strings.Split(lines[i-1], `"`)[1]] = address
		}
	}
	u.id = u.workflow(fmt.Sprint(template["workflows"].([]any)[0].(map[string]any)["name"]))
	return u
}

// fire sends an event and returns the run that it starts.
func (u templateUser) fire(event string, payload any) string {
	u.Helper()
	data, _ := json.Marshal(payload)
	fired := u.post("/triggers/webhook/by-event", fmt.Sprintf(`{"event": %q, "eventData": %s}`, event, data))
	triggers := fired["triggers"].([]any)
	if len(triggers) != 1 {
		u.Fatalf("%s fires %v", event, fired)
	}
	return fmt.Sprint(triggers[0].(map[string]any)["runId"])
}

// start runs the workflow by hand, with its sample.
func (u templateUser) start() string {
	u.Helper()
	data, _ := json.Marshal(u.sample)
	return fmt.Sprint(u.post("/workflows/"+u.id+"/runs", fmt.Sprintf(`{"eventData": %s}`, data))["id"])
}

// ended waits until a run has completed, and returns it.
func (u templateUser) ended(run string) map[string]any {
	u.Helper()
	u.server.await(u.T, "/v1/gateway/runs?limit=100&status=completed", u.key, `"id":"`+run+`"`)
	return u.ask(http.MethodGet, "/runs/"+run, "")
}

// answer waits for the question of a node and answers it.
func (u templateUser) answer(node, with string) {
	u.Helper()
	u.server.await(u.T, "/v1/gateway/pauses", u.key, `"nodeId":"`+node+`"`)
	for _, one := range u.ask(http.MethodGet, "/pauses", "")["items"].([]any) {
		if p := one.(map[string]any); p["nodeId"] == node {
			status, text := u.server.request(u.T, http.MethodPost, fmt.Sprintf("/v1/gateway/pauses/%v/answer", p["id"]), u.key, `{"input": `+with+`}`)
			if status >= http.StatusMultipleChoices {
				u.Fatalf("answering %s with %s: %d %s", node, with, status, text)
			}
		}
	}
}

// deliver sends what a third party would to the hook of a trigger.
func (u templateUser) deliver(trigger string, payload any, header func(body string) map[string]string) {
	u.Helper()
	address, err := url.Parse(u.hooks[trigger])
	if err != nil || address.Path == "" {
		u.Fatalf("%s has the address %q", trigger, u.hooks[trigger])
	}
	body, _ := json.Marshal(payload)
	r, err := http.NewRequestWithContext(u.Context(), http.MethodPost, u.server.url+address.Path, strings.NewReader(string(body)))
	if err != nil {
		u.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for name, value := range header(string(body)) {
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		u.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if text, _ := io.ReadAll(answer.Body); answer.StatusCode >= http.StatusMultipleChoices {
		u.Fatalf("the hook answers %d %s", answer.StatusCode, text)
	}
}

func signature(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	_, _ = io.WriteString(mac, text)
	return mac.Sum(nil)
}

// onlyRun waits for the run of the main workflow that has completed.
func (u templateUser) onlyRun() map[string]any {
	u.Helper()
	u.server.await(u.T, "/v1/gateway/runs?workflowId="+u.id, u.key, `"status":"completed"`)
	items := u.ask(http.MethodGet, "/runs?workflowId="+u.id, "")["items"].([]any)
	if len(items) != 1 {
		u.Errorf("there are %d runs", len(items))
	}
	return items[0].(map[string]any)
}

func (u templateUser) wants(begin string, want ...string) {
	u.Helper()
	if diff := cmp.Diff(want, u.world.got(begin)); diff != "" {
		u.Errorf("sent in another way: %s", diff)
	}
}

// templateRuns run each template to its end.
var templateRuns = map[string]func(u templateUser){
	"approval-by-link": func(u templateUser) {
		yes := u.fire("approval.requested", u.sample)
		u.answer("approve", `{"approved": true, "comment": "good"}`)
		u.ended(yes)
		if mail := u.world.got("POST /messages"); len(mail) != 1 || !strings.Contains(mail[0], "/a/") || !strings.Contains(mail[0], `"to":"ana@example.com"`) {
			u.Errorf("the link is sent as %s", mail)
		}
		no := u.fire("approval.requested", u.sample)
		u.answer("approve", `{"approved": false}`)
		u.ended(no)
		u.wants("POST /approvals", `POST /approvals {"comment":"good","decision":"approved","subject":"New laptops for sales"}`, `POST /approvals {"comment":"","decision":"declined","subject":"New laptops for sales"}`)
		u.simulates(`"answers": {"mail": [{"output": {"status": 200, "headers": {}, "body": {}}}], "expired": [{"output": {"status": 200, "headers": {}, "body": {}}}]}`, 7*24*time.Hour, "expired")
	},
	"form-with-validation": func(u templateUser) {
		run := u.fire("company.signed_up", u.sample)
		u.answer("details", `{"vatId": "DE12345", "employees": 12, "plan": "basic"}`)
		u.answer("again", `{"vatId": "DE123456788", "employees": 12, "plan": "team"}`)
		u.ended(run)
		run = u.fire("company.signed_up", u.sample)
		u.answer("details", `{"vatId": "DE123456788", "employees": 3, "plan": "basic"}`)
		u.ended(run)
		u.wants("POST /accounts", `POST /accounts {"company":"Acme Inc","details":{"employees":12,"plan":"team","vatId":"DE123456788"}}`, `POST /accounts {"company":"Acme Inc","details":{"employees":3,"plan":"basic","vatId":"DE123456788"}}`)
	},
	"escalation": func(u templateUser) {
		run := u.fire("case.opened", u.sample)
		u.answer("owner", `"refund it"`)
		u.ended(run)
		u.wants("POST /cases", `POST /cases/case-77/close {"decision":"refund it"}`)
		done := `[{"output": {"status": 200, "headers": {}, "body": {}}}]`
		u.simulates(`"answers": {"tellOwner": `+done+`, "tellManager": `+done+`, "close": `+done+`, "manager": [{"output": "wait", "afterMs": 1000}]}`, 24*time.Hour, "close")
	},
	"order-shipped": func(u templateUser) {
		u.ended(u.fire("order.shipped", u.sample))
		u.ended(u.fire("order.shipped", u.sample)) // reported twice
		u.wants("POST /mails", `POST /mails {"text":"Hello Zoe, your order order-1042 is on its way.","to":"zoe@example.com"}`)
		if n := u.world.got(`POST /orders/order-1042/notes {"notified":true}`); len(n) != 2 {
			u.Errorf("noted %d times", len(n))
		}
		for channel, sent := range map[string]string{"text": "POST /texts", "none": `POST /orders/order-2/notes {"notified":false}`} {
			u.ended(u.fire("order.shipped", map[string]any{"order": "order-" + map[string]string{"text": "1", "none": "2"}[channel], "customer": map[string]any{"name": "Zoe", "channel": channel, "address": "1"}}))
			if len(u.world.got(sent)) != 1 {
				u.Errorf("%s is not sent", channel)
			}
		}
	},
	"stripe-to-api": func(u templateUser) {
		for range 2 { // Stripe repeats
			u.deliver("Stripe", u.sample["body"], func(body string) map[string]string {
				at := fmt.Sprint(time.Now().Unix())
				return map[string]string{"Stripe-Signature": "t=" + at + ",v1=" + hex.EncodeToString(signature([]byte("whsec_"+hookKey), at+"."+body))}
			})
		}
		u.onlyRun()
		u.wants("POST", `POST /payments {"amount":49,"currency":"eur","customer":"cus_1","invoice":"in_1"}`)
	},
	"github-triage": func(u templateUser) {
		u.deliver("GitHub", u.sample["body"], func(body string) map[string]string {
			return map[string]string{
				"X-GitHub-Event": "issues", "X-GitHub-Delivery": "d-1", "X-Hub-Signature-256": "sha256=" + hex.EncodeToString(signature([]byte("whsec_"+hookKey), body)),
			}
		})
		u.onlyRun()
		u.wants("POST /repos", `POST /repos/acme/shop/issues/7/labels {"labels":["bug"]}`)
		u.wants("POST /messages", `POST /messages {"text":"New bug in acme/shop: The cart is broken https://github.com/acme/shop/issues/7"}`)
	},
	"webhook-relay": func(u templateUser) {
		key, _ := base64.StdEncoding.DecodeString(hookKey)
		u.deliver("Sender", u.sample["body"], func(body string) map[string]string {
			at := fmt.Sprint(time.Now().Unix())
			return map[string]string{"webhook-id": "msg_1", "webhook-timestamp": at, "webhook-signature": "v1," + base64.StdEncoding.EncodeToString(signature(key, "msg_1."+at+"."+body))}
		})
		u.onlyRun()
		u.wants("POST", `POST /orders {"items":[{"cents":450,"quantity":2,"sku":"A-1"},{"cents":2000,"quantity":1,"sku":"B-7"}],"reference":"order-1042","total":2900}`)
	},
	"monday-report": func(u templateUser) {
		u.world.answers["GET /customers"] = `[{"id": 1, "name": "Ann"}, {"id": 2, "name": "Ben"}, {"id": 3, "name": "Cem"}]`
		u.world.answers["GET /customers/1/figures"] = `{"orders": 2, "revenue": 100}`
		u.world.answers["GET /customers/2/figures"] = `{"orders": 5, "revenue": 700}`
		u.world.failing["GET /customers/3/figures"] = true
		u.ended(u.start())
		u.wants("POST", `POST /messages {"text":"Revenue: 800\nBen: 5 orders, 700\nAnn: 2 orders, 100"}`)
	},
	"scheduled-clean-up": func(u templateUser) {
		u.world.answers["GET /files"] = `[{"id": 1, "expiresAt": "2026-12-31T00:00:00.000Z"}, {"id": 2, "expiresAt": "2027-06-30T00:00:00.000Z"}, {"id": 3, "expiresAt": "2027-01-01T00:00:00.000Z"}]`
		u.world.failing["DELETE /files/3"] = true
		u.ended(u.start())
		u.wants("POST", `POST /messages {"text":"1 of 2 files could not be removed."}`)
		u.world.failing = map[string]bool{}
		if run := u.ended(u.start()); fmt.Sprint(run["output"]) != "map[removed:2]" {
			u.Errorf("all clean gives %v", run["output"])
		}
		if n := u.world.got("DELETE /files/2"); len(n) > 0 {
			u.Errorf("what has not expired is removed: %s", n)
		}
	},
	"retry-with-fallback": func(u templateUser) {
		if run := u.ended(u.fire("message.send", u.sample)); fmt.Sprint(run["output"]) != "map[sentBy:first]" {
			u.Errorf("the first gives %v", run["output"])
		}
		// Both services are at the same address here: it refuses the one and takes the other.
		fails := `[{"error": {"code": "http_503", "message": "down", "retryable": true}}, {"error": {"code": "http_503", "message": "down", "retryable": true}}, {"error": {"code": "http_503", "message": "down", "retryable": true}}]`
		u.simulates(`"answers": {"first": `+fails+`, "second": [{"output": {"status": 200, "headers": {}, "body": {}}}]}`, time.Second, "by")
		u.simulates(`"answers": {"first": `+fails+`, "second": `+fails+`, "tell": [{"output": {"status": 200, "headers": {}, "body": {}}}]}`, 2*time.Second, "tell")
		u.world.failing["POST /messages"] = true
		u.server.await(u.T, "/v1/gateway/runs?status=failed", u.key, u.fire("message.send", u.sample))
	},
	"fan-out-and-join": func(u templateUser) {
		u.world.answers["GET /stock"], u.world.answers["GET /prices"], u.world.answers["GET /shipping"] = `{"available": 5}`, `{"amount": 10}`, `{"amount": 4}`
		run := u.ended(u.fire("quote.requested", u.sample))
		if diff := cmp.Diff(map[string]any{"product": "A-1", "available": true, "total": 34.0}, run["output"]); diff != "" {
			u.Error(diff)
		}
	},
	"dedupe-by-entity": func(u templateUser) {
		u.world.answers["GET /customers/customer-7"] = `{"name": "Ann"}`
		first := u.fire("customer.changed", u.sample)
		data, _ := json.Marshal(u.sample)
		for range 3 {
			u.post("/triggers/webhook/by-event", fmt.Sprintf(`{"event": "customer.changed", "eventData": %s}`, data))
		}
		u.ended(first)
		u.wants("POST", `POST /messages {"customer":"customer-7","now":{"name":"Ann"}}`)
		u.onlyRun()
	},
}

// simulates lets time pass that a test cannot wait for: the run must come to a node, after that long at least.
func (u templateUser) simulates(answers string, after time.Duration, node string) {
	u.Helper()
	version := u.ask(http.MethodGet, "/workflow-versions?isActive=true&workflowId="+u.id, "")["items"].([]any)[0].(map[string]any)["id"]
	data, _ := json.Marshal(u.sample)
	const start = "2027-01-04T09:00:00.000Z"
	found := u.post(fmt.Sprintf("/workflow-versions/%v/simulate", version), fmt.Sprintf(`{"eventData": %s, "startAt": %q, %s}`, data, start, answers))
	for _, one := range found["nodes"].([]any) {
		n := one.(map[string]any)
		if n["nodeId"] != node {
			continue
		}
		began, _ := time.Parse(time.RFC3339, start)
		if at, _ := time.Parse(time.RFC3339, fmt.Sprint(n["finishedAt"])); n["status"] != "completed" || at.Sub(began) < after {
			u.Errorf("%s is %v after %s", node, n["status"], at.Sub(began))
		}
		if found["status"] != "completed" {
			u.Errorf("the simulation is %v", found)
		}
		return
	}
	u.Errorf("it does not come to %s: %v", node, found)
}

func TestEachTemplateIsPublishedWithoutAWarningAndRunsToItsEnd(t *testing.T) {
	databases(t, func(t *testing.T, b binary) {
		b.environ = append(b.environ, "SLUICE_EGRESS_ALLOW=127.0.0.1/32", "SLUICE_PUBLIC_URL=https://sluice.example.com")
		s := b.start("serve")
		key := fmt.Sprint(b.json("tenant", "create", "--name", "Acme")["secretKey"])
		_, text := s.request(t, http.MethodGet, "/v1/gateway/templates", key, "")
		var list struct{ Templates []struct{ ID string } }
		if err := json.Unmarshal([]byte(text), &list); err != nil || len(list.Templates) != len(templateRuns) {
			t.Fatalf("%d templates and %d tests of them: %v", len(list.Templates), len(templateRuns), err)
		}
		for _, one := range list.Templates {
			t.Run(one.ID, func(t *testing.T) {
				inner := b
				inner.T = t
				templateRuns[one.ID](begin(t, inner, s, one.ID))
			})
		}
	})
}
