package httpapi

import (
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
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
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

// headerLastEventID names the event that a client got last (HTML Standard, "The
// Last-Event-ID header").
const headerLastEventID = "Last-Event-ID"

// eventStream answers a request with server-sent events.
type eventStream struct {
	events *stream.Events
	state  *exchange.State
}

// serveEvents has write write a stream, which ends when its client may not read it any more or the
// gateway stops. An error before it has begun is that of the answer; a later one is told by
// its last event.
func (a *API) serveEvents(c *gin.Context, who tenant.Caller, op tenant.Operation, write func(ctx context.Context, s *eventStream) error) error {
	leave, err := a.places.Acquire(who)
	if err != nil {
		return err
	}
	defer leave()
	if a.streams.Err() != nil {
		return errStopping()
	}
	ctx, end := context.WithCancelCause(c.Request.Context())
	defer end(nil)
	defer context.AfterFunc(a.streams, func() { end(errStopping()) })()
	go a.confirm(ctx, end, a.credentials(c), op)
	events, stop := stream.NewEvents(ctx, c.Writer)
	defer stop()
	s := &eventStream{events: events, state: exchange.StateOf(c)}
	err = write(ctx, s)
	if ctx.Err() != nil && err != nil {
		err = context.Cause(ctx) // why it was to end
	}
	switch {
	case err == nil || !s.begun():
		return err
	case events.Err() != nil || c.Request.Context().Err() != nil: // nobody reads any more
		err = events.Err()
	default:
		err = s.close(err)
	}
	if err != nil && c.Request.Context().Err() == nil {
		s.state.Cause = err // it is too late for an answer; the client comes back
	}
	return nil
}

func (s *eventStream) begun() bool { return !s.state.StreamBegan.IsZero() }

// begin begins the stream unless it has begun, and otherwise writes a heartbeat if nothing follows.
func (s *eventStream) begin(comment string, follows bool) error {
	switch {
	case !s.begun():
		s.state.StreamBegan = time.Now()
		return s.events.Begin(comment)
	case !follows:
		return s.events.Heartbeat()
	default:
		return nil
	}
}

// confirm ends a stream that its client may not read any more: the key was revoked or has
// expired, the session has ended or the membership has, or its tenant was suspended or deleted.
func (a *API) confirm(ctx context.Context, end context.CancelCauseFunc, with inbound.Credentials, op tenant.Operation) {
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
		err := a.ports.Admission.Confirm(ctx, with, op)
		if errors.Is(err, domain.Unauthenticated) || errors.Is(err, domain.Forbidden) || errors.Is(err, domain.NotFound) {
			end(err)
			return // any other error, as of a database that is gone, says nothing about the key
		}
	}
}

// closedBody is the data of the last event of a stream that ends before its time.
type closedBody struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// close says why the stream ends before its time, as an answer with the error would, and
// when to come back: clients at different times. It returns an error that belongs in the log.
func (s *eventStream) close(cause error) error {
	said := exchange.Explain(cause)
	data, err := exchange.Encode(closedBody{said.Code, said.Message})
	if err != nil {
		return errors.Join(cause, err)
	}
	s.state.Code = said.Code
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
	if err := s.events.Write([]byte(retry + "event: closed\ndata: " + string(data) + "\n\n")); err != nil {
		return err
	}
	if said.StatusCode == http.StatusInternalServerError || said.StatusCode == http.StatusServiceUnavailable && said.Code != "stopping" {
		return cause
	}
	return nil
}
