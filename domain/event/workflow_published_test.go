package event_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/workflow"
)

func TestAPublishedVersionIsToldWithItsNumberAndItsTime(t *testing.T) {
	at := time.Date(2026, 11, 21, 13, 0, 0, 5_000_000, time.FixedZone("", 3600))
	ver := workflow.RestoreVersion(workflow.VersionState{
		ID: "wfv_1", Workflow: "wf_1", Tenant: "tenant_1", SubTenant: "team", Number: 12, Active: true, PublishedAt: &at,
	})
	e := event.NewWorkflowPublished("evt_1", ver)
	const want = `{"id":"evt_1","type":"workflow.published","timestamp":"2026-11-21T12:00:00.005Z",` +
		`"data":{"workflowId":"wf_1","workflowVersionId":"wfv_1","version":12,"publishedAt":"2026-11-21T12:00:00.005Z"}}`
	if diff := cmp.Diff(want, string(e.Body())); diff != "" {
		t.Error(diff)
	}
	if e.Tenant() != "tenant_1" || e.SubTenant() != "team" || e.Type() != event.WorkflowPublished {
		t.Errorf("%+v", e.State())
	}
}
