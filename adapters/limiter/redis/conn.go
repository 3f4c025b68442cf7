package redis

import (
	"errors"
	"net"
	"time"

	redigo "github.com/gomodule/redigo/redis"
)

// conn is a connection to the server. One request uses it at a time.
type conn struct {
	redigo.Conn

	socket net.Conn    // without TLS
	quiet  func() bool // whether nothing was received that nobody reads
	since  time.Time   // when it was last used; of the pool
}

func newConn(socket, stream net.Conn) *conn {
	return &conn{Conn: redigo.NewConn(punctual{stream}, 0, 0), socket: socket, quiet: peeker(socket)}
}

// by has everything end at the deadline that the connection's user sends or awaits.
func (c *conn) by(deadline time.Time) error { return c.socket.SetDeadline(deadline) }

// end closes the connection at once: no TLS alert is sent, which could have to wait.
func (c *conn) end() error {
	if err := c.socket.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// punctual leaves the deadline to [conn.by]. The client library counts the time for
// reading from the end of writing, and has none if it is given none.
type punctual struct{ net.Conn }

// SetReadDeadline does nothing.
func (punctual) SetReadDeadline(time.Time) error { return nil }
