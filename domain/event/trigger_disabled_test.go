package event_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/trigger"
)

func TestADisabledTriggerIsToldWithTheReason(t *testing.T) {
	trg := trigger.Restore(trigger.State{ID: "trg_1", Tenant: "tenant_1", SubTenant: "team", Version: "wfv_1", Name: `Paid "é" <now>`})
	at := time.Date(2026, 11, 21, 13, 0, 0, 5_000_000, time.FixedZone("", 3600))
	e := event.NewTriggerDisabled("evt_1", trg, event.DisabledByRequest, at)
	const want = `{"id":"evt_1","type":"trigger.disabled","timestamp":"2026-11-21T12:00:00.005Z",` +
		`"data":{"triggerId":"trg_1","workflowVersionId":"wfv_1","name":"Paid \"é\" <now>","reason":"It was switched off by a request."}}`
	if diff := cmp.Diff(want, string(e.Body())); diff != "" {
		t.Error(diff)
	}
	if e.Tenant() != "tenant_1" || e.SubTenant() != "team" || e.Type() != event.TriggerDisabled {
		t.Errorf("%+v", e.State())
	}
}
