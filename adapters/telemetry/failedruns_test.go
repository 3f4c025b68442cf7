package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/adapters/telemetry"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
)

func TestARunThatFailedIsLoggedOnceItIsRecordedWithoutWhatItWasAbout(t *testing.T) {
	store, owner := openWithTenant(t)
	var log bytes.Buffer
	work := telemetry.LogFailedRuns(store, zerolog.New(&log))
	at := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	by := run.Restore(run.State{Status: run.StatusFailed, UpdatedAt: at, Origin: run.Origin{
		ID: "run_1", Tenant: owner, SubTenant: "berlin", Workflow: "wf_1", Version: "wfv_1", Trigger: "trg_1", Parent: "run_0",
		Entity: "customer 4711", Cause: run.CauseWebhook, Payload: json.RawMessage(`{"card":"4242"}`), CreatedAt: at,
	}})
	alone := run.Restore(run.State{Status: run.StatusFailed, UpdatedAt: at, Origin: run.Origin{
		ID: "run_2", Tenant: owner, Workflow: "wf_1", Version: "wfv_1", Cause: run.CauseManual, CreatedAt: at,
	}})
	record := func(end error, events ...*event.Event) {
		t.Helper()
		err := work.Do(t.Context(), func(ctx context.Context, st outbound.Stores) error {
			return errors.Join(st.Webhooks.Events.AppendIfWanted(ctx, events...), end)
		})
		if (err == nil) != (end == nil) {
			t.Fatal(err)
		}
	}
	failed := func(id event.ID, of *run.Run, f run.Failure) *event.Event {
		return event.NewRunEvent(id, of, run.DomainEvent{Type: run.RunFailed, At: at, Failure: &f})
	}
	record(errors.New("the unit does not commit"), failed("evt_1", by, run.Failure{Code: "http_500", Message: "never stored"}))
	record(nil, event.NewRunEvent("evt_2", by, run.DomainEvent{Type: run.RunStarted, At: at}),
		failed("evt_3", by, run.Failure{Code: "http_404", Message: "shop.example said 4711", Node: "notify"}))
	record(nil, failed("evt_4", alone, run.Failure{Code: "no customer 4711!", Message: "secret", Node: "route", Edge: "route-ship"}))

	var got []map[string]any
	for line := range bytes.Lines(log.Bytes()) {
		var fields map[string]any
		if err := json.Unmarshal(line, &fields); err != nil {
			t.Fatal(err)
		}
		got = append(got, fields)
	}
	want := []map[string]any{{
		"level": "warn", "message": "a run failed", "tenantId": string(owner), "runId": "run_1", "code": "http_404", "nodeId": "notify",
		"workflowId": "wf_1", "triggerId": "trg_1", "subTenantId": "berlin", "parentRunId": "run_0",
	}, {
		"level": "warn", "message": "a run failed", "tenantId": string(owner), "runId": "run_2", "code": "node_error", "nodeId": "route", "edgeId": "route-ship",
		"workflowId": "wf_1",
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
