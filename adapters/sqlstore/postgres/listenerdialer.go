package postgres

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/lib/pq"
)

// listenerDialer makes the network connection of a listener, one after another. The driver waits
// for an answer without an end, holding a lock that it needs to close the listener, so
// a connection that went silent has to be hung up from the outside.
type listenerDialer struct {
	until context.Context //nolint:containedctx // dials on nobody's behalf, and none after it

	mu   sync.Mutex
	conn net.Conn
}

var (
	_ pq.Dialer        = (*listenerDialer)(nil)
	_ pq.DialerContext = (*listenerDialer)(nil)
)

// Dial connects.
func (l *listenerDialer) Dial(network, address string) (net.Conn, error) {
	return l.DialContext(l.until, network, address)
}

// DialTimeout connects within a time.
func (l *listenerDialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(l.until, timeout)
	defer cancel()
	return l.DialContext(ctx, network, address)
}

// DialContext connects before ctx ends, and before the listener is given up.
func (l *listenerDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.until, cancel)()
	conn, err := newDialer(nil).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.until.Err(); err != nil { // hung up for good meanwhile
		_ = conn.Close() // nothing was said on it
		return nil, err
	}
	l.conn = conn
	return conn, nil
}

// closeConn ends the connection, whatever is going on there.
func (l *listenerDialer) closeConn() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		_ = l.conn.Close() // it is given up whatever it says
	}
}
