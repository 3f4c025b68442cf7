package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/sluicehq/sluice/adapters/httpapi"
	"github.com/sluicehq/sluice/application/workflows"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// noCode is a runner on a machine where no code can be run, until it can.
type noCode struct{ healed bool }

func (n *noCode) Run(context.Context, outbound.CodeCall) (outbound.CodeOutcome, error) {
	return outbound.CodeOutcome{}, n.err()
}

func (n *noCode) Compile(context.Context, tenant.ID, string) (problem string, at workflow.Place, err error) {
	return "", at, n.err()
}

func (n *noCode) err() error {
	if n.healed {
		return nil
	}
	return domain.Fail(domain.Unavailable, "code_unavailable", "The process that runs code does not start.")
}

func TestWhereNoCodeCanBeReadItsVersionsCannotBeChecked(t *testing.T) {
	code := &noCode{}
	g := newGateway(t, func(_ *httpapi.Options, p *httpapi.Ports) {
		versions := p.Publishing.(*workflows.Versions).WithCode(code)
		p.Versions, p.Publishing = versions, versions
	})
	g.beat()
	e := g.fixture("Acme")
	version := g.send(http.MethodPost, "/v1/gateway/workflow-versions", e.secret, fmt.Sprintf(
		`{"workflowId": %q, "nodes": [{"id": "a", "type": "code", "version": "1.0.0", "name": "A", "config": {"source": "return 1"}}]}`, e.ids["workflows"]))
	path := "/v1/gateway/workflow-versions/" + fmt.Sprint(version.field(t, "id"))
	for _, operation := range []string{"/validate", "/publish"} {
		got := g.send(http.MethodPost, path+operation, e.secret, "", "Idempotency-Key", operation)
		if got.status != http.StatusServiceUnavailable || got.field(t, "code") != "code_unavailable" {
			t.Errorf("%s: %d %s", operation, got.status, got.body)
		}
	}
	code.healed = true
	for _, operation := range []string{"/validate", "/publish"} { // the refusals were not recorded
		if got := g.send(http.MethodPost, path+operation, e.secret, "", "Idempotency-Key", operation); got.status != http.StatusOK {
			t.Errorf("%s, once there is code: %d %s", operation, got.status, got.body)
		}
	}
}
