package event

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/run"
)

// MaxRunOutput bounds the output and the question of a run in its event, in bytes: hundreds of messages are sent
// at the same time.
const MaxRunOutput = 32 << 10

// NewRunEvent is the event of something that happened to a run.
// Its data names the run and what it is about, without its payload and its nodes'
// outputs; that of run.paused has the resume token where there is one, and the question where a person is asked; that of
// run.completed has the run's output. A question or an output that is larger than [MaxRunOutput] is left out.
func NewRunEvent(id ID, of *run.Run, h run.DomainEvent) *Event {
	var b strings.Builder
	member := func(name, value string) {
		if value != "" {
			b.WriteString(`,"` + name + `":` + text(value))
		}
	}
	b.WriteString(`{"runId":` + quote(string(of.ID())))
	member("workflowId", string(of.Workflow()))
	member("workflowVersionId", string(of.Version()))
	member("triggerId", string(of.Trigger()))
	member("subTenantId", string(of.SubTenant()))
	member("entityId", of.Entity())
	member("parentRunId", string(of.Parent()))
	member("cause", string(of.Cause()))
	member("status", string(statusAfter(h.Type)))
	member("nodeId", string(h.Node))
	if p := h.Pause; p != nil && h.Type == run.RunPaused {
		member("waitsFor", string(p.Kind))
		member("event", p.Event)
		member("until", instant(p.Until))
		member("resumeToken", h.Token)
		if p.Kind == run.PauseInput {
			member("pauseId", string(run.NewPauseID(of.ID(), p.Seq)))
		}
		if question := questionOf(p); len(question) > MaxRunOutput {
			b.WriteString(`,"questionOmitted":true`)
		} else if question != nil {
			b.WriteString(`,"question":`)
			b.Write(question)
		}
	}
	if h.Type == run.RunCompleted {
		output, omitted := of.Result(MaxRunOutput)
		switch {
		case omitted:
			b.WriteString(`,"outputOmitted":true`)
		case output != nil:
			b.WriteString(`,"output":`)
			b.Write(output)
		}
	}
	if f := h.Failure; f != nil {
		b.WriteString(`,"error":{"code":` + text(f.Code) + `,"message":` + text(f.Message))
		member("nodeId", string(f.Node))
		member("edgeId", string(f.Edge))
		b.WriteString(`}`)
	}
	b.WriteString(`}`)
	return Restore(State{
		ID: id, Tenant: of.Tenant(), SubTenant: of.SubTenant(), Type: Type(h.Type), At: h.At, Data: domain.RestoreDocument(b.String()), OfChild: of.Parent() != "",
	})
}

// questionOf writes what a person is asked as the API shows it; nil for nothing.
func questionOf(p *run.Pause) []byte {
	q := p.Question
	if q == nil {
		return nil
	}
	written, err := json.Marshal(struct {
		Title     string            `json:"title,omitempty"`
		Prompt    string            `json:"prompt,omitempty"`
		Assignee  string            `json:"assignee,omitempty"`
		InputType string            `json:"inputType,omitempty"`
		Form      node.Declarations `json:"form"`
	}{q.Title, q.Prompt, q.Assignee, q.Kind, q.Form})
	if err != nil {
		return nil // which no form that was read from JSON leads to
	}
	return written
}

// statusAfter is the run's status in the event. A run with a paused node is shown as paused
// even while others still run.
func statusAfter(t run.EventType) run.Status {
	switch t {
	case run.RunPaused:
		return run.StatusPaused
	case run.RunCompleted:
		return run.StatusCompleted
	case run.RunFailed:
		return run.StatusFailed
	case run.RunCancelled:
		return run.StatusCancelled
	default: // started, resumed
		return run.StatusRunning
	}
}

func instant(at *time.Time) string {
	if at == nil {
		return ""
	}
	return at.UTC().Format(timeLayout)
}

// text writes any text as JSON; what is no UTF-8 in it is replaced.
func text(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil {
		return `""` // which no string leads to
	}
	return strings.TrimSuffix(b.String(), "\n")
}
