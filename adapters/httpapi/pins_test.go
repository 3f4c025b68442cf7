package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// Sample data is changed like metadata, and shown to those who may change it.
func TestPinsOfAVersion(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	g.addRuns(e)
	path := "/v1/gateway/workflow-versions/" + e.ids["activeVersion"]
	list := "/v1/gateway/workflow-versions?limit=1&sortBy=version&sortOrder=desc&workflowId=" + e.ids["workflows"]
	change := func(body, want string) {
		t.Helper()
		before := g.send(http.MethodGet, path, e.secret, "").header.Get("ETag")
		got := g.send(http.MethodPatch, path, e.secret, body, "If-Match", before)
		if got.status != http.StatusOK || fmt.Sprint(got.field(t, "pins")) != want || got.header.Get("ETag") == before {
			t.Errorf("%s: %d %s", body, got.status, got.body)
		}
		for at, key := range map[string]string{path: e.secret, list: e.secret} {
			if got := g.send(http.MethodGet, at, key, ""); !strings.Contains(got.body, `"pins":`) != (want == "<nil>") {
				t.Errorf("%s shows %s", at, got.body)
			}
			if got := g.send(http.MethodGet, at, e.public, ""); got.status != http.StatusOK || strings.Contains(got.body, "pins") {
				t.Errorf("to a public key %s shows %s", at, got.body)
			}
		}
	}
	change(`{"pins":{"approve":{"value":true},"shipped":{"event":"order.shipped","eventData":{"carrier":"ACME"}},"notify":{"status":204}}}`,
		"map[approve:map[value:true] notify:map[status:204] shipped:map[event:order.shipped eventData:map[carrier:ACME]]]")
	simulated := g.send(http.MethodPost, path+"/simulate", e.secret, `{"answers":{"notify":[{"output":{"status":500}}]}}`)
	if simulated.status != http.StatusOK || simulated.field(t, "status") != "completed" || fmt.Sprint(simulated.field(t, "context.data.notify")) != "map[status:500]" ||
		fmt.Sprint(simulated.field(t, "context.data.shipped")) != "map[event:order.shipped eventData:map[carrier:ACME]]" {
		t.Errorf("the simulation: %d %s", simulated.status, simulated.body)
	}
	change(`{"pins":{"approve":{"value":false}}}`, "map[approve:map[value:false]]")
	for body, want := range map[string]string{
		`{"pins":{"nowhere":1}}`: "pins.nowhere unknown",
		`{"pins":[]}`:            "pins wrong_type",
		`{"pins":{"approve":"` + strings.Repeat("x", 256<<10) + `"}}`: "pins too_large",
	} {
		got := g.send(http.MethodPatch, path, e.secret, body)
		if got.status != http.StatusBadRequest || strings.Join(got.violations(t), ", ") != want {
			t.Errorf("%.40s: %d %s", body, got.status, got.body)
		}
	}
	change(`{"pins":null}`, "<nil>")
	change(`{"pins":{"notify":null}}`, "map[notify:<nil>]")
	change(`{"pins":{}}`, "<nil>")
	if other := g.fixture("Other"); g.send(http.MethodPatch, path, other.secret, `{"pins":{}}`).status != http.StatusNotFound {
		t.Error("another tenant changes them")
	}
}
