package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/adapters/httpapi/stream"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
)

// confirmInterval is how often a stream asks whether its key may still read it.
const confirmInterval = 2 * time.Second

// errStopping ends streams when the gateway stops. The other gateways are ready, so that a
// client need not wait for long.
func errStopping() error {
	e := domain.Fail(domain.Unavailable, "stopping", "This gateway is about to stop and begins no streams. Ask again.")
	e.RetryAfter = 250 * time.Millisecond
	return e
}

// streamRun answers GET /runs/{id}/stream: the run's history as server-sent events,
// until it has finished. A client that comes back says with Last-Event-ID what it has.
func (a *API) streamRun(c *gin.Context, who tenant.Caller) error {
	leave, err := a.places.Acquire(who)
	if err != nil {
		return err
	}
	defer leave()
	after, err := lastSeen(c)
	if err != nil {
		return err
	}
	if a.streams.Err() != nil {
		return errStopping()
	}
	ctx, end := context.WithCancelCause(c.Request.Context())
	defer end(nil)
	defer context.AfterFunc(a.streams, func() { end(errStopping()) })()
	go a.confirm(ctx, end, c.GetHeader(headerKey))
	events, stop := stream.NewEvents(ctx, c.Writer)
	defer stop()
	h := &history{events: events, state: exchange.StateOf(c)}
	err = a.ports.Runs.Follow(ctx, who, runID(c), after, h.send)
	if ctx.Err() != nil && err != nil {
		err = context.Cause(ctx) // why it was to end
	}
	begun := !h.state.StreamBegan.IsZero()
	switch {
	case !begun && err == nil:
		return exchange.NoContent(c) // which keeps a client from coming back by itself
	case !begun:
		return invalidLastSeen(c, err)
	case events.Err() != nil || c.Request.Context().Err() != nil: // nobody reads any more
		err = events.Err()
	case err == nil:
		err = h.end()
	default:
		err = h.close(err)
	}
	if err != nil && c.Request.Context().Err() == nil {
		h.state.Cause = err // it is too late for an answer; the client comes back
	}
	return nil
}

// confirm ends a stream that its client may not read any more: the key was revoked or has
// expired, or its tenant was suspended or deleted.
func (a *API) confirm(ctx context.Context, end context.CancelCauseFunc, key string) {
	defer func() {
		if thrown := recover(); thrown != nil {
			end(fmt.Errorf("panic: %v\n%s", thrown, debug.Stack()))
		}
	}()
	ticker := time.NewTicker(a.confirmInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := a.ports.Admission.Confirm(ctx, key, tenant.FollowRun)
		if errors.Is(err, domain.Unauthenticated) || errors.Is(err, domain.Forbidden) {
			end(err)
			return // any other error, as of a database that is gone, says nothing about the key
		}
	}
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

// headerLastEventID names the event that a client got last (HTML Standard, "The
// Last-Event-ID header").
const headerLastEventID = "Last-Event-ID"

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
	events *stream.Events
	state  *exchange.State
	last   run.EntryType
}

// send writes entries, or a heartbeat if there are none.
func (h *history) send(entries []run.Entry) error {
	if h.state.StreamBegan.IsZero() {
		h.state.StreamBegan = time.Now()
		if err := h.events.Begin(); err != nil || len(entries) == 0 {
			return err
		}
	}
	if len(entries) == 0 {
		return h.events.Heartbeat()
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

// closedBody is the data of the last event of a stream that ends before its run.
type closedBody struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// close says why the stream ends before its run, as an answer with the error would, and
// when to come back: clients at different times. It returns an error that belongs in the log.
func (h *history) close(cause error) error {
	said := exchange.Explain(cause)
	data, err := exchange.Encode(closedBody{said.Code, said.Message})
	if err != nil {
		return errors.Join(cause, err)
	}
	h.state.Code = said.Code
	var retry string
	if said.StatusCode >= http.StatusInternalServerError {
		pause := time.Second
		var e *domain.Error
		if errors.As(cause, &e) && e.RetryAfter > 0 {
			pause = e.RetryAfter
		}
		pause += rand.N(pause) //nolint:gosec // nobody gains by knowing it
		retry = "retry: " + strconv.FormatInt(pause.Milliseconds(), 10) + "\n"
	}
	if err := h.events.Write([]byte(retry + "event: closed\ndata: " + string(data) + "\n\n")); err != nil {
		return err
	}
	if said.StatusCode == http.StatusInternalServerError || said.StatusCode == http.StatusServiceUnavailable && said.Code != "stopping" {
		return cause
	}
	return nil
}
