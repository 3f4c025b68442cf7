package postgres

import (
	"context"
	"net"
	"time"

	"github.com/lib/pq"
)

// unanswered is how long the network may keep to itself whether what was sent has
// arrived. A server that vanished, with its machine or behind a firewall that forgot the
// connection, ends nothing: without a bound of ours the system repeats itself for a
// quarter of an hour, and whoever asked waits.
const unanswered = 20 * time.Second

// dialer connects to the database, so that a connection ends soon after its network has,
// or when the database leaves a statement without an answer for too long.
type dialer struct {
	net     net.Dialer
	hurried *hurry // nil where statements may take their time
}

var (
	_ pq.Dialer        = dialer{}
	_ pq.DialerContext = dialer{}
)

// newDialer asks on an idle connection, too, whether the other side is there.
func newDialer(hurried *hurry) dialer {
	return dialer{hurried: hurried, net: net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: unanswered / 2, Interval: unanswered / 4, Count: 2},
		Control:         boundSilence,
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
	if err != nil || d.hurried == nil {
		return conn, err
	}
	return &hurriedConn{Conn: conn, hurry: d.hurried}, nil
}
