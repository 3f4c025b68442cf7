package postgres

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/lib/pq"
)

// How the channel of notices is watched. A channel that does not answer a ping in
// time may have lost notices, so a process is never longer than their sum behind
// without knowing it.
const (
	pingEvery   = 500 * time.Millisecond
	pingTimeout = 400 * time.Millisecond
)

// Pauses between attempts to connect again.
const (
	firstReconnect = 50 * time.Millisecond
	lastReconnect  = time.Second
)

// notices listens on a connection of its own (LISTEN and NOTIFY, PostgreSQL manual,
// SQL commands).
type notices struct{ dsn string }

// Listen hears the notices of the topics until ctx ends.
func (n *notices) Listen(ctx context.Context, topics []string, heard func(topic, payload string), connected func(bool)) error {
	// The driver reports a lost connection from a goroutine of its own, so that nobody
	// trusts the channel while this one still works off what it brought before.
	link := &link{connected: connected}
	listener := pq.NewListener(n.dsn, firstReconnect, lastReconnect, func(event pq.ListenerEventType, _ error) {
		if event == pq.ListenerEventDisconnected || event == pq.ListenerEventConnectionAttemptFailed {
			link.set(false)
		}
	})
	defer func() { _ = listener.Close() }() // the connection is given up whatever it says
	for _, topic := range topics {
		if err := listen(ctx, listener, topic); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	link.set(true)
	ticker := time.NewTicker(pingEvery)
	defer ticker.Stop()
	answered := make(chan error, 1)
	var overdue <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case notice, ok := <-listener.Notify:
			switch {
			case !ok:
				return fmt.Errorf("postgres: the listener ended by itself")
			case notice == nil: // connected again: whatever was told in between is lost
				link.set(true)
			default:
				heard(notice.Channel, notice.Extra)
			}
		case <-ticker.C:
			if overdue == nil {
				overdue = time.After(pingTimeout)
				go func() { answered <- listener.Ping() }()
			}
		case <-overdue:
			link.doubt()
			overdue = make(chan time.Time) // until the ping returns
		case err := <-answered:
			overdue = nil
			if err == nil {
				link.restore()
			}
		}
	}
}

// listen asks for a topic. While there is no connection the listener waits for one,
// and this for ctx.
func listen(ctx context.Context, listener *pq.Listener, topic string) error {
	done := make(chan error, 1)
	go func() { done <- listener.Listen(topic) }()
	select {
	case <-ctx.Done():
		return nil
	case err := <-done:
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("postgres: listen to %s: %w", topic, err)
		}
		return nil
	}
}

// link tells once for each change whether notices are heard.
type link struct {
	mu        sync.Mutex
	up, lost  bool // lost: the connection itself ended, and only a new one restores it
	connected func(bool)
}

// set says that the connection is new, or gone.
func (l *link) set(up bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost = !up
	if up || l.up {
		l.connected(up)
	}
	l.up = up
}

// doubt says that the connection does not answer in time.
func (l *link) doubt() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.up {
		l.up = false
		l.connected(false)
	}
}

// restore says that a connection that was slow to answer answers again.
func (l *link) restore() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.up && !l.lost {
		l.up = true
		l.connected(true)
	}
}
