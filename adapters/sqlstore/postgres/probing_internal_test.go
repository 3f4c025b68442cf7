package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lib/pq"
)

// server connects as it is told, and counts how often it is asked.
type server struct {
	driver.Connector
	asked  int
	answer func(ctx context.Context) error
}

func (s *server) Connect(ctx context.Context) (driver.Conn, error) {
	s.asked++
	return nil, s.answer(ctx)
}

func TestAServerThatRefusesIsAskedByOneAtATime(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]error{
		"nobody listens": &net.OpError{Op: "dial", Net: "unix", Err: syscall.ECONNREFUSED},
		"it starts":      &pq.Error{Code: startingUp},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &server{answer: func(context.Context) error { return refusal }}
				p := &probing{Connector: s}
				for range 100 {
					if _, err := p.Connect(t.Context()); !errors.Is(err, refusal) {
						t.Fatal(err)
					}
				}
				if s.asked != 1 {
					t.Errorf("it was asked %d times", s.asked)
				}
				// One that takes long keeps the others from asking.
				time.Sleep(probeGap)
				began, end := make(chan struct{}), make(chan struct{})
				s.answer = func(context.Context) error { close(began); <-end; return nil }
				go func() { _, _ = p.Connect(t.Context()) }()
				<-began
				time.Sleep(time.Minute)
				if _, err := p.Connect(t.Context()); !errors.Is(err, refusal) || s.asked != 2 {
					t.Errorf("%v after %d", err, s.asked)
				}
				close(end)
				synctest.Wait()
				s.answer = func(context.Context) error { return nil }
				for range 100 {
					if _, err := p.Connect(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if s.asked != 102 {
					t.Errorf("it was asked %d times", s.asked)
				}
			})
		})
	}
}

func TestWhoeverGivesUpSaysNothingOfTheServer(t *testing.T) {
	t.Parallel()
	tooMany := &pq.Error{Code: tooManyConnections}
	for _, answer := range []error{context.Canceled, &net.OpError{Op: "dial", Err: context.DeadlineExceeded}, tooMany, driver.ErrBadConn} {
		s := &server{answer: func(context.Context) error { return answer }}
		p := &probing{Connector: s}
		for range 3 {
			if _, err := p.Connect(t.Context()); !errors.Is(err, answer) {
				t.Error(err)
			}
		}
		if s.asked != 3 {
			t.Errorf("after %v it is not asked again", answer)
		}
	}
}
