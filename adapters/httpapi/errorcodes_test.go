package httpapi_test

import (
	"cmp"
	"encoding/json"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/sluicehq/sluice/adapters/httpapi"
	"github.com/sluicehq/sluice/adapters/httpapi/openapi"
	"github.com/sluicehq/sluice/domain/tenant"
)

// codes are error codes, by operation.
type codes map[httpapi.Route]map[string]bool

func (c codes) add(r httpapi.Route, code string) {
	if c[r] == nil {
		c[r] = make(map[string]bool)
	}
	c[r][code] = true
}

// documented are the codes of the operations that are wanted.
func documented(t *testing.T, wanted func(path, tag string) bool) codes {
	t.Helper()
	document, err := openapi3.NewLoader().LoadFromData(openapi.YAML())
	if err != nil {
		t.Fatal(err)
	}
	all := codes{}
	for path, item := range document.Paths.Map() {
		for method, op := range item.Operations() {
			if !wanted(path, op.Tags[0]) {
				continue
			}
			for _, answer := range op.Responses.Map() {
				if content := answer.Value.Content["application/json"]; content != nil && content.Schema.Ref == "#/components/schemas/Error" {
					for code := range content.Examples {
						all.add(httpapi.Route{Method: method, Path: path}, code)
					}
				}
			}
		}
	}
	return all
}

// everywhere are codes that stand in front of every operation, or of many for the same reason, and the
// test that provokes each.
var everywhere = map[string]string{
	"rate_limit_exceeded":          "TestLimitsAreTheTenantsAndAreShown",
	"too_many_concurrent_requests": "TestRequestsAtTheSameTimeAreLimited",
	"permission_missing":           "TestEachRightAllowsWhatTheTableSays",
	"origin_not_allowed":           "TestAnEmbedTokenIsRefusedFromWhereItMustNotBeUsed",
	"internal_error":               "TestADefectShowsNothingButTheRequestID",
	"database_unavailable":         "TestADatabaseThatIsGoneIsUnavailable",
	"memory_busy":                  "TestOneTenantsHostileBodiesLeaveMemoryToAnother",
	"database_busy":                "TestAUnitWhoseTimeIsUpIsUnavailableAndMayBeRepeated",
	"database_read_only":           "TestAFullDiskIsNoticedAndSoIsRoomOnIt",
	"idempotency_in_progress":      "TestOfThirtyRequestsWithOneKeyOneTakesEffect",
	"encryption_key_missing":       "TestASecretNeedsAKeyOnPostgreSQL",
	"encryption_key_wrong":         "TestASecretNeedsAKeyOnPostgreSQL",
	"secret_unreadable":            "TestADeliveryThatDoesNotOpenIsToldAsThat",
}

// elsewhere are codes for which something else has to happen before, or at the same
// time, and the test in which it does.
var elsewhere = map[string]string{
	"GET /v1/gateway/runs/{id}/stream too_many_streams":                                "TestStreamsHavePlacesOfTheirOwn",
	"GET /v1/gateway/runs/{id}/stream stopping":                                        "TestAGatewayThatStopsEndsItsStreamsAndSaysWhenToComeBack",
	"GET /v1/gateway/runs/{id}/stream last_event_id_invalid":                           "TestAStreamGoesOnBehindWhatTheClientHas",
	"GET /v1/gateway/stream too_many_streams":                                          "TestStreamsOfListsTakePlacesOfStreams",
	"GET /v1/gateway/stream stopping":                                                  "TestAStreamOfListsEndsWithTheGateway",
	"POST /v1/gateway/connections connection_limit":                                    "TestATenantHasNoMoreConnectionsThanPermitted",
	"POST /v1/gateway/webhook-endpoints webhook_endpoint_limit":                        "TestATenantHasNoMoreEndpointsThanPermitted",
	"POST /v1/gateway/runs/{id}/retry concurrency_limit":                               "TestARunIsNotRetriedWhereThereIsNoRoom",
	"POST /v1/gateway/runs/{id}/retry version_not_found":                               "TestAFailedRunIsRetried",
	"POST /v1/gateway/triggers/resume expired":                                         "TestALateTokenExpiresTheRun",
	"POST /v1/gateway/pauses/{id}/answer expired":                                      "TestALateTokenExpiresTheRun",
	"POST /v1/gateway/pauses/{id}/answer not_paused":                                   "TestQuestionsAreListedUntilTheyAreAnswered",
	"POST /v1/gateway/pauses/{id}/answer idempotency_key_reused":                       "TestEveryPostTakesEffectOnceForItsKey",
	"POST /v1/gateway/erasures idempotency_key_reused":                                 "TestEveryPostTakesEffectOnceForItsKey",
	"POST /v1/gateway/runs/bulk too_many_runs":                                         "TestAJobHasNoMoreRunsThanPermitted",
	"GET /v1/gateway/runs/{id} runs_busy":                                              "TestLargeRunsBehindTheWholeGateway",
	"POST /v1/gateway/workflow-versions/{id}/simulate simulation_too_large":            "TestASimulationThatShowsTooMuchIsRefused",
	"POST /v1/gateway/workflow-versions/{id}/simulate runs_busy":                       "TestLargeRunsBehindTheWholeGateway",
	"GET /v1/gateway/webhook-endpoints/{id}/deliveries page_too_large":                 "TestLargeListsBehindTheWholeGateway",
	"GET /v1/gateway/webhook-endpoints/{id}/deliveries lists_busy":                     "TestLargeListsBehindTheWholeGateway",
	"POST /v1/gateway/workflows/{id}/runs workflow_inactive":                           "TestWhatCannotBeStartedByHandSaysWhy",
	"POST /v1/gateway/runs/{id}/rerun version_not_published":                           "TestARunIsRepeatedAsThingsStand",
	"POST /v1/gateway/runs/{id}/rerun version_not_found":                               "TestARunIsRepeatedAsThingsStand",
	"POST /v1/gateway/runs/{id}/rerun workflow_inactive":                               "TestARunIsRepeatedAsThingsStand",
	"POST /v1/gateway/runs/{id}/rerun workflow_not_found":                              "TestARunIsRepeatedAsThingsStand",
	"POST /v1/gateway/runs/{id}/rerun budget_exceeded":                                 "TestBeyondABudgetOfRunsTheAnswerSaysWhenToTryAgain",
	"POST /v1/gateway/runs/{id}/retry budget_exceeded":                                 "TestBeyondABudgetOfRunsTheAnswerSaysWhenToTryAgain",
	"POST /v1/gateway/workflow-versions/{id}/runs budget_exceeded":                     "TestBeyondABudgetOfRunsTheAnswerSaysWhenToTryAgain",
	"POST /v1/gateway/workflows/{id}/runs budget_exceeded":                             "TestBeyondABudgetOfRunsTheAnswerSaysWhenToTryAgain",
	"POST /v1/gateway/runs/{id}/rerun storage_exceeded":                                "TestAboveItsStorageATenantIsAskedNotToRepeatACall",
	"POST /v1/gateway/workflow-versions/{id}/runs version_not_runnable":                "TestADraftWithADisabledNodeTypeIsNotRun",
	"POST /v1/gateway/workflow-versions/{id}/runs workflow_inactive":                   "TestARunIsRepeatedAsThingsStand",
	"POST /v1/gateway/workflow-versions/{id}/runs storage_exceeded":                    "TestAboveItsStorageATenantIsAskedNotToRepeatACall",
	"POST /v1/gateway/workflows/{id}/runs storage_exceeded":                            "TestAboveItsStorageATenantIsAskedNotToRepeatACall",
	"POST /v1/gateway/workflow-versions/{id}/nodes/{nodeId}/test version_not_runnable": "TestWhatCannotBeTestedSaysWhy",
	"POST /v1/gateway/runs/{id}/rerun run_of_item":                                     "TestTheRunOfAnItemIsNotRepeated",
	"POST /v1/gateway/workflow-versions/{id}/complete runs_busy":                       "TestCompletingTakesATurn",
}

// shown are the codes that the golden files show.
func shown(t *testing.T, operations codes) codes {
	t.Helper()
	files, err := filepath.Glob("testdata/*.http")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	all, request := codes{}, regexp.MustCompile(`(?m)^([A-Z]+) (/[^ ?\n]*)`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for exchange := range strings.SplitSeq(string(text), "\n====\n") {
			asked, answer, _ := strings.Cut(exchange, "\n----\n")
			_, body, _ := strings.Cut(answer, "\n\n")
			var said struct{ Code string }
			line := request.FindStringSubmatch(asked)
			if line == nil || json.Unmarshal([]byte(body), &said) != nil || said.Code == "" {
				continue
			}
			for r := range operations {
				if line[1] == r.Method && template(r.Path).MatchString(line[2]) {
					all.add(r, said.Code)
				}
			}
		}
	}
	return all
}

// template matches the paths of a route, but not what another route spells out.
func template(path string) *regexp.Regexp {
	quoted := strings.ReplaceAll(regexp.QuoteMeta(path), `\{nodeId\}`, `[^/]*`) // as clients call it
	return regexp.MustCompile("^" + regexp.MustCompile(`\\\{[^/]*\\\}`).ReplaceAllString(quoted, `(\{\{[^/]*\}\}|[a-z]+_[^/]*)`) + "$")
}

// late is a body that does not arrive in time.
type late struct{}

func (late) Read([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }

// broken is a body that ends too early.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// provoked are the codes that an operation answers to requests that are wrong in ways
// that have nothing to do with what it does.
func (g *gateway) provoked(e fixture, r httpapi.Route) (found []string) {
	g.Helper()
	path, ok := e.fill(r.Path)
	if !ok {
		g.Fatalf("nothing fits %s", r.Path)
	}
	if strings.HasSuffix(path, "/retry") {
		path = strings.Replace(path, e.ids["runs"], e.ids["failed"], 1)
	}
	said := func(a answer) {
		var body struct{ Code string }
		if a.status >= http.StatusBadRequest && json.Unmarshal([]byte(a.body), &body) == nil {
			found = append(found, body.Code)
		}
	}
	said(g.send(r.Method, path, "", ""))
	said(g.send(r.Method, path, e.public, ""))
	said(g.send(http.MethodPut, path, e.secret, ""))
	if nowhere, _ := absent(e).fill(r.Path); nowhere != path {
		said(g.send(r.Method, nowhere, e.secret, ""))
	}
	said(g.send(r.Method, path+"?after=%", e.secret, ""))
	said(g.send(r.Method, path+"?color=red", e.secret, "", "Prefer", "handling=strict"))
	if r.Method == http.MethodGet || r.Method == http.MethodDelete {
		return found
	}
	said(g.send(r.Method, path, e.secret, `{"a":`))
	said(g.send(r.Method, path, e.secret, `[]`))
	said(g.send(r.Method, path, e.secret, `{"color":"red"}`, "Prefer", "handling=strict"))
	said(g.send(r.Method, path, e.secret, `{"name":"`+strings.Repeat("a", 1<<20)+`"}`))
	said(g.send(r.Method, path, e.secret, `{}`, "Content-Type", "text/plain"))
	for _, body := range []io.Reader{late{}, broken{}} {
		request := httptest.NewRequestWithContext(g.Context(), r.Method, path, body)
		request.Header.Set("X-API-Key", e.secret)
		recorder := httptest.NewRecorder()
		g.api.ServeHTTP(recorder, request) // who checks the contract would have to read the body
		said(answer{recorder.Code, recorder.Header(), recorder.Body.String()})
	}
	if r.Method != http.MethodPost {
		return found
	}
	said(g.send(r.Method, path, e.secret, `{}`, "X-Idempotency-Key", strings.Repeat("k", 1000)))
	bodies := posts(e)[strings.TrimPrefix(path, "/v1/gateway")]
	if bodies[1] == "" {
		bodies[1] = `{"more":1}`
	}
	if strings.HasSuffix(path, "/answer") { // of the run that is cancelled, sooner or later
		return found
	}
	for _, body := range bodies {
		said(g.send(r.Method, path, e.secret, body, "X-Idempotency-Key", r.Path))
	}
	return found
}

// What the description says an operation may answer, it does answer to something, and
// it answers nothing else.
func TestEveryDocumentedErrorOfRunsAndWebhooksCanBeProvoked(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	g.addRuns(e)
	e.ids["triggers"] = e.ids["listening"]
	plenty := tenant.Quota{PerMinute: 100_000, Concurrent: 100}
	g.configure(e.customer, func(s *tenant.Settings) {
		s.Quotas = map[tenant.KeyType]tenant.Quota{tenant.Secret: plenty, tenant.Public: plenty}
	})
	said := documented(t, func(path, tag string) bool {
		return slices.Contains([]string{"Runs", "Webhooks"}, tag) || path == "/v1/gateway/triggers/resume"
	})
	possible := shown(t, said)
	for r := range said {
		for _, code := range g.provoked(e, r) {
			possible.add(r, code)
		}
	}
	known := testNames(t)
	claims := map[string]string{}
	maps.Copy(claims, elsewhere)
	for code, test := range everywhere {
		claims[code] = test
	}
	for claim, test := range claims {
		if !known[test] {
			t.Errorf("%s: there is no test %s", claim, test)
		}
	}
	for _, r := range slices.SortedFunc(maps.Keys(said), func(a, b httpapi.Route) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Method, b.Method))
	}) {
		for code := range said[r] {
			if here := r.Method + " " + r.Path + " " + code; !possible[r][code] && everywhere[code] == "" && elsewhere[here] == "" {
				t.Errorf("%s %s: nothing provokes %s, which the description says", r.Method, r.Path, code)
			}
		}
		for code := range possible[r] {
			if !said[r][code] {
				t.Errorf("%s %s answers %s, which the description does not say", r.Method, r.Path, code)
			}
		}
	}
}

// testNames are the tests of the whole module.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	all, name := make(map[string]bool), regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == ".git"):
			return fs.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		for _, found := range name.FindAllStringSubmatch(string(text), -1) {
			all[found[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
