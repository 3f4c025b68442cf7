package openapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"
	"github.com/oasdiff/yaml"

	"github.com/sluicehq/sluice/adapters/httpapi/openapi"
)

func load(t *testing.T, text []byte) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestTheDocumentIsValidAndSoAreItsExamples(t *testing.T) {
	for name, text := range map[string][]byte{"YAML": openapi.YAML(), "JSON": openapi.JSON()} {
		if err := load(t, text).Validate(context.Background(), openapi3.EnableExamplesValidation()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestJSONSaysWhatYAMLSays(t *testing.T) {
	again, err := yaml.YAMLToJSON(openapi.YAML())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again, openapi.JSON()) {
		t.Error("two conversions differ")
	}
	var fromYAML, fromJSON any
	if _, err := yaml.Unmarshal(openapi.YAML(), &fromYAML, yaml.DecodeOpts{}); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(openapi.JSON(), &fromJSON); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fromYAML, fromJSON); diff != "" {
		t.Error(diff)
	}
}

// operations calls visit for every operation of the document.
func operations(t *testing.T, visit func(name string, op *openapi3.Operation)) {
	t.Helper()
	for path, item := range load(t, openapi.YAML()).Paths.Map() {
		for method, op := range item.Operations() {
			visit(method+" "+path, op)
		}
	}
}

func TestEveryOperationExplainsItself(t *testing.T) {
	seen := map[string]string{}
	operations(t, func(name string, op *openapi3.Operation) {
		if op.Summary == "" || len(op.Tags) != 1 {
			t.Errorf("%s lacks a summary or its tag", name)
		}
		if other := seen[op.OperationID]; other != "" || !regexp.MustCompile(`^[a-z]+_[A-Za-z]+(_v1)?$`).MatchString(op.OperationID) {
			t.Errorf("%s has the operationId %q, as %q has", name, op.OperationID, other)
		}
		seen[op.OperationID] = name
		if op.RequestBody != nil {
			for media, content := range op.RequestBody.Value.Content {
				if content.Example == nil && len(content.Examples) == 0 {
					t.Errorf("%s lacks an example of its %s body", name, media)
				}
			}
		}
		for status, answer := range op.Responses.Map() {
			for media, content := range answer.Value.Content {
				if content.Example == nil && len(content.Examples) == 0 {
					t.Errorf("%s %s lacks an example of its %s body", name, status, media)
				}
			}
		}
	})
}

func TestEveryAnswerHasTheStandardHeadersAndErrorsTheStandardBody(t *testing.T) {
	operations(t, func(name string, op *openapi3.Operation) {
		for status, answer := range op.Responses.Map() {
			headers := answer.Value.Headers
			if h := headers["X-Request-Id"]; h == nil || !h.Value.Required {
				t.Errorf("%s %s does not promise X-Request-Id", name, status)
			}
			if keyed(op) && status != "401" && status != "405" && headers["X-RateLimit-Remaining"] == nil {
				t.Errorf("%s %s does not mention the rate limit", name, status)
			}
			if status < "400" {
				continue
			}
			if isPage := (strings.HasPrefix(name, "GET /oauth/") || strings.Contains(name, " /a/")) && status != "405"; isPage { // a person reads it in a browser
				if answer.Value.Content["text/html"] == nil {
					t.Errorf("%s %s is no page", name, status)
				}
				continue
			}
			if ofRun := strings.HasSuffix(name, "/h/{token}") && status == "500"; ofRun { // it may be what a run came to
				continue
			}
			content := answer.Value.Content["application/json"]
			if content == nil || content.Schema.Ref != "#/components/schemas/Error" {
				t.Errorf("%s %s has another body than the standard one", name, status)
				continue
			}
			for example, e := range content.Examples {
				body, ok := e.Value.Value.(map[string]any)
				if !ok || body["code"] != example {
					t.Errorf("%s %s: the example %s has the code %v", name, status, example, body["code"])
				}
				if code, ok := body["statusCode"].(float64); !ok || !matches(status, int(code)) || body["error"] != http.StatusText(int(code)) {
					t.Errorf("%s %s: the example %s has the status %v, %v", name, status, example, body["statusCode"], body["error"])
				}
			}
		}
	})
}

// matches says whether a key of responses, a status or a range such as 4XX, covers the code.
func matches(status string, code int) bool {
	text := strconv.Itoa(code)
	return status == text || status == text[:1]+"XX"
}

func TestOperationsOfTheOperatorListTheErrorsEachCanGive(t *testing.T) {
	seen := 0
	operations(t, func(name string, op *openapi3.Operation) {
		mine := op.Security != nil && len(*op.Security) == 1 && (*op.Security)[0]["operatorToken"] != nil
		if mine != strings.Contains(name, " /v1/operator/") || mine != (op.Tags[0] == "Operator") {
			t.Errorf("%s: is let in by the operator's token: %v", name, mine)
		}
		if !mine {
			return
		}
		seen++
		statuses := []string{"401", "404", "405", "429", "500", "503"}
		if op.RequestBody != nil {
			statuses = append(statuses, "400", "408", "413", "415")
		}
		if strings.HasPrefix(name, "POST ") {
			statuses = append(statuses, "409")
			if op.Parameters.GetByInAndName("header", "X-Idempotency-Key") == nil {
				t.Errorf("%s does not take an idempotency key", name)
			}
		}
		for _, status := range statuses {
			if op.Responses.Value(status) == nil {
				t.Errorf("%s does not list %s", name, status)
			}
		}
	})
	if seen == 0 {
		t.Error("there are none")
	}
}

// keyed says whether an operation needs a key: the document's default.
func keyed(op *openapi3.Operation) bool { return op.Security == nil }

func TestKeyedOperationsListTheErrorsEachCanGive(t *testing.T) {
	operations(t, func(name string, op *openapi3.Operation) {
		if keyed(op) != strings.Contains(name, " /v1/gateway/") {
			t.Errorf("%s: needs a key: %v", name, keyed(op))
		}
		if !keyed(op) {
			return
		}
		statuses := []string{"401", "405", "429", "500", "503"}
		if op.RequestBody != nil {
			statuses = append(statuses, "400", "403", "413", "415")
		}
		if strings.HasPrefix(name, "POST ") {
			statuses = append(statuses, "409")
			if op.Parameters.GetByInAndName("header", "X-Idempotency-Key") == nil {
				t.Errorf("%s does not take an idempotency key", name)
			}
		}
		for _, status := range statuses {
			if op.Responses.Value(status) == nil {
				t.Errorf("%s does not list %s", name, status)
			}
		}
	})
}

func TestABodyIsHeldAgainstTheBoundsOfItsSchema(t *testing.T) {
	schema := load(t, openapi.YAML()).Components.Schemas["CreateTrigger"].Value
	with := func(config string) string {
		return `{"workflowVersionId":"wfv_1","name":"n","type":"schedule","config":` + config + `}`
	}
	for claim, c := range map[string]struct {
		body string
		ok   bool
	}{
		"an empty configuration":          {with(`{}`), true},
		"members that nobody knows":       {with(`{"x":{"y":null}}`), true},
		"the least of everything":         {with(`{"rateLimit":{"maxRequests":1,"windowMs":1000},"timeoutMs":1000,"retryPolicy":{"maxRetries":0,"backoffMs":100,"maxBackoffMs":1000},"webhookConfig":null,"scheduleConfig":{"intervalMs":60000}}`), true},
		"a whole number with decimals":    {with(`{"timeoutMs":1e3}`), true},
		"maxRequests 0":                   {with(`{"rateLimit":{"maxRequests":0,"windowMs":1000}}`), false},
		"windowMs 999":                    {with(`{"rateLimit":{"maxRequests":1,"windowMs":999}}`), false},
		"a rate limit without its window": {with(`{"rateLimit":{"maxRequests":1}}`), false},
		"timeoutMs 999":                   {with(`{"timeoutMs":999}`), false},
		"timeoutMs with a fraction":       {with(`{"timeoutMs":1000.5}`), false},
		"maxRetries 11":                   {with(`{"retryPolicy":{"maxRetries":11,"backoffMs":100,"maxBackoffMs":1000}}`), false},
		"maxRetries -1":                   {with(`{"retryPolicy":{"maxRetries":-1,"backoffMs":100,"maxBackoffMs":1000}}`), false},
		"backoffMs 99":                    {with(`{"retryPolicy":{"maxRetries":1,"backoffMs":99,"maxBackoffMs":1000}}`), false},
		"maxBackoffMs 999":                {with(`{"retryPolicy":{"maxRetries":1,"backoffMs":100,"maxBackoffMs":999}}`), false},
		"a retry policy without a pause":  {with(`{"retryPolicy":{"maxRetries":1,"maxBackoffMs":1000}}`), false},
		"intervalMs 59999":                {with(`{"scheduleConfig":{"intervalMs":59999}}`), false},
		"another way to catch up":         {with(`{"scheduleConfig":{"catchUp":"some"}}`), false},
		"more than a hundred years":       {with(`{"timeoutMs":3153600000001}`), false},
		"a schedule that is null":         {with(`{"scheduleConfig":null}`), false},
		"a configuration that is null":    {with(`null`), false},
		"no configuration":                {`{"workflowVersionId":"wfv_1","name":"n","type":"webhook"}`, false},
		"an empty name":                   {`{"workflowVersionId":"wfv_1","name":"","type":"webhook","config":{}}`, false},
		"a name of 255 characters":        {`{"workflowVersionId":"wfv_1","name":"` + strings.Repeat("é", 255) + `","type":"webhook","config":{}}`, true},
		"a name of 256 characters":        {`{"workflowVersionId":"wfv_1","name":"` + strings.Repeat("é", 256) + `","type":"webhook","config":{}}`, false},
		"an empty version":                {`{"workflowVersionId":"","name":"n","type":"webhook","config":{}}`, false},
		"another type":                    {`{"workflowVersionId":"wfv_1","name":"n","type":"event","config":{}}`, false},
	} {
		t.Run(claim, func(t *testing.T) {
			var body any
			if err := json.Unmarshal([]byte(c.body), &body); err != nil {
				t.Fatal(err)
			}
			if err := schema.VisitJSON(body); (err == nil) != c.ok {
				t.Errorf("accepted: %v: %v", err == nil, err)
			}
		})
	}
}
