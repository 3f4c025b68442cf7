package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
)

// streamRun answers GET /runs/{id}/stream: the run's history as server-sent events,
// until it has finished. A client that comes back says with Last-Event-ID what it has.
func (a *API) streamRun(c *gin.Context, who tenant.Caller) error {
	after, err := lastSeen(c)
	if err != nil {
		return err
	}
	return a.serveEvents(c, who, tenant.FollowRun, func(ctx context.Context, s *eventStream) error {
		h := &history{eventStream: s}
		err := a.ports.Runs.Follow(ctx, who, runID(c), after, h.send)
		switch {
		case err != nil && !s.begun():
			return invalidLastSeen(c, err)
		case err != nil:
			return err
		case !s.begun():
			return exchange.NoContent(c) // which keeps a client from coming back by itself
		default:
			return h.end()
		}
	})
}

// lastSeen reads the seq of the last entry that the client has: from Last-Event-ID, which
// clients send by themselves when they come back, else from the parameter after.
func lastSeen(c *gin.Context) (int64, error) {
	query, err := exchange.Parameters(c)
	if err != nil {
		return 0, err
	}
	var r domain.Rules
	after := query.Int("after", 0, 1<<53-1, &r)
	if err := exchange.ReportIgnored(c); err != nil {
		return 0, err
	}
	if text := c.GetHeader(headerLastEventID); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return 0, errLastEventID()
		}
		return n, nil
	}
	if err := r.Err(codeStreamInvalid, "The parameters of the stream are not valid."); err != nil || after == nil {
		return 0, err
	}
	return int64(*after), nil
}

const codeStreamInvalid = "stream_invalid"

func errLastEventID() error {
	return domain.Fail(domain.Invalid, "last_event_id_invalid", "The header Last-Event-ID must be the id of an event of this stream.")
}

// invalidLastSeen turns an error about the entry to begin after into one about the header,
// if that is what the client sent.
func invalidLastSeen(c *gin.Context, err error) error {
	var e *domain.Error
	if c.GetHeader(headerLastEventID) != "" && errors.As(err, &e) && e.Code == codeStreamInvalid {
		return errLastEventID()
	}
	return err
}

// history writes the history of a run as events.
type history struct {
	*eventStream

	last run.EntryType
}

// send writes entries, or a heartbeat if there are none.
func (h *history) send(entries []run.Entry) error {
	if err := h.begin("the history of a run", len(entries) > 0); err != nil || len(entries) == 0 {
		return err
	}
	var b bytes.Buffer
	for _, e := range entries {
		data, err := exchange.Encode(renderEntry(e))
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(&b, "id: %d\nevent: %s\ndata: %s\n\n", e.Seq, e.Type, data) // cannot fail
		h.last = e.Type
	}
	return h.events.Write(b.Bytes())
}

// endBody is the data of the last event of a stream, when the run has finished.
type endBody struct {
	Status string `json:"status"`
}

// end says that the run has finished. No other event does.
func (h *history) end() error {
	status := map[run.EntryType]run.Status{
		run.EntryRunCompleted: run.StatusCompleted, run.EntryRunFailed: run.StatusFailed, run.EntryRunCancelled: run.StatusCancelled,
	}[h.last]
	data, err := exchange.Encode(endBody{string(status)})
	if err != nil {
		return err
	}
	return h.events.Write([]byte("event: end\ndata: " + string(data) + "\n\n"))
}
