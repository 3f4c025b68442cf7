package postgres

import (
	"context"
	"net"
	"time"

	"github.com/lib/pq"
)

// networkTimeout is how long the network may keep to itself whether what was sent has
// arrived. A server that vanished, with its machine or behind a firewall that forgot the
// connection, ends nothing: without a bound of ours the system repeats itself for a
// quarter of an hour, and whoever asked waits.
const networkTimeout = 20 * time.Second

// dialer connects to the database, so that a connection ends soon after its network has,
// or when the database leaves a statement without an answer for too long.
type dialer struct {
	net     net.Dialer
	answers *answerTimeout // nil where statements may take their time
}

var (
	_ pq.Dialer        = dialer{}
	_ pq.DialerContext = dialer{}
)

// newDialer asks on an idle connection, too, whether the other side is there.
func newDialer(answers *answerTimeout) dialer {
	return dialer{answers: answers, net: net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: networkTimeout / 2, Interval: networkTimeout / 4, Count: 2},
		Control:         setUserTimeout,
	}}
}

// Dial connects.
func (d dialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

// DialTimeout connects within a time.
func (d dialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d.DialContext(ctx, network, address)
}

// DialContext connects before ctx ends.
func (d dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.net.DialContext(ctx, network, address)
	if err != nil || d.answers == nil {
		return conn, err
	}
	return &timeoutConn{Conn: conn, answers: d.answers}, nil
}
