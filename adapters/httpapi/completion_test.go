package httpapi_test

import (
	"net/http"
	"testing"

	"github.com/sluicehq/sluice/adapters/httpapi"
)

// Completing computes, so that it takes its turn among simulations.
func TestCompletingTakesATurn(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	g.addRuns(e)
	complete := func() answer {
		return g.send(http.MethodPost, "/v1/gateway/workflow-versions/"+e.ids["activeVersion"]+"/complete", e.secret, `{"nodeId":"notify","field":"config.url","text":"{{ input."}`)
	}
	leave := httpapi.TakeSimulations(g.api, e.id)
	if got := complete(); got.status != http.StatusServiceUnavailable || got.field(t, "code") != "runs_busy" {
		t.Errorf("while none is free: got %d %s", got.status, got.body)
	}
	leave()
	if got := complete(); got.status != http.StatusOK {
		t.Errorf("when one is: got %d %s", got.status, got.body)
	}
}
