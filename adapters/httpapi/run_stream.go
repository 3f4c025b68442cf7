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

	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
)

// eventStream is the type of server-sent events (HTML Standard, "Server-sent events").
const eventStream = "text/event-stream"

// writeWithin is how long a client may take to read what a stream has for it. It is
// longer than the pause between two heartbeats, so that the bound never runs out while
// there is nothing to write.
const writeWithin = 30 * time.Second

// endWithin is how long a client may take to read how its stream ends.
const endWithin = time.Second

// confirmEvery is how often it is asked whether who listens still may.
const confirmEvery = 2 * time.Second

// errStopping ends what lasts when the gateway stops. The other gateways are ready, so
// that a client need not wait for long.
func errStopping() error {
	e := domain.Fail(domain.Unavailable, "stopping", "This gateway is about to stop and begins no streams. Ask again.")
	e.RetryAfter = 250 * time.Millisecond
	return e
}

// streamRun answers GET /runs/{id}/stream: the run's history as server-sent events,
// until it has finished. A client that comes back says with Last-Event-ID what it has.
func (a *API) streamRun(c *gin.Context, who tenant.Caller) error {
	leave, err := a.following.enter(who)
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
	s := &stream{c: c, ctx: ctx, control: http.NewResponseController(beneath(c.Writer))}
	defer context.AfterFunc(ctx, s.hurry)()
	err = a.ports.Runs.Follow(ctx, who, runID(c), after, s.tell)
	if ctx.Err() != nil && err != nil {
		err = context.Cause(ctx) // why it was to end
	}
	switch {
	case !s.begun && err == nil:
		return noContent(c) // which tells a client that comes back by itself to stay away
	case !s.begun:
		return notSeen(c, err)
	case s.broken != nil || c.Request.Context().Err() != nil: // nobody listens any more
		err = s.broken
	case err == nil:
		err = s.end()
	default:
		err = s.close(a.explain(err), err)
	}
	if err != nil && c.Request.Context().Err() == nil {
		noteCause(c, err) // it is too late for an answer; the client comes back
	}
	return nil
}

// confirm ends a stream whose listener may not listen any more: its key was revoked or
// has expired, or its tenant was suspended or deleted.
func (a *API) confirm(ctx context.Context, end context.CancelCauseFunc, key string) {
	defer func() {
		if thrown := recover(); thrown != nil {
			end(fmt.Errorf("panic: %v\n%s", thrown, debug.Stack()))
		}
	}()
	ticker := time.NewTicker(a.confirming)
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
			return // while nobody can say, as when the database is gone, there is nothing to hear either
		}
	}
}

// lastSeen reads the seq of the last entry that the client has: of Last-Event-ID, which
// clients send by themselves when they come back, else of the parameter after.
func lastSeen(c *gin.Context) (int64, error) {
	if text := c.GetHeader(headerLastEventID); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return 0, errLastEventID()
		}
		return n, nil
	}
	query, err := jsonread.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		return 0, err
	}
	var r domain.Rules
	after := query.Int("after", 0, 1<<53-1, &r)
	if err := r.Err(streamInvalid, streamInvalidMessage); err != nil || after == nil {
		return 0, err
	}
	return int64(*after), nil
}

const streamInvalid, streamInvalidMessage = "stream_invalid", "The parameters of the stream are not valid."

// headerLastEventID says which event a client has got last (HTML Standard, "The
// Last-Event-ID header").
const headerLastEventID = "Last-Event-ID"

func errLastEventID() error {
	return domain.Fail(domain.Invalid, "last_event_id_invalid", "The header Last-Event-ID must be the id of an event of this stream.")
}

// notSeen makes an error about the header of one about the entry after which to begin,
// where that is what the client sent.
func notSeen(c *gin.Context, err error) error {
	var e *domain.Error
	if c.GetHeader(headerLastEventID) != "" && errors.As(err, &e) && e.Code == streamInvalid {
		return errLastEventID()
	}
	return err
}

// stream writes server-sent events.
type stream struct {
	c       *gin.Context
	ctx     context.Context //nolint:containedctx // ends when the stream is to end
	control *http.ResponseController
	begun   bool  // the head of the answer was sent
	broken  error // why the client cannot be told anything
	last    run.EntryType
}

// beneath is the server's own writer: the engine's loses the error of a flush.
func beneath(w http.ResponseWriter) http.ResponseWriter {
	for {
		around, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return w
		}
		w = around.Unwrap()
	}
}

// begin sends the headers, so that the client knows that it is listening.
func (s *stream) begin() error {
	s.begun = true
	h := s.c.Writer.Header()
	h.Set("Content-Type", eventStream)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Accel-Buffering", "no") // or a proxy may wait for more
	s.c.Status(http.StatusOK)
	visitOf(s.c).begun = time.Now()
	return s.write([]byte(": the history of a run\n\n"))
}

// tell writes entries, or a comment where there are none, as a sign of life.
func (s *stream) tell(entries []run.Entry) error {
	if !s.begun {
		if err := s.begin(); err != nil || len(entries) == 0 {
			return err
		}
	}
	if len(entries) == 0 {
		return s.write([]byte(": still here\n\n"))
	}
	var b bytes.Buffer
	for _, e := range entries {
		data, err := encode(renderEntry(e))
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(&b, "id: %d\nevent: %s\ndata: %s\n\n", e.Seq, e.Type, data) // cannot fail
		s.last = e.Type
	}
	return s.write(b.Bytes())
}

// endBody is the data of the last event of a stream that tells of a run to its end.
type endBody struct {
	Status string `json:"status"`
}

// end tells that the run has finished, which nothing but this event says.
func (s *stream) end() error {
	status := map[run.EntryType]run.Status{
		run.EntryRunCompleted: run.StatusCompleted, run.EntryRunFailed: run.StatusFailed, run.EntryRunCancelled: run.StatusCancelled,
	}[s.last]
	data, err := encode(endBody{string(status)})
	if err != nil {
		return err
	}
	return s.write([]byte("event: end\ndata: " + string(data) + "\n\n"))
}

// closedBody is the data of the last event of a stream that ends before its run.
type closedBody struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// close tells why the stream ends before its run: what an answer with the error would
// say. Where the client can come back, it is told when: not all of them at the same time.
// The error is returned when somebody has to look into it.
func (s *stream) close(said errorBody, err error) error {
	data, failed := encode(closedBody{said.Code, said.Message})
	if failed != nil {
		return errors.Join(err, failed)
	}
	noteCode(s.c, said.Code)
	var retry string
	if said.StatusCode >= http.StatusInternalServerError {
		pause := time.Second
		var e *domain.Error
		if errors.As(err, &e) && e.RetryAfter > 0 {
			pause = e.RetryAfter
		}
		pause += rand.N(pause) //nolint:gosec // nobody gains by knowing it
		retry = "retry: " + strconv.FormatInt(pause.Milliseconds(), 10) + "\n"
	}
	if failed := s.write([]byte(retry + "event: closed\ndata: " + string(data) + "\n\n")); failed != nil {
		return failed
	}
	if said.StatusCode == http.StatusInternalServerError || said.StatusCode == http.StatusServiceUnavailable && said.Code != "stopping" {
		return err
	}
	return nil
}

// write sees that the bytes leave. The server bounds a whole answer; a stream has a
// bound for each part of it, and a client that does not take one is cut off.
func (s *stream) write(text []byte) error {
	within := writeWithin
	if s.ctx.Err() != nil {
		within = endWithin
	}
	err := s.control.SetWriteDeadline(time.Now().Add(within))
	if errors.Is(err, http.ErrNotSupported) {
		err = nil
	}
	if within == writeWithin && s.ctx.Err() != nil {
		s.hurry() // it was to end meanwhile, and this has just taken its deadline back
	}
	if err == nil {
		_, err = s.c.Writer.Write(text)
	}
	if err == nil {
		err = s.control.Flush()
	}
	s.broken = err
	return err
}

// hurry keeps a client that reads slowly from holding up the end of its stream.
func (s *stream) hurry() {
	_ = s.control.SetWriteDeadline(time.Now().Add(endWithin)) // where there are no deadlines, nothing waits for a client
}
