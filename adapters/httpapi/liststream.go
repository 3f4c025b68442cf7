package httpapi

import (
	"bytes"
	"context"
	"fmt"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/domain/change"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
)

// streamLists answers GET /stream: what changes in lists as server-sent events, for as long as the
// client reads. One that comes back says with Last-Event-ID what it has.
func (a *API) streamLists(c *gin.Context, who tenant.Caller) error {
	if _, err := exchange.Parameters(c); err != nil {
		return err
	}
	if err := exchange.ReportIgnored(c); err != nil {
		return err
	}
	return a.serveEvents(c, who, tenant.FollowLists, func(ctx context.Context, s *eventStream) error {
		return a.ports.ListChanges.Follow(ctx, who, c.GetHeader(headerLastEventID), s.sendChanges)
	})
}

// changeBody is the data of a change.
type changeBody struct {
	Operation   string `json:"operation"`
	ID          string `json:"id,omitempty"`
	RunID       string `json:"runId,omitempty"`
	NodeID      string `json:"nodeId,omitempty"`
	WorkflowID  string `json:"workflowId,omitempty"`
	ParentRunID string `json:"parentRunId,omitempty"`
	EndpointID  string `json:"endpointId,omitempty"`
}

func renderChange(c change.Change) changeBody {
	body := changeBody{
		Operation: string(c.Operation), ID: c.ID, NodeID: string(c.Node), WorkflowID: string(c.Workflow), ParentRunID: string(c.Parent), EndpointID: string(c.Endpoint),
	}
	if c.Kind == change.Pause {
		body.ID, body.RunID = "", c.ID
	}
	return body
}

// sendChanges writes events, or a heartbeat if there are none.
func (s *eventStream) sendChanges(events []inbound.ListEvent) error {
	if err := s.begin("what changes in lists", len(events) > 0); err != nil || len(events) == 0 {
		return err
	}
	var b bytes.Buffer
	for _, e := range events {
		name, data := string(e.Change.Kind), []byte("{}")
		if name == "" {
			name = "reset"
		} else {
			var err error
			if data, err = exchange.Encode(renderChange(e.Change)); err != nil {
				return err
			}
		}
		_, _ = fmt.Fprintf(&b, "id: %s\nevent: %s\ndata: %s\n\n", e.ID, name, data) // cannot fail
	}
	return s.events.Write(b.Bytes())
}
