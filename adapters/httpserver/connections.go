package httpserver

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

// connections is a listener that keeps a limited number of connections. When it is full,
// those that have been idle longest are closed: their clients lose nothing. If none is
// idle, the new connection is closed at once, so that a balancer tries elsewhere.
type connections struct {
	net.Listener
	limit int
	log   zerolog.Logger

	mu         sync.Mutex
	open       map[*connection]struct{}
	refused    int       // since the last report
	nextReport time.Time // at the earliest
}

func newConnections(l net.Listener, limit int, log zerolog.Logger) *connections {
	return &connections{Listener: l, limit: limit, log: log, open: make(map[*connection]struct{})}
}

type connection struct {
	net.Conn
	of *connections

	// idleSince is in nanoseconds since the epoch, 0 while a request is handled. It changes
	// with every request, so no lock guards it.
	idleSince atomic.Int64
	closed    sync.Once
}

// Close closes the connection.
func (c *connection) Close() error {
	c.closed.Do(func() { c.of.remove(c) })
	return c.Conn.Close()
}

// CloseWrite ends what is sent. net/http needs it to refuse a request that it has not read
// to the end: closing at once would reset the connection, and the client would lose the
// answer.
func (c *connection) CloseWrite() error {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok {
		return errors.ErrUnsupported
	}
	return half.CloseWrite()
}

// Accept waits for a connection that can be kept.
func (l *connections) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &connection{Conn: accepted, of: l}
		c.idleSince.Store(time.Now().UnixNano())
		if l.add(c) {
			return c, nil
		}
		_ = accepted.Close() // nothing was sent
	}
}

func (l *connections) add(c *connection) bool {
	for _, idle := range l.longestIdle() {
		_ = idle.Close() // the server notices at its next read
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) >= l.limit {
		l.reportRefused()
		return false
	}
	l.open[c] = struct{}{}
	return true
}

// maxClosedAtOnce is how many idle connections are closed together at most, so that a rush
// of new ones does not have all of them searched each time.
const maxClosedAtOnce = 32

// longestIdle returns what to close when the listener is full: one in eight of the idle
// connections.
func (l *connections) longestIdle() []*connection {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) < l.limit {
		return nil
	}
	type idle struct {
		c     *connection
		since int64
	}
	var all []idle
	for c := range l.open {
		if since := c.idleSince.Load(); since != 0 {
			all = append(all, idle{c, since})
		}
	}
	slices.SortFunc(all, func(a, b idle) int { return cmp.Compare(a.since, b.since) })
	out := make([]*connection, 0, maxClosedAtOnce)
	for _, i := range all[:min(len(all), maxClosedAtOnce, len(all)/8+1)] {
		if i.c.idleSince.CompareAndSwap(i.since, 0) { // else a request has begun
			out = append(out, i.c)
		}
	}
	return out
}

func (l *connections) remove(c *connection) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, c)
}

// reportInterval bounds how often refused connections are logged.
const reportInterval = 10 * time.Second

// reportRefused counts a refused connection. The lock is held.
func (l *connections) reportRefused() {
	l.refused++
	if now := time.Now(); now.After(l.nextReport) {
		l.log.Warn().Int("refused", l.refused).Int("open", len(l.open)).
			Msg("every connection is at work, so new ones are closed at once (SLUICE_MAX_CONNECTIONS)")
		l.refused, l.nextReport = 0, now.Add(reportInterval)
	}
}

// noteState notes which connections are idle. It is the server's ConnState.
func noteState(c net.Conn, state http.ConnState) {
	known, ok := c.(*connection)
	if !ok {
		return
	}
	switch state {
	case http.StateActive:
		known.idleSince.Store(0)
	case http.StateIdle:
		known.idleSince.Store(time.Now().UnixNano())
	}
}

// reservedFiles are kept for everything except clients and the database's pool: standard
// streams, database files, outgoing calls, listeners.
const reservedFiles = 128

// DefaultConnections is how many connections are kept unless somebody chose a number.
const DefaultConnections = 20_000

// ConnectionLimit is how many of the wanted connections this process can keep with its limit
// of open files and a database's pool. It logs when that is less than somebody chose.
func ConnectionLimit(log zerolog.Logger, wanted, pool int) (int, error) {
	files := openFiles()
	limit, err := limitFor(files, wanted, pool)
	if err == nil && limit < wanted && wanted != DefaultConnections {
		log.Warn().Int("configured", wanted).Int("connections", limit).Int("openFiles", files).
			Msg("the system's limit of open files allows fewer connections than SLUICE_MAX_CONNECTIONS; raise it (ulimit -n, or LimitNOFILE in systemd)")
	}
	return limit, err
}

func limitFor(files, wanted, pool int) (int, error) {
	left := files - reservedFiles - pool
	if left < 1 {
		return 0, fmt.Errorf("the system allows this process %d open files, which leaves none for connections; allow at least %d (ulimit -n, or LimitNOFILE in systemd)",
			files, 2*(reservedFiles+pool))
	}
	return min(wanted, left), nil
}
