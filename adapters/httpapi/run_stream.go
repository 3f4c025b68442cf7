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

// writeWithin is how long a client may take to read what a stream has for it.
const writeWithin = 30 * time.Second

// streamRun answers GET /runs/{id}/stream: the run's history as server-sent events,
// until it has finished. A client that comes back says with Last-Event-ID what it has.
func (a *API) streamRun(c *gin.Context, who tenant.Caller) error {
	after, err := lastSeen(c)
	if err != nil {
		return err
	}
	s := &stream{c: c, control: http.NewResponseController(c.Writer)}
	ctx, cancel := context.WithCancel(c.Request.Context())
	defer cancel()
	defer context.AfterFunc(a.streams, cancel)()
	err = a.ports.Runs.Follow(ctx, who, runID(c), after, s.tell)
	switch {
	case err == nil && s.begun:
		return nil
	case err == nil:
		return s.tell(nil) // the client has everything already
	case !s.begun && a.streams.Err() == nil:
		return err
	case !s.begun:
		e := domain.Fail(domain.Unavailable, "stopping", "This gateway is about to stop. Ask again.")
		e.RetryAfter = time.Second
		return e
	case errors.Is(err, context.Canceled):
		return nil // the client comes back to another process
	}
	noteCause(c, err)
	return nil
}

// lastSeen reads the seq of the last entry that the client has: of Last-Event-ID, which
// browsers send by themselves, else of the parameter after.
func lastSeen(c *gin.Context) (int64, error) {
	const most = 1 << 53
	if text := c.GetHeader("Last-Event-ID"); text != "" {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 && n <= most {
			return n, nil
		}
		return 0, domain.Fail(domain.Invalid, "last_event_id_invalid", "The header Last-Event-ID must be the id of an event of this stream.")
	}
	query, err := jsonread.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		return 0, err
	}
	var r domain.Rules
	after := query.Int("after", 0, most, &r)
	if err := r.Err("stream_invalid", "The parameters of the stream are not valid."); err != nil || after == nil {
		return 0, err
	}
	return int64(*after), nil
}

// stream writes server-sent events.
type stream struct {
	c       *gin.Context
	control *http.ResponseController
	begun   bool
}

// tell writes entries, or a comment where there are none, and sees that they leave.
func (s *stream) tell(entries []run.Entry) error {
	if !s.begun {
		s.begun = true
		h := s.c.Writer.Header()
		h.Set("Content-Type", eventStream)
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Accel-Buffering", "no") // or a proxy may wait for more
		s.c.Status(http.StatusOK)
	}
	var b bytes.Buffer
	if len(entries) == 0 {
		b.WriteString(": still here\n\n")
	}
	for _, e := range entries {
		data, err := encode(renderEntry(e))
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(&b, "id: %d\nevent: %s\ndata: %s\n\n", e.Seq, e.Type, data) // cannot fail
	}
	// The server bounds a whole answer; a stream has a bound for each part of it.
	if err := s.control.SetWriteDeadline(time.Now().Add(writeWithin)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := s.c.Writer.Write(b.Bytes()); err != nil {
		return err
	}
	return s.control.Flush()
}
