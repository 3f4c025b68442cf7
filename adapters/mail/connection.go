package mail

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
)

// connection is that of one message. The library bounds each step of a conversation; closing this bounds the
// whole.
type connection struct {
	wrapped bool
	tls     *tls.Config

	mu     sync.Mutex
	open   net.Conn
	closed bool
}

func (c *connection) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var plain net.Dialer
	raw, err := plain.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.open = raw
	if c.closed {
		_ = raw.Close()
	}
	c.mu.Unlock()
	if !c.wrapped {
		return raw, nil
	}
	secure := tls.Client(raw, c.tls)
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	return secure, nil
}

// close ends the conversation, wherever it is.
func (c *connection) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.open != nil {
		_ = c.open.Close()
	}
}
