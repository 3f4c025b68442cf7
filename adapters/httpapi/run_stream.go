package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
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
	found, err := a.ports.Runs.Get(c.Request.Context(), who, runID(c))
	if err != nil {
		return err
	}
	switch seq := found.Run.Seq(); {
	case after > seq:
		return errNotSeen(c, after, seq)
	case after == seq && found.Run.Status().Finished():
		return noContent(c) // which tells a client that comes back by itself to stay away
	case a.streams.Err() != nil:
		e := domain.Fail(domain.Unavailable, "stopping", "This gateway is about to stop and begins no streams. Ask again.")
		e.RetryAfter = time.Second
		return e
	}
	ctx, cancel := context.WithCancel(c.Request.Context())
	defer cancel()
	defer context.AfterFunc(a.streams, cancel)()
	s := &stream{c: c, control: http.NewResponseController(beneath(c.Writer))}
	err = s.begin()
	if err == nil {
		err = a.ports.Runs.Follow(ctx, who, found.Run.ID(), after, s.tell)
	}
	if err == nil {
		err = s.end()
	}
	if err != nil && ctx.Err() == nil {
		noteCause(c, err) // it is too late for an answer; the client comes back
	}
	return nil
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

// errNotSeen refuses to go on behind an entry that the run does not have: the stream
// would leave out those that it gets before.
func errNotSeen(c *gin.Context, after, seq int64) error {
	if c.GetHeader(headerLastEventID) != "" {
		return errLastEventID()
	}
	var r domain.Rules
	r.Check(false, "after", domain.TooLarge, "must be at most %d, which is how many entries the run has so far, not %d", seq, after)
	return r.Err(streamInvalid, streamInvalidMessage)
}

// stream writes server-sent events.
type stream struct {
	c       *gin.Context
	control *http.ResponseController
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

// endBody is the data of a stream's last event.
type endBody struct {
	Status string `json:"status"`
}

// end tells that the run has finished, which nothing but this event says: a stream that
// ends without it was cut off.
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

// write sees that the bytes leave. The server bounds a whole answer; a stream has a
// bound for each part of it, and a client that does not take one is cut off.
func (s *stream) write(text []byte) error {
	if err := s.control.SetWriteDeadline(time.Now().Add(writeWithin)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := s.c.Writer.Write(text); err != nil {
		return err
	}
	return s.control.Flush()
}
