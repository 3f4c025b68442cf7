package httpapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/adapters/budget"
	"github.com/sluicehq/sluice/adapters/directory"
	"github.com/sluicehq/sluice/adapters/expression"
	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/domain/run"
)

// page asks for a page as a browser does.
func (g *gateway) page(method, path, language string, form url.Values) *httptest.ResponseRecorder {
	g.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(form.Encode()))
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	r.Header.Set("Accept-Language", language)
	w := httptest.NewRecorder()
	g.handler.ServeHTTP(w, r)
	return w
}

func TestThePageForOneAnswer(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	g.addRuns(e)
	token := runKey.LinkToken(run.Link{Tenant: e.id, Run: run.ID(e.ids["runs"]), Node: "approve"})
	path := "/a/" + token
	got := g.page(http.MethodGet, path, "en", nil)
	for _, want := range []string{"Ship it?", `<button name="f.value" value="true">Yes</button>`, `value="false" class="no">No</button>`, `<html lang="en">`} {
		if got.Code != http.StatusOK || !strings.Contains(got.Body.String(), want) {
			t.Errorf("%d: the page lacks %s: %s", got.Code, want, got.Body)
		}
	}
	if strings.Contains(got.Body.String(), "<script") {
		t.Error("the page has scripts")
	}
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
		"Cache-Control":           "no-store", "Referrer-Policy": "no-referrer",
	} {
		if h := got.Header().Get(name); h != want {
			t.Errorf("%s is %q", name, h)
		}
	}
	for accept, yes := range map[string]string{"pt-PT,pt;q=0.9": ">Sim<", "es-MX": ">Sí<", "de, es;q=0.5, en;q=0.4": ">Sí<", "fr": ">Yes<", "": ">Yes<"} {
		if body := g.page(http.MethodGet, path, accept, nil).Body.String(); !strings.Contains(body, yes) {
			t.Errorf("%s is answered with %s", accept, body)
		}
	}
	_, seq, _ := run.PauseID(e.ids["pauses"]).Question()
	form := func(answer string) url.Values {
		return url.Values{"question": {strconv.FormatInt(seq, 10)}, "f.value": {answer}}
	}
	if bad := g.page(http.MethodPost, path, "en", form("perhaps")); bad.Code != http.StatusBadRequest || !strings.Contains(bad.Body.String(), `role="alert"`) {
		t.Errorf("%d: %s", bad.Code, bad.Body)
	}
	if done := g.page(http.MethodPost, path, "en", form("true")); done.Code != http.StatusSeeOther || done.Header().Get("Location") != path {
		t.Errorf("%d: %s", done.Code, done.Header().Get("Location"))
	}
	if after := g.page(http.MethodGet, path, "en", nil).Body.String(); !strings.Contains(after, "This question has been answered. Thank you.") || !strings.Contains(after, "on this page") {
		t.Errorf("then the page says %s", after)
	}
	if second := g.page(http.MethodPost, path, "es", form("false")); second.Code != http.StatusConflict || !strings.Contains(second.Body.String(), "ya tiene respuesta") {
		t.Errorf("%d: %s", second.Code, second.Body)
	}
	if wrong := g.page(http.MethodGet, path+"x", "en", nil); wrong.Code != http.StatusNotFound || !strings.Contains(wrong.Body.String(), "does not exist") {
		t.Errorf("%d: %s", wrong.Code, wrong.Body)
	}
	for _, odd := range []struct {
		method, path string
		status       int
	}{{http.MethodPut, path, http.StatusMethodNotAllowed}, {http.MethodGet, path + "/more", http.StatusNotFound}, {http.MethodPost, "/a/" + token + "%20", http.StatusNotFound}} {
		if got := g.page(odd.method, odd.path, "en", nil); got.Code != odd.status {
			t.Errorf("%s %s: %d %s", odd.method, odd.path, got.Code, got.Body)
		}
	}
	for got := wrongPage(g, path); got.Code != http.StatusTooManyRequests; got = wrongPage(g, path) {
		if got.Code != http.StatusNotFound {
			t.Fatalf("%d: %s", got.Code, got.Body)
		}
	}
	late := g.page(http.MethodGet, path, "pt-BR", nil)
	if late.Code != http.StatusTooManyRequests || late.Header().Get("Retry-After") == "" || !strings.Contains(late.Body.String(), "Muitas solicitações") || late.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v: %s", late.Code, late.Header(), late.Body)
	}
	if log := g.log.String(); strings.Contains(log, token) || !strings.Contains(log, "/a/:token") {
		t.Errorf("the log holds the token: %s", log)
	}
}

func wrongPage(g *gateway, path string) *httptest.ResponseRecorder {
	return g.page(http.MethodGet, path+"x", "en", nil)
}

// formPage is a question with a field of each kind.
const formNode = `{"id":"ask","type":"input","version":"1.1.0","name":"Ask","config":{"title":"Order <7>","prompt":"See\n<script>","form":{
	"ok":{"type":"boolean","title":"Approve","required":true,"order":1},
	"count":{"type":"number","integer":true,"min":1,"description":"Whole pieces","order":2},
	"way":{"type":"enum","enum":["air",{"by":"sea"},3],"enumLabels":["By air","By sea","Third"],"default":"air","order":3},
	"short":{"type":"string","maxLength":40,"default":"a \"b\"","order":4},
	"long":{"type":"string","order":5}}}}`

// A form has a field for each that is asked for, keeps what was written, and says at each what is wrong with it.
func TestAPageWithAFormTakesOneAnswerForEachField(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	version := fmt.Sprint(g.saveVersion(c, []byte(`{"nodes":[`+formNode+`],"edges":[]}`)).field(t, "id"))
	id := run.ID(fmt.Sprint(g.send(http.MethodPost, "/v1/gateway/workflow-versions/"+version+"/runs", c.secret, `{}`).field(t, "id")))
	known := directory.New(g.store)
	known.SetReliable(true)
	families{g, fixture{customer: c}, execution.NewPlans(g.store, known, expression.Compiler{}, budget.Divide(1<<40, 2).OfRuns(), 0)}.step(id, run.Started{})
	path := "/a/" + runKey.LinkToken(run.Link{Tenant: c.id, Run: id, Node: "ask"})
	shown := g.page(http.MethodGet, path, "en", nil).Body.String()
	for _, want := range []string{
		"<h1>Order &lt;7&gt;</h1>", "See\n&lt;script&gt;", `<label for="field-0">Approve <span class="help">(required)</span></label>`,
		`<input id="field-1" name="f.count" type="number" value="" placeholder="" step="1" aria-describedby="field-1-help">`, `<p class="help" id="field-1-help">Whole pieces</p>`,
		`<option value="0" selected>By air</option>`, `<option value="1">By sea</option>`, `name="f.short" type="text" value="a &#34;b&#34;"`, `<textarea id="field-4" name="f.long"`,
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("the page lacks %s: %s", want, shown)
		}
	}
	seq := regexp.MustCompile(`name="question" value="(\d+)"`).FindStringSubmatch(shown)[1]
	wrong := g.page(http.MethodPost, path, "en", url.Values{"question": {seq}, "f.count": {"0.5"}, "f.way": {"9"}, "f.long": {"kept <"}})
	for _, want := range []string{
		`<title>Something is not right yet. Please check your answer. Order &lt;7&gt;</title>`, `<li><a href="#field-0">Approve: Please fill this in.</a></li>`,
		`aria-describedby="field-1-help field-1-error" aria-invalid="true"`, `<p class="error" id="field-2-error">`, ">\nkept &lt;</textarea>", `value="0.5"`,
	} {
		if body := wrong.Body.String(); wrong.Code != http.StatusBadRequest || !strings.Contains(body, want) {
			t.Errorf("%d: the page lacks %s: %s", wrong.Code, want, body)
		}
	}
	if large := g.page(http.MethodPost, path, "en", url.Values{"question": {seq}, "f.long": {strings.Repeat("x", 600<<10)}}); large.Code != http.StatusRequestEntityTooLarge || !strings.Contains(large.Body.String(), "<h1>") {
		t.Errorf("%d: %s", large.Code, large.Body)
	}
	if stale := g.page(http.MethodPost, path, "en", url.Values{"question": {"1"}, "f.ok": {"true"}}); stale.Code != http.StatusConflict {
		t.Errorf("what another question was answered with is taken: %d", stale.Code)
	}
	if done := g.page(http.MethodPost, path, "en", url.Values{"question": {seq}, "f.ok": {"false"}, "f.count": {" 3 "}, "f.way": {"1"}, "f.long": {"a\r\nb"}}); done.Code != http.StatusSeeOther {
		t.Fatalf("%d: %s", done.Code, done.Body)
	}
	if got := g.send(http.MethodGet, "/v1/gateway/runs/"+string(id), c.secret, ""); !strings.Contains(got.body, `{"value":{"count":3,"long":"a\nb","ok":false,"short":"a \"b\"","way":{"by":"sea"}}}`) {
		t.Errorf("the run was given %s", got.body)
	}
}

func TestTheLinkOfASimulationSaysThatNobodyIsAsked(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	path := "/a/" + runKey.LinkToken(run.Link{Tenant: c.id, Run: "run_00000000000000000000000000", Node: "approve", Simulated: true})
	for language, want := range map[string]string{"en": "This link is from a simulation", "es": "Este enlace es de una simulación", "pt-BR": "Este link é de uma simulação"} {
		if got := g.page(http.MethodGet, path, language, nil); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), want) || strings.Contains(got.Body.String(), "<form") {
			t.Errorf("%s: %d %s", language, got.Code, got.Body)
		}
	}
	if got := g.page(http.MethodPost, path, "en", url.Values{"question": {"1"}, "f.value": {"true"}}); got.Code != http.StatusConflict {
		t.Errorf("%d: %s", got.Code, got.Body)
	}
}
