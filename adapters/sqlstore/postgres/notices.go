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

// answerLimit is how long a connection may leave a question unanswered before another one
// takes its place: what a server that vanished does not end lasts for minutes.
const answerLimit = 5 * time.Second

// Pauses between attempts to connect again.
const (
	minReconnectPause = 50 * time.Millisecond
	maxReconnectPause = time.Second
)

// notices listens on a connection of its own (LISTEN and NOTIFY, PostgreSQL manual,
// SQL commands).
type notices struct{ dsn string }

// Listen receives the notices of the topics until ctx ends.
func (n *notices) Listen(ctx context.Context, topics []string, onNotice func(topic, payload string), connected func(bool)) error {
	ctx, giveUp := context.WithCancel(ctx)
	// The driver reports what becomes of the connection from one goroutine, in order, and of
	// a new one only when all topics are listened to on it again.
	link, line := &link{connected: connected}, &listenerDialer{until: ctx}
	listener := pq.NewDialListener(line, n.dsn, minReconnectPause, maxReconnectPause, func(event pq.ListenerEventType, _ error) {
		link.setConnected(event == pq.ListenerEventConnected || event == pq.ListenerEventReconnected)
	})
	defer func() {
		giveUp()
		line.closeConn()
		_ = listener.Close() // the connection is given up whatever it says
		for range listener.Notify {
			continue // the driver's goroutine ends once it is rid of what it received
		}
	}()
	for _, topic := range topics {
		if err := listen(ctx, listener, line, topic); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	link.setListening()
	return receive(ctx, listener, line, link, onNotice)
}

// receive passes on what the listener receives, and makes sure that it does, until ctx
// ends.
func receive(ctx context.Context, listener *pq.Listener, line *listenerDialer, link *link, onNotice func(topic, payload string)) error {
	ticker := time.NewTicker(pingEvery)
	defer ticker.Stop()
	answered := make(chan error, 1)
	var asked time.Time // zero while no ping is on its way
	var overdue <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case notice, ok := <-listener.Notify:
			switch {
			case !ok:
				return fmt.Errorf("postgres: the listener ended by itself")
			case notice != nil: // nil reports a new connection, which the link knows of
				onNotice(notice.Channel, notice.Extra)
			}
		case <-ticker.C:
			switch {
			case asked.IsZero():
				asked, overdue = time.Now(), time.After(pingTimeout)
				go func() { answered <- listener.Ping() }()
			case time.Since(asked) > answerLimit:
				line.closeConn()
			}
		case <-overdue:
			link.setAnswered(false)
		case err := <-answered:
			asked, overdue = time.Time{}, nil
			link.setAnswered(err == nil)
		}
	}
}

// listen asks for a topic. While there is no connection the listener waits for one,
// and this for ctx.
func listen(ctx context.Context, listener *pq.Listener, line *listenerDialer, topic string) error {
	done := make(chan error, 1)
	go func() { done <- listener.Listen(topic) }()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(answerLimit):
			line.closeConn() // it is asked for on the next connection
		case err := <-done:
			if err != nil && ctx.Err() == nil {
				return fmt.Errorf("postgres: listen to %s: %w", topic, err)
			}
			return nil
		}
	}
}

// link reports whether notices are received: whether there is a connection, it listens, and
// it answers.
type link struct {
	connected func(bool)

	mu                      sync.Mutex
	up, listening, answered bool
	reported                bool
}

// setConnected says that there is a new connection, or none.
func (l *link) setConnected(up bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if up && l.reported { // another one: notices in between are lost
		l.reported = false
		l.connected(false)
	}
	l.up, l.answered = up, up
	l.report()
}

// setListening says that the topics are listened to, on this connection and on every later
// one.
func (l *link) setListening() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listening = true
	l.report()
}

// setAnswered says whether the connection answers in time.
func (l *link) setAnswered(inTime bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answered = inTime
	l.report()
}

func (l *link) report() {
	if now := l.up && l.listening && l.answered; now != l.reported {
		l.reported = now
		l.connected(now)
	}
}
