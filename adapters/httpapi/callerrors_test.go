package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEverythingThatIsWrongWithACallIsReported(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	long := strings.Repeat("x", 256)
	call := "/triggers/" + e.ids["triggers"] + "/webhook"
	start := "/workflows/" + e.ids["workflows"] + "/runs"
	simulate := "/workflow-versions/" + e.ids["workflow-versions"] + "/simulate"
	cancel := "/runs/run_0000000000000000000000000z/cancel"
	for claim, c := range map[string]struct{ path, body, want string }{
		"other types":             {call, `{"entityId":1,"dedupeKey":{}}`, "entityId wrong_type, dedupeKey wrong_type"},
		"texts out of bounds":     {call, `{"entityId":"","dedupeKey":"` + long + `"}`, "entityId required, dedupeKey too_long"},
		"characters for a bell":   {call, `{"entityId":"\u0007"}`, "entityId bad_character"},
		"an entity in the data":   {call, `{"eventData":{"entityId":"` + long + `"}}`, "eventData.entityId too_long"},
		"nothing by event":        {"/triggers/webhook/by-event", `{}`, "event required"},
		"another event":           {"/triggers/webhook/by-event", `{"event":7,"subTenantId":""}`, "event wrong_type, subTenantId required"},
		"options of another type": {"/triggers/ingest", `{"event":"e","resumeOptions":[]}`, "resumeOptions wrong_type"},
		"members of the options": {"/triggers/ingest", `{"event":"","resumeOptions":{"resumeAll":"yes","runIds":["a",1],"workflowVersionIds":{}}}`,
			"resumeOptions.resumeAll wrong_type, resumeOptions.runIds[1] wrong_type, resumeOptions.workflowVersionIds wrong_type, event required"},
		"nothing to resume":      {"/triggers/resume", `{}`, "runId required, resumeToken required"},
		"a token of some length": {"/triggers/resume", `{"runId":"x","resumeToken":"` + long + `"}`, "resumeToken too_long"},
		"a version that is none": {start, `{"entityId":[],"workflowVersionId":1}`, "entityId wrong_type, workflowVersionId wrong_type"},
		"an unknown version":     {start, `{"workflowVersionId":"wfv_1"}`, "workflowVersionId unknown"},
		"a reason that is none":  {cancel, `{"reason":{}}`, "reason wrong_type"},
		"a reason of some length": {cancel, `{"reason":"` + strings.Repeat("x", 1001) + `"}`,
			"reason too_long"},
		"a time that is none": {simulate, `{"startAt":"tomorrow","triggerId":1,"answers":[]}`, "triggerId wrong_type, startAt bad_format, answers wrong_type"},
		"an unknown trigger":  {simulate, `{"triggerId":"trg_1"}`, "triggerId unknown"},
		"answers that are none": {simulate, `{"answers":{"a":{},"b":[1]}}`,
			"answers.a wrong_type, answers.b[0] wrong_type"},
		"members of answers": {simulate, `{"answers":{"a":[{"afterMs":-1},{"afterMs":1e15},{"afterMs":0.5},{"error":1},{"pause":{"event":1,"timeoutMs":-1}},{"error":{"code":1,"retryable":1}},{"pause":{"timeoutMs":0}},{"pause":{"timeoutMs":31536000001}}]}}`,
			"answers.a[0].afterMs too_small, answers.a[1].afterMs too_large, answers.a[2].afterMs not_whole, answers.a[3].error wrong_type, " +
				"answers.a[4].pause.timeoutMs too_small, answers.a[4].pause.event wrong_type, answers.a[5].error.code wrong_type, answers.a[5].error.retryable wrong_type, " +
				"answers.a[6].pause.timeoutMs too_small, answers.a[7].pause.timeoutMs too_large"},
		"an answer that is two":           {simulate, `{"answers":{"a":[{"output":null,"error":{}}]}}`, "answers.a[0] conflicting"},
		"an answer for a node of nowhere": {simulate, `{"answers":{"nowhere":[{}]}}`, "answers.nowhere[0] unknown"},
	} {
		got := g.send(http.MethodPost, "/v1/gateway"+c.path, e.secret, c.body)
		if diff := cmp.Diff(c.want, strings.Join(got.violations(t), ", ")); diff != "" || got.status != http.StatusBadRequest {
			t.Errorf("%s: got %d: %s%s", claim, got.status, diff, got.body)
		}
	}
	if total := g.send(http.MethodGet, "/v1/gateway/runs", e.secret, "").field(t, "total"); total != 0.0 {
		t.Errorf("%v runs were started", total)
	}
}

// A wrong spelled identifier is one that does not exist, wherever it stands.
func TestAnIdentifierThatIsSpelledWrongDoesNotExist(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	for _, id := range []string{"x", "run_", "%00", "run_0000000000000000000000000Z", "..%2F..", "run_80000000000000000000000000"} {
		for route, code := range map[string]string{
			"GET /runs/{id}": "run_not_found", "GET /runs/{id}/stream": "run_not_found", "POST /runs/{id}/cancel": "run_not_found",
			"POST /runs/{id}/retry": "run_not_found", "POST /triggers/{id}/webhook": "trigger_not_found", "POST /workflows/{id}/runs": "workflow_not_found",
			"POST /workflow-versions/{id}/simulate":            "version_not_found",
			"POST /workflow-versions/{id}/nodes/{nodeId}/test": "version_not_found",
			"POST /workflow-versions/{id}/complete":            "version_not_found",
		} {
			method, path, _ := strings.Cut(route, " ")
			got := g.send(method, "/v1/gateway"+strings.ReplaceAll(path, "{id}", id), e.secret, "")
			if got.status != http.StatusNotFound || got.field(t, "code") != code {
				t.Errorf("%s of %s got %d: %s", route, id, got.status, got.body)
			}
		}
		for _, filter := range []string{"workflowId", "workflowVersionId", "triggerId"} {
			if got := g.send(http.MethodGet, "/v1/gateway/runs?"+filter+"="+id, e.secret, ""); id != "%00" && (got.status != http.StatusOK || got.field(t, "total") != 0.0) {
				t.Errorf("%s=%s got %d: %s", filter, id, got.status, got.body)
			}
		}
	}
	got := g.send(http.MethodPost, "/v1/gateway/triggers/resume", e.secret, `{"runId":"../x","resumeToken":"t"}`)
	if got.status != http.StatusNotFound || got.field(t, "code") != "run_not_found" {
		t.Errorf("resume got %d: %s", got.status, got.body)
	}
}
