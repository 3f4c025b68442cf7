package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	redigo "github.com/gomodule/redigo/redis"
)

// connectTimeout bounds making a connection, which goes on after the request that
// wanted it has given up: a TLS handshake may take longer than a request may wait.
const connectTimeout = 5 * time.Second

// dial makes a connection that is ready for requests.
func (e endpoint) dial(ctx context.Context) (_ *conn, err error) {
	socket, err := (&net.Dialer{}).DialContext(ctx, e.network, e.address)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	abandoned := context.AfterFunc(ctx, func() { _ = socket.Close() })
	defer func() {
		if !abandoned() {
			err = fmt.Errorf("connect: %w", ctx.Err())
		}
		if err != nil {
			_ = socket.Close() // nothing is pending
		}
	}()
	stream := socket
	if e.tls != nil {
		secured := tls.Client(socket, e.tls)
		if err := secured.HandshakeContext(ctx); err != nil {
			return nil, fmt.Errorf("connect: TLS: %w", err)
		}
		stream = secured
	}
	c := newConn(socket, stream)
	if err := e.prepare(c); err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return c, nil
}

// prepare signs in and chooses the database.
func (e endpoint) prepare(c *conn) error {
	if e.user != "" || e.password != "" {
		if err := e.signIn(c); err != nil {
			return err
		}
	} else if e.tls != nil {
		// Session tickets, where the server sends any, come before the first answer. They
		// must not be taken for what a connection receives that awaits nothing.
		if _, err := c.Do("PING"); err != nil {
			return err
		}
	}
	if e.database != 0 {
		if _, err := c.Do("SELECT", e.database); err != nil {
			return fmt.Errorf("choose the database: %w", err)
		}
	}
	return nil
}

// signIn says who this is. Of a refusal only the code is told: a server that does not
// know the command repeats the password in its text.
func (e endpoint) signIn(c *conn) error {
	args := []any{e.user, e.password}
	if e.user == "" {
		args = args[1:] // servers older than Redis 6 take no user
	}
	_, err := c.Do("AUTH", args...)
	var refusal redigo.Error
	if errors.As(err, &refusal) {
		code, _, _ := strings.Cut(string(refusal), " ")
		return fmt.Errorf("the server refuses the user or the password: it answers %s to AUTH", code)
	}
	return err
}
