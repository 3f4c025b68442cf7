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

// dialer connects to the database, so that a connection ends soon after its network has.
type dialer struct{ net net.Dialer }

var (
	_ pq.Dialer        = dialer{}
	_ pq.DialerContext = dialer{}
)

// newDialer asks on an idle connection, too, whether the other side is there.
func newDialer() dialer {
	return dialer{net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: unanswered / 2, Interval: unanswered / 4, Count: 2},
		Control:         boundSilence,
	}}
}

// Dial connects.
func (d dialer) Dial(network, address string) (net.Conn, error) {
	return d.net.Dial(network, address)
}

// DialTimeout connects within a time.
func (d dialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d.DialContext(ctx, network, address)
}

// DialContext connects before ctx ends.
func (d dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return d.net.DialContext(ctx, network, address)
}
