package postgres

import (
	"net"
	"sync/atomic"
	"time"
)

// answerTimeout bounds how long the database may leave a statement without a first or a further
// part of its answer. The driver waits for ever, whatever becomes of the context: a
// database that is there and does nothing, because its disk hangs or its process is
// stopped, would keep whoever asks until it goes on.
type answerTimeout struct {
	limit     time.Duration
	suspended atomic.Int32 // how many have reason to wait longer
}

// suspend lets statements take their time until resume is called as often.
func (h *answerTimeout) suspend() (resume func()) {
	h.suspended.Add(1)
	return func() { h.suspended.Add(-1) }
}

// deadline is that of an answer which is waited for from now on.
func (h *answerTimeout) deadline() time.Time {
	if h.suspended.Load() > 0 {
		return time.Time{}
	}
	return time.Now().Add(h.limit)
}

// timeoutConn is a connection whose peer has to answer in time. While nobody has sent
// anything nothing is expected, and a deadline that somebody else sets comes first.
type timeoutConn struct {
	net.Conn
	answers *answerTimeout
	held    atomic.Bool // a deadline of somebody else is set
}

// Write sends, and expects an answer from then on.
func (c *timeoutConn) Write(p []byte) (int, error) {
	if err := c.expect(); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// Read receives, and expects more after it.
func (c *timeoutConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err == nil {
		err = c.expect()
	}
	return n, err
}

func (c *timeoutConn) expect() error {
	if c.held.Load() {
		return nil
	}
	return c.Conn.SetDeadline(c.answers.deadline())
}

// SetDeadline sets one, or with the zero time none, in place of the connection's own.
func (c *timeoutConn) SetDeadline(t time.Time) error {
	c.held.Store(!t.IsZero())
	return c.Conn.SetDeadline(t)
}
