package run_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/run"
)

func TestASummaryIsTheRunWithoutItsDocuments(t *testing.T) {
	t.Parallel()
	later := noon.Add(time.Second)
	failure := run.Failure{Code: run.CodeEdgeCondition, Message: "No.", Node: "charge", Edge: "edge_1"}
	state := run.State{
		Origin: run.Origin{
			ID: runID, Tenant: owner, SubTenant: "sub_1", Workflow: "wf_1", Version: version, Trigger: "trg_1", Entity: "order-7", DedupeKey: "key-7",
			Cause: run.CauseWebhook, Payload: []byte(`{"n":1}`), CreatedAt: noon,
		},
		Status: run.StatusFailed, Seq: 9, Failure: &failure, UpdatedAt: later, StartedAt: &noon, FinishedAt: &later, WakeAt: &later,
		Progress: run.Progress{Nodes: []run.NodeState{{ID: "charge", Status: run.NodeCompleted, Output: []byte(`{"id":7}`)}}},
	}
	got := run.Restore(state).Summary()
	want := run.Summary{
		ID: runID, Tenant: owner, SubTenant: "sub_1", Workflow: "wf_1", Version: version, Trigger: "trg_1", Entity: "order-7", DedupeKey: "key-7",
		Cause: run.CauseWebhook, Status: run.StatusFailed, Seq: 9, Failure: &run.Failure{Code: run.CodeEdgeCondition, Message: "No.", Node: "charge", Edge: "edge_1"},
		CreatedAt: noon, UpdatedAt: later, StartedAt: &noon, FinishedAt: &later, WakeAt: &later,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
