package event

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
)

// MaxRunOutput bounds the output of a run in its event, in bytes: hundreds of messages are sent
// at the same time.
const MaxRunOutput = 32 << 10

// NewRunEvent is the event of something that happened to a run (execution rules, "Outgoing
// events"). Its data names the run and what it is about, without its payload and its nodes'
// outputs; that of run.paused has the resume token where there is one, and that of run.completed
// the run's output, unless that is larger than [MaxRunOutput].
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
