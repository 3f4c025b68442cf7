package main

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

// connections is a listener that keeps at most so many connections. When one more
// arrives, those that have waited longest for a request make room, as the clients
// behind them lose nothing; where every connection is at work the new one is closed
// at once, so that those inside are served and a balancer tries elsewhere.
type connections struct {
	net.Listener
	most int
	log  zerolog.Logger

	mu      sync.Mutex
	open    map[*connection]struct{}
	refused int       // since they were last reported
	report  time.Time // when the next ones may be
}

// newConnections bounds a listener.
func newConnections(l net.Listener, most int, log zerolog.Logger) *connections {
	return &connections{Listener: l, most: most, log: log, open: make(map[*connection]struct{})}
}

// connection is one connection that is open.
type connection struct {
	net.Conn
	of *connections

	// waits is since when it waits for a request, in nanoseconds since the epoch; 0
	// while it is at work. It changes with every request, so no lock guards it.
	waits atomic.Int64
	once  sync.Once
}

// Close closes the connection and gives its place back.
func (c *connection) Close() error {
	c.once.Do(func() { c.of.leave(c) })
	return c.Conn.Close()
}

// Accept waits for a connection that there is a place for.
func (l *connections) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &connection{Conn: accepted, of: l}
		c.waits.Store(time.Now().UnixNano())
		if l.enter(c) {
			return c, nil
		}
		_ = accepted.Close() // nothing was sent
	}
}

func (l *connections) enter(c *connection) bool {
	for _, waiting := range l.crowdedOut() {
		_ = waiting.Close() // the server learns of it by its next read
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) >= l.most {
		l.refuse()
		return false
	}
	l.open[c] = struct{}{}
	return true
}

// roomAtOnce is how many connections make room together at most, so that a crowd at
// the door does not have them all looked through for each newcomer.
const roomAtOnce = 32

// crowdedOut returns the connections that have waited longest, when there is no
// place left: one in eight of those that wait, so that most of them are kept.
func (l *connections) crowdedOut() []*connection {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) < l.most {
		return nil
	}
	type waiting struct {
		c     *connection
		since int64
	}
	var all []waiting
	for c := range l.open {
		if since := c.waits.Load(); since != 0 {
			all = append(all, waiting{c, since})
		}
	}
	slices.SortFunc(all, func(a, b waiting) int { return cmp.Compare(a.since, b.since) })
	out := make([]*connection, 0, roomAtOnce)
	for _, w := range all[:min(len(all), roomAtOnce, len(all)/8+1)] {
		// Whoever began a request meanwhile is left alone.
		if w.c.waits.CompareAndSwap(w.since, 0) {
			out = append(out, w.c)
		}
	}
	return out
}

func (l *connections) leave(c *connection) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, c)
}

// reportEvery bounds how often refused connections are logged.
const reportEvery = 10 * time.Second

// refuse counts a connection that was closed at once. The lock is held.
func (l *connections) refuse() {
	l.refused++
	if now := time.Now(); now.After(l.report) {
		l.log.Warn().Int("refused", l.refused).Int("open", len(l.open)).
			Msg("every connection is at work, so new ones are closed at once (SLUICE_MAX_CONNECTIONS)")
		l.refused, l.report = 0, now.Add(reportEvery)
	}
}

// follow notes which connections wait for a request. It is the server's ConnState.
func follow(c net.Conn, state http.ConnState) {
	known, ok := c.(*connection)
	if !ok {
		return
	}
	switch state {
	case http.StateActive:
		known.waits.Store(0)
	case http.StateIdle:
		known.waits.Store(time.Now().UnixNano())
	}
}

// reservedFiles are kept for everything but clients: standard streams, the database's
// files, outgoing calls, listeners. The pool of the database comes on top.
const reservedFiles = 128

// placesFor returns how many connections can be kept with so many open files: what
// was configured, or less where the system does not allow as many.
func (c config) placesFor(files int) (int, error) {
	left := files - reservedFiles - c.DatabasePool
	if left < 1 {
		return 0, fmt.Errorf("the system allows this process %d open files, which leaves none for connections; allow at least %d (ulimit -n, or LimitNOFILE in systemd)",
			files, 2*(reservedFiles+c.DatabasePool))
	}
	return min(c.MaxConnections, left), nil
}

// defaultConnections is what SLUICE_MAX_CONNECTIONS is unless somebody chose it.
const defaultConnections = 20_000

// places returns how many connections this process keeps, and says when the system
// allows fewer than somebody chose.
func (c config) places(log zerolog.Logger) (int, error) {
	files := openFiles()
	most, err := c.placesFor(files)
	if err == nil && most < c.MaxConnections && c.MaxConnections != defaultConnections {
		log.Warn().Int("configured", c.MaxConnections).Int("connections", most).Int("openFiles", files).
			Msg("the system's limit of open files allows fewer connections than SLUICE_MAX_CONNECTIONS; raise it (ulimit -n, or LimitNOFILE in systemd)")
	}
	return most, err
}
