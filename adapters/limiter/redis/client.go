package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
)

const (
	// connectTimeout bounds dialing, which continues after the request that needed the
	// connection gave up: a TLS handshake may take longer than a request may wait.
	connectTimeout = 5 * time.Second

	maxIdleTime = 5 * time.Minute // after which a connection is not used again
	bufferSize  = 4 << 10         // of a connection, for each direction
)

// newClient returns a client that connects on demand. Each command needs a context with
// a deadline: there is no other limit.
func (e endpoint) newClient() *goredis.Client {
	logging.Disable() // it would write to standard error
	return goredis.NewClient(&goredis.Options{
		Network: e.network, Addr: e.address, Dialer: e.dial, OnConnect: e.signIn,
		Protocol: 2, DisableIdentity: true, // RESP3 would only add what servers push
		MaxRetries: -1, DialerRetries: 1, // a request that is sent again may be counted twice
		ContextTimeoutEnabled: true, ReadTimeout: -1, WriteTimeout: -1, DialTimeout: connectTimeout,
		PoolSize: e.poolSize, PipelinePoolSize: -1, ConnMaxIdleTime: maxIdleTime,
		ReadBufferSize: bufferSize, WriteBufferSize: bufferSize,
	})
}

func (e endpoint) dial(ctx context.Context, network, address string) (net.Conn, error) {
	socket, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	if e.tls == nil {
		return socket, nil
	}
	secured := tls.Client(socket, e.tls)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = socket.Close() // nothing is pending
		return nil, fmt.Errorf("connect: TLS: %w", err)
	}
	return &tlsConn{Conn: secured}, nil
}

// tlsConn shows its socket to the pool, which can then see that the server has closed
// an idle connection.
type tlsConn struct {
	*tls.Conn
	used bool
}

func (c *tlsConn) Read(b []byte) (int, error) {
	c.used = true
	return c.Conn.Read(b)
}

// SyscallConn implements [syscall.Conn]. Before the first answer there may be session
// tickets on the socket, which the pool would take for a fault.
func (c *tlsConn) SyscallConn() (syscall.RawConn, error) {
	raw, err := c.NetConn().(syscall.Conn).SyscallConn()
	if err == nil && !c.used {
		return unreadable{raw}, nil
	}
	return raw, err
}

// unreadable hides what is on a socket.
type unreadable struct{ syscall.RawConn }

func (unreadable) Read(func(uintptr) bool) error { return nil }

// Close sends no TLS alert, which could have to wait.
func (c *tlsConn) Close() error { return c.NetConn().Close() }

// signIn prepares a new connection. The client library could do so too, but its errors
// would show the password.
func (e endpoint) signIn(ctx context.Context, c *goredis.Conn) error {
	if err := e.authenticate(ctx, c); err != nil {
		return err
	}
	if e.database == 0 {
		return nil
	}
	return c.Select(ctx, e.database).Err()
}

// authenticate reports only the code of a refusal: a server that does not know the
// command repeats the password in its text.
func (e endpoint) authenticate(ctx context.Context, c *goredis.Conn) (err error) {
	switch {
	case e.user != "":
		err = c.AuthACL(ctx, e.user, e.password).Err()
	case e.password != "": // servers older than Redis 6 take no user
		err = c.Auth(ctx, e.password).Err()
	}
	var refusal goredis.Error
	if errors.As(err, &refusal) {
		code, _, _ := strings.Cut(refusal.Error(), " ")
		return fmt.Errorf("connect: the server refuses the user or the password: it answers %s to AUTH", code)
	}
	return err
}
