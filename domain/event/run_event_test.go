package event_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/node"
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

func TestTheEventOfAPausedRunTellsTheQuestion(t *testing.T) {
	const asked = `,"waitsFor":"input","resumeToken":"tok","pauseId":"pau_000000000000000000000000013"`
	form := node.Declarations{{Name: "ok", Declaration: node.Declaration{Type: node.Boolean}}}
	for claim, c := range map[string]struct {
		pause run.Pause
		want  string
	}{
		"as a person is asked it": {
			run.Pause{Kind: run.PauseInput, Seq: 3, Question: &run.Question{Title: "T", Prompt: "Pay?", Assignee: "ana", Form: form}},
			asked + `,"question":{"title":"T","prompt":"Pay?","assignee":"ana","form":{"ok":{"type":"boolean"}}}}`,
		},
		"unless it is too large": {
			run.Pause{Kind: run.PauseInput, Seq: 3, Question: &run.Question{Prompt: strings.Repeat("x", event.MaxRunOutput), Form: form}},
			asked + `,"questionOmitted":true}`,
		},
		"or an earlier version asked it":        {run.Pause{Kind: run.PauseInput, Seq: 3}, asked + `}`},
		"and no question where nobody is asked": {run.Pause{Kind: run.PauseEvent, Event: "paid", Seq: 3}, `,"waitsFor":"event","event":"paid","resumeToken":"tok"}`},
	} {
		paused := run.Restore(run.State{Origin: run.Origin{ID: "run_00000000000000000000000001", Tenant: "tenant_1", Payload: json.RawMessage("{}")}, Status: run.StatusPaused, Seq: 4})
		data := event.NewRunEvent("evt_1", paused, run.DomainEvent{Type: run.RunPaused, At: time.Unix(0, 0), Node: "ask", Pause: &c.pause, Token: "tok"}).Data().String()
		if !strings.HasSuffix(data, c.want) || !json.Valid([]byte(data)) {
			t.Errorf("%s: %.500s", claim, data)
		}
	}
}
