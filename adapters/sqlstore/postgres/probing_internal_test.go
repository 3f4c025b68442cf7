package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lib/pq"
)

// server connects as it is told, and counts how often it is asked.
type server struct {
	driver.Connector
	asked  atomic.Int32
	answer func(ctx context.Context) error
}

func (s *server) Connect(ctx context.Context) (driver.Conn, error) {
	s.asked.Add(1)
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
				p := newProbing(s)
				for range 100 {
					if _, err := p.Connect(t.Context()); !errors.Is(err, refusal) {
						t.Fatal(err)
					}
				}
				if s.asked.Load() != 1 {
					t.Errorf("it was asked %d times", s.asked.Load())
				}
				// One that takes long keeps the others from asking.
				time.Sleep(probeGap)
				began, end := make(chan struct{}), make(chan struct{})
				s.answer = func(context.Context) error { close(began); <-end; return nil }
				go func() { _, _ = p.Connect(t.Context()) }()
				<-began
				time.Sleep(time.Minute)
				if _, err := p.Connect(t.Context()); !errors.Is(err, refusal) || s.asked.Load() != 2 {
					t.Errorf("%v after %d", err, s.asked.Load())
				}
				close(end)
				synctest.Wait()
				s.answer = func(context.Context) error { return nil }
				for range 100 {
					if _, err := p.Connect(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if s.asked.Load() != 102 {
					t.Errorf("it was asked %d times", s.asked.Load())
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
		p := newProbing(s)
		for range 3 {
			if _, err := p.Connect(t.Context()); !errors.Is(err, answer) {
				t.Error(err)
			}
		}
		if s.asked.Load() != 3 {
			t.Errorf("after %v it is not asked again", answer)
		}
	}
}

func TestFewConnectionsAreMadeAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		making, most := 0, 0
		change := func(by int) {
			mu.Lock()
			defer mu.Unlock()
			making += by
			most = max(most, making)
		}
		s := &server{answer: func(context.Context) error {
			change(1)
			defer change(-1)
			time.Sleep(time.Second)
			return nil
		}}
		p := newProbing(s)
		var connecting sync.WaitGroup
		for range 3 * dialsAtOnce {
			connecting.Go(func() {
				if _, err := p.Connect(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		hurried, stop := context.WithTimeout(t.Context(), time.Millisecond)
		defer stop()
		if _, err := p.Connect(hurried); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("who does not want to wait is told %v", err)
		}
		connecting.Wait()
		if most != dialsAtOnce {
			t.Errorf("%d were made at once", most)
		}
	})
}
