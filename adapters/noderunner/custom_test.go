package noderunner_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/ports/outbound"
)

var (
	newSecret = secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	oldSecret = secret("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD")
)

func secret(text string) domain.SigningSecret {
	s, err := domain.ParseSigningSecret(text)
	if err != nil {
		panic(err)
	}
	return s
}

// custom is a call of a custom node at the endpoint.
func custom(endpoint string) outbound.NodeCall {
	return outbound.NodeCall{
		Tenant: "tenant_1", SubTenant: "st-9", RunID: "run_1", EntityID: "order-7", NodeID: "price", Type: "acme.price", Version: "1.2.0",
		Attempt: 2, Inputs: map[string]any{"a": "<&>"}, Config: map[string]any{"currency": "EUR"}, IdempotencyKey: "run_1:price",
		Endpoint: endpoint, Secrets: []domain.SigningSecret{newSecret},
	}
}

func TestACustomNodeIsSentWhatTheProtocolSays(t *testing.T) {
	url, last := recorder(t, says(200, `{"success": true, "data": {"total": 12.50, "Total": null}}`))
	outcome := run(t, custom(url+"/nodes?v=1"))
	if diff := cmp.Diff(outbound.NodeOutcome(outbound.NodeCompleted{Output: tree(t, `{"total": 12.50, "Total": null}`)}), outcome); diff != "" {
		t.Error(diff)
	}
	got := last()
	for _, name := range []string{"X-Cnp-Signature", "Webhook-Signature"} {
		if got.Header.Get(name) == "" {
			t.Errorf("there is no %s", name)
		}
		got.Header.Del(name) // looked at below
	}
	want := received{
		Method: "POST", URL: "/nodes?v=1",
		Header: http.Header{
			"Accept": {"application/json"}, "Accept-Encoding": {"gzip"}, "Content-Length": {"278"}, "Content-Type": {"application/json"},
			"Idempotency-Key": {"run_1:price"}, "User-Agent": {"Sluice/test"},
			"Webhook-Id": {"msg_5663671a98a5e17df2c7bbed7c23c209"}, "Webhook-Timestamp": {"1774785600"},
		},
		Body: `{"type":"run","payload":{"nodeType":"acme.price","runId":"run_1","tenantId":"tenant_1","subTenantId":"st-9","entityId":"order-7",` +
			`"inputs":{"a":"<&>"},"config":{"currency":"EUR"},"metadata":{"timestamp":"2026-03-29T12:00:00.250Z","version":"1.2.0","nodeId":"price","attempt":2}}}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEachSecretCanCheckACall(t *testing.T) {
	url, last := recorder(t, says(200, `{"success": true}`))
	call := custom(url)
	call.Secrets = []domain.SigningSecret{newSecret, oldSecret}
	run(t, call)
	got := last()
	var cnp []string
	for _, s := range call.Secrets {
		oracle, err := standardwebhooks.NewWebhook(s.Reveal())
		if err != nil {
			t.Fatal(err)
		}
		if err := oracle.VerifyIgnoringTimestamp([]byte(got.Body), got.Header); err != nil {
			t.Error(err)
		}
		if err := oracle.VerifyIgnoringTimestamp([]byte(got.Body+" "), got.Header); err == nil {
			t.Error("another body is taken for the signed one")
		}
		mac := hmac.New(sha256.New, []byte(s.Reveal()))
		mac.Write([]byte(got.Body))
		cnp = append(cnp, "sha256="+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	if diff := cmp.Diff(strings.Join(cnp, ","), got.Header.Get("X-CNP-Signature")); diff != "" {
		t.Error(diff)
	}
	stranger, err := standardwebhooks.NewWebhook("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	if err != nil {
		t.Fatal(err)
	}
	if stranger.VerifyIgnoringTimestamp([]byte(got.Body), got.Header) == nil {
		t.Error("a stranger's secret fits")
	}
}

func TestAMessageIsTheSameForEveryAttemptAndNoOther(t *testing.T) {
	url, last := recorder(t, says(200, `{"success": true}`))
	identify := func(key string, attempt int) string {
		call := custom(url)
		call.IdempotencyKey, call.Attempt = key, attempt
		run(t, call)
		return last().Header.Get("Webhook-Id")
	}
	first := identify("run_1:a.b", 1)
	if again := identify("run_1:a.b", 2); again != first || strings.Contains(first, ".") {
		t.Errorf("%q and then %q", first, again)
	}
	if other := identify("run_1:a", 1); other == first {
		t.Error("another node has the same id")
	}
}

func TestAnyNodeIdMakesAKey(t *testing.T) {
	url, last := recorder(t, says(200, `{"success": true}`))
	for key, want := range map[string]string{
		"run_1:a b":       "run_1:a%20b",
		"run_1:a%20b":     "run_1:a%2520b",
		"run_1:é\n\x00":   "run_1:%C3%A9%0A%00",
		"run_1:Price-1_x": "run_1:Price-1_x",
	} {
		call := custom(url)
		call.IdempotencyKey = key
		run(t, call)
		if got := last().Header.Get("Idempotency-Key"); got != want {
			t.Errorf("%q is sent as %q", key, got)
		}
	}
}

func TestWhatACustomNodeAnswersIsReadStrictly(t *testing.T) {
	invalid := func(why string) outbound.NodeOutcome {
		return outbound.NodeFailed{Code: "answer_invalid", Message: "The answer of HOST does not follow the protocol of custom nodes: " + why + "."}
	}
	failure := func(code, message string, retryable bool) outbound.NodeOutcome {
		return outbound.NodeFailed{Code: code, Message: message, Retryable: retryable}
	}
	for body, want := range map[string]outbound.NodeOutcome{
		`{"success": true, "data": [1e308, "x"]}`:  outbound.NodeCompleted{Output: tree(t, `[1e308, "x"]`)},
		`{"success": true, "data": null}`:          outbound.NodeCompleted{},
		`{"success": true}`:                        outbound.NodeCompleted{},
		`{"success": true, "paused": false}`:       outbound.NodeCompleted{},
		`{"success": true, "paused": null, "x":1}`: outbound.NodeCompleted{},

		`{"success": false, "error": {"message": "No stock.", "code": "no_stock"}}`:                     failure("no_stock", "No stock.", false),
		`{"success": false, "error": {"message": "Busy.", "code": "BUSY", "retryable": true}}`:          failure("BUSY", "Busy.", true),
		`{"success": false, "error": {"message": "a\u0000b", "code": "x", "retryable": null}}`:          failure("x", "a\ufffdb", false),
		`{"success": false, "error": {"message": "` + strings.Repeat("é", 1001) + `", "code": "long"}}`: failure("long", strings.Repeat("é", 1000)+"…", false),

		`{"paused": true}`:                               outbound.NodePaused{},
		`{"paused": true, "event": null}`:                outbound.NodePaused{},
		`{"paused": true, "event": "e", "timeoutMs": 1}`: outbound.NodePaused{Event: "e", Timeout: time.Millisecond},
		`{"paused": true, "timeoutMs": 31536000000}`:     outbound.NodePaused{Timeout: 365 * 24 * time.Hour},
		`{"paused": true, "success": true}`:              invalid("it must hold only one of success and paused"),
		`{"paused": true, "timeoutMs": 0}`:               invalid("timeoutMs must be a whole number from 1 to 31536000000"),
		`{"paused": true, "timeoutMs": 1.5}`:             invalid("timeoutMs must be a whole number from 1 to 31536000000"),
		`{"paused": true, "timeoutMs": "1"}`:             invalid("timeoutMs must be a whole number from 1 to 31536000000"),
		`{"paused": true, "timeoutMs": 1e300}`:           invalid("timeoutMs must be a whole number from 1 to 31536000000"),
		`{"paused": true, "event": 5}`:                   invalid("event must be a string"),
		`{"paused": true, "event": "a\u0000"}`:           invalid("event must be at most 255 characters and none of them U+0000"),
		`{"paused": "yes"}`:                              invalid("paused must be true or false"),
		`{"Success": true}`:                              invalid("it must hold success or paused"),
		`{"success": "true"}`:                            invalid("success must be true or false"),
		`{"paused": false}`:                              invalid("it must hold success or paused"),
		`{}`:                                             invalid("it must hold success or paused"),
		``:                                               invalid("it is not one JSON value"),
		`OK`:                                             invalid("it is not one JSON value"),
		`{"success": true} {}`:                           invalid("it is not one JSON value"),
		"{\"success\": true, \"data\": \"\xff\"}":        invalid("it is not valid UTF-8"),
		`[]`:   invalid("it must be a JSON object"),
		`null`: invalid("it must be a JSON object"),
		`{"success": true, "data": ` + nested(64) + `}`:                          invalid("it is nested more than 64 levels deep"),
		`{"success": false}`:                                                     invalid("error must be an object with message and code"),
		`{"success": false, "error": "broken"}`:                                  invalid("error must be an object with message and code"),
		`{"success": false, "error": {"message": "x"}}`:                          invalid("error.message and error.code must not be empty"),
		`{"success": false, "error": {"code": "x"}}`:                             invalid("error.message and error.code must not be empty"),
		`{"success":false,"error":{"message":1}}`:                                invalid("error.message must be a string"),
		`{"success":false,"error":{"message":"x","code":5}}`:                     invalid("error.code must be a string"),
		`{"success":false,"error":{"message":"x","code":"y","retryable":"yes"}}`: invalid("error.retryable must be true or false"),
	} {
		url, _ := recorder(t, says(200, body))
		call := custom(url)
		call.CanPause = true
		got := run(t, call)
		if f, ok := got.(outbound.NodeFailed); ok {
			f.Message = strings.ReplaceAll(f.Message, strings.TrimPrefix(url, "http://"), "HOST")
			got = f
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", body, diff)
		}
	}
}

func nested(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }

func TestAnAnswerAtTheDeepestLevelIsRead(t *testing.T) {
	for _, data := range []string{nested(63), `"\"` + nested(100) + `"`, `["\\", ` + nested(62) + `]`, `"` + nested(100) + `"`} {
		url, _ := recorder(t, says(200, `{"success": true, "data": `+data+`}`))
		want := outbound.NodeCompleted{Output: tree(t, data)}
		if got := run(t, custom(url)); !reflect.DeepEqual(got, outbound.NodeOutcome(want)) { // cmp takes 2^depth steps
			t.Errorf("%s is read as %+v", data, got)
		}
	}
}

func TestAnotherStatusIsAFailureForWhichTheNodeMayGiveItsReason(t *testing.T) {
	for claim, c := range map[string]struct {
		status int
		body   string
		want   outbound.NodeFailed
	}{
		"a status alone":                  {500, "", outbound.NodeFailed{Code: "unexpected_status", Message: "HOST answered 500 Internal Server Error", Retryable: true}},
		"a status and a text":             {404, " Not\x00here ", outbound.NodeFailed{Code: "unexpected_status", Message: "HOST answered 404 Not Found: Not\ufffdhere"}},
		"a status without a name":         {599, "", outbound.NodeFailed{Code: "unexpected_status", Message: "HOST answered 599", Retryable: true}},
		"a redirect, which is not taken":  {302, "", outbound.NodeFailed{Code: "unexpected_status", Message: "HOST answered 302 Found"}},
		"its own reason":                  {422, `{"success": false, "error": {"message": "m", "code": "c"}}`, outbound.NodeFailed{Code: "c", Message: "m"}},
		"its own reason, to try again":    {503, `{"success": false, "error": {"message": "m", "code": "c"}}`, outbound.NodeFailed{Code: "c", Message: "m", Retryable: true}},
		"its own reason against a status": {503, `{"success": false, "error": {"message": "m", "code": "c", "retryable": false}}`, outbound.NodeFailed{Code: "c", Message: "m"}},
		"success that is none":            {400, `{"success": true}`, outbound.NodeFailed{Code: "unexpected_status", Message: `HOST answered 400 Bad Request: {"success": true}`}},
	} {
		url, _ := recorder(t, says(c.status, c.body, "Location", "http://127.0.0.1:1/"))
		got, _ := run(t, custom(url)).(outbound.NodeFailed)
		got.Message = strings.ReplaceAll(got.Message, strings.TrimPrefix(url, "http://"), "HOST")
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", claim, diff)
		}
	}
}

func TestACustomNodeMayAskToWaitWhenItFails(t *testing.T) {
	url, _ := recorder(t, says(200, `{"success": false, "error": {"message": "m", "code": "c", "retryable": true}}`, "Retry-After", "30"))
	want := outbound.NodeFailed{Code: "c", Message: "m", Retryable: true, RetryAfter: 30 * time.Second}
	if diff := cmp.Diff(outbound.NodeOutcome(want), run(t, custom(url))); diff != "" {
		t.Error(diff)
	}
}

func TestACustomNodeIsNotCalledUnsigned(t *testing.T) {
	call := custom("http://127.0.0.1:1/")
	call.Secrets = nil
	if f, _ := run(t, call).(outbound.NodeFailed); f.Code != "secret_missing" || f.Retryable {
		t.Errorf("without a secret: %+v", f)
	}
	call.Secrets = []domain.SigningSecret{newSecret}
	for _, endpoint := range []string{"", "nowhere", "http://a b/"} {
		call := custom(endpoint)
		if f, _ := run(t, call).(outbound.NodeFailed); f.Code != "endpoint_missing" {
			t.Errorf("at %q: %+v", endpoint, f)
		}
	}
}

func TestAHeartbeatIsSignedAndHasNoKey(t *testing.T) {
	url, last := recorder(t, says(200, ""))
	check := outbound.HealthCheck{Tenant: "tenant_1", Endpoint: url, Secrets: []domain.SigningSecret{newSecret}}
	health, err := open(t).Health(t.Context(), check)
	if diff := cmp.Diff(outbound.NodeHealth{Healthy: true, Status: 200}, health); diff != "" || err != nil {
		t.Error(diff, err)
	}
	got := last()
	if want := `{"type":"heartbeat","tenantId":"tenant_1","timestamp":"2026-03-29T12:00:00.250Z"}`; got.Body != want {
		t.Errorf("the body is %s", got.Body)
	}
	oracle, err := standardwebhooks.NewWebhook(newSecret.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	if err := oracle.VerifyIgnoringTimestamp([]byte(got.Body), got.Header); err != nil || got.Header.Get("Idempotency-Key") != "" {
		t.Errorf("%v, with the headers %v", err, got.Header)
	}
}

func TestAnEndpointMaySayThatItIsIll(t *testing.T) {
	for body, want := range map[string]outbound.NodeHealth{
		`{"success": false, "error": {"message": "No database.", "code": "db_down"}}`: {Status: 200, Code: "db_down", Message: "No database."},
		`{"success": false}`: {Status: 200, Code: "answer_invalid",
			Message: "The answer of HOST does not follow the protocol of custom nodes: error must be an object with message and code."},
		`{"success": true}`: {Healthy: true, Status: 200},
		`pong`:              {Healthy: true, Status: 200},
	} {
		url, _ := recorder(t, says(200, body))
		got, err := open(t).Health(t.Context(), outbound.HealthCheck{Tenant: "tenant_1", Endpoint: url, Secrets: []domain.SigningSecret{newSecret}})
		got.Message = strings.ReplaceAll(got.Message, strings.TrimPrefix(url, "http://"), "HOST")
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Error(body, diff, err)
		}
	}
	for code, check := range map[string]outbound.HealthCheck{
		"endpoint_missing": {Secrets: []domain.SigningSecret{newSecret}}, "secret_missing": {Endpoint: "http://127.0.0.1:1/"},
		"address_refused": {Endpoint: "http://10.0.0.1/", Secrets: []domain.SigningSecret{newSecret}},
	} {
		if got, err := open(t).Health(t.Context(), check); got.Code != code || got.Healthy || err != nil {
			t.Errorf("%s: %+v, %v", code, got, err)
		}
	}
}
