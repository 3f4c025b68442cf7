package event_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/workflow"
)

func TestTheEventOfACompletedRunHasItsOutput(t *testing.T) {
	large := `"` + strings.Repeat("x", event.MaxRunOutput-2) + `"`
	for claim, c := range map[string]struct {
		output, want string
		of           run.EventType
	}{
		"as the run has it":       {`{"b": 1.50}`, `,"output":{"b": 1.50}}`, run.RunCompleted},
		"as large as it may be":   {large, `,"output":` + large + `}`, run.RunCompleted},
		"unless it is larger":     {large + " ", `,"outputOmitted":true}`, run.RunCompleted},
		"and no other event does": {`1`, `"status":"running"}`, run.RunStarted},
	} {
		done := run.Restore(run.State{
			Origin: run.Origin{ID: "run_1", Tenant: "tenant_1", Payload: json.RawMessage("{}")}, Status: run.StatusCompleted, Seq: 2,
			Progress: run.Progress{
				Nodes: []run.NodeState{{ID: "a", Status: run.NodeCompleted, Output: json.RawMessage(c.output)}}, Result: []workflow.NodeID{"a"},
			},
		})
		data := event.NewRunEvent("evt_1", done, run.DomainEvent{Type: c.of, At: time.Unix(0, 0)}).Data().String()
		if !strings.HasSuffix(data, c.want) || !json.Valid([]byte(data)) {
			t.Errorf("%s: %.200s", claim, data)
		}
	}
}
