package httpapi_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/adapters/httpapi"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
)

// full has no room for any run.
type full struct{ inbound.Firing }

var errFull = tenant.Budgets{BytesKept: 10 << 30}.CheckBytes(11<<30, 1)

func (full) Call(context.Context, tenant.Caller, domain.IdempotencyKey, trigger.ID, run.Call) (run.Fired, error) {
	return run.Fired{}, errFull
}

func (full) ByEvent(context.Context, tenant.Caller, domain.IdempotencyKey, run.EventCall) ([]run.Fired, error) {
	return nil, errFull
}

func (full) Ingest(context.Context, tenant.Caller, domain.IdempotencyKey, run.IngestCall) (run.Ingested, error) {
	return run.Ingested{}, errFull
}

func (full) Start(context.Context, tenant.Caller, domain.IdempotencyKey, workflow.ID, run.ManualCall) (*run.Run, error) {
	return nil, errFull
}

func (full) StartVersion(context.Context, tenant.Caller, domain.IdempotencyKey, workflow.VersionID, run.Call) (*run.Run, error) {
	return nil, errFull
}

func (full) Rerun(context.Context, tenant.Caller, domain.IdempotencyKey, run.ID, run.RerunCall) (run.Summary, error) {
	return run.Summary{}, errFull
}

func TestAboveItsStorageATenantIsAskedNotToRepeatACall(t *testing.T) {
	g := newGateway(t, func(_ *httpapi.Options, ports *httpapi.Ports) { ports.Firing = full{ports.Firing} })
	e := g.fixture("Acme")
	g.addRuns(e)
	for path, body := range map[string]string{
		"/v1/gateway/triggers/" + e.ids["triggers"] + "/webhook":                `{}`,
		"/v1/gateway/triggers/webhook/by-event":                                 `{"event":"paid"}`,
		"/v1/gateway/triggers/ingest":                                           `{"event":"paid"}`,
		"/v1/gateway/workflows/" + e.ids["workflows"] + "/runs":                 `{}`,
		"/v1/gateway/workflow-versions/" + e.ids["workflow-versions"] + "/runs": `{}`,
		"/v1/gateway/runs/" + e.ids["runs"] + "/rerun":                          `{}`,
	} {
		got := g.send(http.MethodPost, path, e.secret, body)
		if got.status != http.StatusConflict || got.field(t, "code") != "storage_exceeded" || got.header.Get("X-Should-Retry") != "false" ||
			got.header.Get("Retry-After") != "" || !strings.Contains(got.body, "take 11.0 GiB, and at most 10.0 GiB are kept") {
			t.Errorf("%s: %d %v %s", path, got.status, got.header, got.body)
		}
	}
}
