package stream

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// Bounds of a stream of events.
const (
	// writeTimeout is how long a client may take to read what is written. It is longer than
	// the pause between two heartbeats, so that it never expires while there is nothing to write.
	writeTimeout = 30 * time.Second

	// endTimeout is how long a client may take to read how its stream ends.
	endTimeout = time.Second
)

// Events writes server-sent events (HTML Standard, "Server-sent events").
type Events struct {
	ctx     context.Context //nolint:containedctx // ends when the stream is to end
	w       http.ResponseWriter
	control *http.ResponseController
	err     error
}

// NewEvents writes to w until ctx ends; then a client that reads slowly is cut off soon.
// The caller calls stop when nothing is written any more.
func NewEvents(ctx context.Context, w http.ResponseWriter) (e *Events, stop func() bool) {
	e = &Events{ctx: ctx, w: w, control: http.NewResponseController(serversWriter(w))}
	return e, context.AfterFunc(ctx, e.shortenDeadline)
}

// serversWriter is the server's own writer: Gin's loses the error of a flush.
func serversWriter(w http.ResponseWriter) http.ResponseWriter {
	for {
		wrapper, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return w
		}
		w = wrapper.Unwrap()
	}
}

// Begin sends the head of the answer, so that the client knows that it is listening, and says in a
// comment what this is.
func (e *Events) Begin(comment string) error {
	h := e.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Accel-Buffering", "no") // or a proxy may wait for more
	e.w.WriteHeader(http.StatusOK)
	return e.Write([]byte(": " + comment + "\n\n"))
}

// Heartbeat writes a comment.
func (e *Events) Heartbeat() error { return e.Write([]byte(": still here\n\n")) }

// Err is why nothing more can be written; nil while it can.
func (e *Events) Err() error { return e.err }

// Write sends whole events at once. The server bounds a whole answer; a stream has a bound
// for each part of it.
func (e *Events) Write(text []byte) error {
	timeout := writeTimeout
	if e.ctx.Err() != nil {
		timeout = endTimeout
	}
	err := e.control.SetWriteDeadline(time.Now().Add(timeout))
	if errors.Is(err, http.ErrNotSupported) {
		err = nil
	}
	if timeout == writeTimeout && e.ctx.Err() != nil {
		e.shortenDeadline() // ctx ended meanwhile, and the longer deadline has replaced the shorter one
	}
	if err == nil {
		_, err = e.w.Write(text)
	}
	if err == nil {
		err = e.control.Flush()
	}
	e.err = err
	return err
}

// shortenDeadline keeps a client that reads slowly from holding up the end of its stream.
func (e *Events) shortenDeadline() {
	_ = e.control.SetWriteDeadline(time.Now().Add(endTimeout)) // without deadlines nothing waits for a client
}
