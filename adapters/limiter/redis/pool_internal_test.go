package redis

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	redigo "github.com/gomodule/redigo/redis"
	"go.uber.org/goleak"
)

// patience is for what must not take long but may on a busy machine.
const patience = 30 * time.Second

// scripted is a server that does with each connection what a test says.
type scripted struct {
	endpoint
	accepted atomic.Int64
}

func serve(t *testing.T, talk func(net.Conn, *bufio.Reader)) *scripted {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &scripted{endpoint: endpoint{network: "tcp", address: listener.Addr().String()}}
	var talks sync.WaitGroup
	talks.Go(func() {
		for {
			socket, err := listener.Accept()
			if err != nil {
				return
			}
			s.accepted.Add(1)
			talks.Go(func() {
				defer func() { _ = socket.Close() }()
				talk(socket, bufio.NewReader(socket))
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		talks.Wait()
	})
	return s
}

// pooled is a pool that ends with the test.
func pooled(t *testing.T, size int, dial func(context.Context) (*conn, error)) *pool {
	t.Helper()
	p := newPool(size, dial)
	t.Cleanup(func() {
		if err := p.close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return p
}

// connected is a pool that has a connection.
func connected(t *testing.T, size int, dial func(context.Context) (*conn, error)) *pool {
	t.Helper()
	p := pooled(t, size, dial)
	if err := p.use(t.Context(), patience, func(redigo.Conn) error { return nil }); err != nil {
		t.Fatal(err)
	}
	return p
}

// pinged reads PING commands, as the client library writes them, and has each answered.
func pinged(answer func(net.Conn) error) func(net.Conn, *bufio.Reader) {
	return func(socket net.Conn, in *bufio.Reader) {
		command := make([]byte, len("*1\r\n$4\r\nPING\r\n"))
		for {
			if _, err := io.ReadFull(in, command); err != nil {
				return
			}
			if err := answer(socket); err != nil {
				return
			}
		}
	}
}

func pong(socket net.Conn) error {
	_, err := socket.Write([]byte("+PONG\r\n"))
	return err
}

func mute(net.Conn) error { return nil }

func ping(c redigo.Conn) error {
	_, err := c.Do("PING")
	return err
}

// sizes are how many connections there are, and how many of them nobody uses.
func (p *pool) sizes() [2]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return [2]int{len(p.conns), len(p.idle)}
}

func TestAConnectionIsUsedAgain(t *testing.T) {
	s := serve(t, pinged(pong))
	p := pooled(t, 3, s.dial)
	for range 20 {
		if err := p.use(t.Context(), patience, ping); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.accepted.Load(); n != 1 || p.sizes() != [2]int{1, 1} {
		t.Errorf("%d connections, kept are %v", n, p.sizes())
	}
}

func TestAConnectionThatIsNotAsItWasIsReplacedBeforeItIsUsed(t *testing.T) {
	for claim, after := range map[string]func(net.Conn) error{
		"it has ended":                       func(net.Conn) error { return io.EOF },
		"an answer to nothing has come":      pong,
		"it has ended with a word of thanks": func(c net.Conn) error { return errors.Join(pong(c), io.EOF) },
	} {
		t.Run(claim, func(t *testing.T) {
			proceed := make(chan struct{})
			s := serve(t, pinged(func(c net.Conn) error {
				if err := pong(c); err != nil {
					return err
				}
				<-proceed // the first answer has been read
				return after(c)
			}))
			p := pooled(t, 3, s.dial)
			for range 5 {
				if err := p.use(t.Context(), patience, ping); err != nil {
					t.Fatal(err)
				}
				proceed <- struct{}{}
				for p.idle[0].quiet() {
					runtime.Gosched() // until it is here
				}
			}
			if n := s.accepted.Load(); n != 5 || p.sizes() != [2]int{1, 1} {
				t.Errorf("%d connections, kept are %v", n, p.sizes())
			}
		})
	}
}

func TestWhatWasSentIsNotSentAgainAndItsConnectionNotUsedAgain(t *testing.T) {
	for claim, answer := range map[string]func(net.Conn) error{
		"the server hangs up":        func(net.Conn) error { return io.EOF },
		"the server does not answer": mute,
		"the answer is no answer":    func(c net.Conn) error { _, err := c.Write([]byte("what?\r\n")); return err },
		"the server refuses": func(c net.Conn) error {
			_, err := c.Write([]byte("-READONLY You can't write against a read only replica.\r\n"))
			return err
		},
	} {
		t.Run(claim, func(t *testing.T) {
			var received atomic.Int64
			s := serve(t, pinged(func(c net.Conn) error { received.Add(1); return answer(c) }))
			p := connected(t, 3, s.dial)
			if err := p.use(t.Context(), 200*time.Millisecond, ping); err == nil {
				t.Error("no error")
			}
			for received.Load() == 0 {
				runtime.Gosched() // the server may be slow
			}
			if n := received.Load(); n != 1 || p.sizes() != [2]int{} {
				t.Errorf("sent %d times, kept are %v", n, p.sizes())
			}
		})
	}
}

func TestTheDeadlineOfAContextEndsARequest(t *testing.T) {
	p := connected(t, 1, serve(t, pinged(mute)).dial)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := p.use(ctx, time.Hour, ping); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the error is %v", err)
	}
	if err := p.use(ctx, time.Hour, ping); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("when it has passed the error is %v", err)
	}
}

func TestThereAreNoMoreConnectionsThanThePoolsSize(t *testing.T) {
	s := serve(t, pinged(pong))
	p := pooled(t, 2, s.dial)
	var now, most atomic.Int64
	var done sync.WaitGroup
	for range 16 {
		done.Go(func() {
			for range 20 {
				if err := p.use(t.Context(), patience, func(c redigo.Conn) error {
					most.Store(max(most.Load(), now.Add(1)))
					defer now.Add(-1)
					return ping(c)
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done.Wait()
	if most.Load() > 2 || s.accepted.Load() > 2 || p.waiting.Len() != 0 {
		t.Errorf("%d were used at the same time, %d made; %d wait", most.Load(), s.accepted.Load(), p.waiting.Len())
	}
}

func TestAConnectionThatComesTooLateServesAnotherRequest(t *testing.T) {
	s := serve(t, pinged(pong))
	ready := make(chan struct{})
	var dials atomic.Int64
	p := pooled(t, 3, func(ctx context.Context) (*conn, error) {
		dials.Add(1)
		<-ready
		return s.dial(ctx)
	})
	for range 3 {
		if err := p.use(t.Context(), time.Millisecond, ping); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v", err)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	if err := p.use(cancelled, patience, ping); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if p.waiting.Len() != 0 {
		t.Errorf("%d requests still wait", p.waiting.Len())
	}
	close(ready)
	if err := p.use(t.Context(), patience, ping); err != nil || dials.Load() != 1 {
		t.Errorf("%d connections were made, %v", dials.Load(), err)
	}
}

func TestAServerThatIsAbsentKeepsNobodyWaiting(t *testing.T) {
	const waiting = 10
	absent := errors.New("absent")
	var p *pool
	p = pooled(t, 2, func(context.Context) (*conn, error) {
		for {
			p.mu.Lock()
			n := p.waiting.Len()
			p.mu.Unlock()
			if n == 0 || n == waiting {
				return nil, absent
			}
			runtime.Gosched()
		}
	})
	errs := make(chan error, waiting)
	for range waiting {
		go func() { errs <- p.use(t.Context(), patience, ping) }()
	}
	for range waiting {
		if err := <-errs; !errors.Is(err, absent) {
			t.Errorf("the error is %v", err)
		}
	}
}

func TestARequestThatWaitedForABrokenConnectionGetsANewOne(t *testing.T) {
	s := serve(t, pinged(pong))
	p := pooled(t, 1, s.dial)
	broken := errors.New("broken")
	served := make(chan error, 1)
	if err := p.use(t.Context(), patience, func(redigo.Conn) error {
		go func() { served <- p.use(t.Context(), patience, ping) }()
		for waiting := 0; waiting == 0; runtime.Gosched() {
			p.mu.Lock()
			waiting = p.waiting.Len()
			p.mu.Unlock()
		}
		return broken
	}); !errors.Is(err, broken) {
		t.Errorf("the error is %v", err)
	}
	if err := <-served; err != nil || s.accepted.Load() != 2 {
		t.Errorf("%d connections were made, %v", s.accepted.Load(), err)
	}
}

func TestConnectionsThatNobodyNeedsAreClosed(t *testing.T) {
	s := serve(t, pinged(pong))
	p := pooled(t, 2, s.dial)
	if err := p.use(t.Context(), patience, func(redigo.Conn) error { return p.use(t.Context(), patience, ping) }); err != nil {
		t.Fatal(err)
	}
	if p.sizes() != [2]int{2, 2} {
		t.Fatalf("kept are %v", p.sizes())
	}
	p.idle[0].since = p.idle[0].since.Add(-maxIdle - time.Minute)
	if err := p.use(t.Context(), patience, ping); err != nil || p.sizes() != [2]int{1, 1} {
		t.Errorf("kept are %v, %v", p.sizes(), err)
	}
}

func TestClosingInterruptsWhatIsUnderWay(t *testing.T) {
	received := make(chan struct{}, 1)
	s := serve(t, pinged(func(net.Conn) error { received <- struct{}{}; return nil }))
	before := goleak.IgnoreCurrent()
	first := true
	p := newPool(2, func(ctx context.Context) (*conn, error) {
		if first {
			first = false
			return s.dial(ctx)
		}
		// A server that takes the password and is silent.
		silent := s.endpoint
		silent.password = "x"
		return silent.dial(ctx)
	})
	errs := make(chan error, 2)
	go func() { errs <- p.use(t.Context(), time.Hour, ping) }()
	<-received
	go func() { errs <- p.use(t.Context(), time.Hour, ping) }()
	<-received // the password
	if err := errors.Join(p.close(), p.close()); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := <-errs; err == nil {
			t.Error("no error")
		}
	}
	if err := p.use(t.Context(), time.Hour, ping); !errors.Is(err, errClosed) || p.sizes() != [2]int{} {
		t.Errorf("kept are %v, %v", p.sizes(), err)
	}
	goleak.VerifyNone(t, before, goleak.IgnoreAnyFunction("github.com/sluicehq/sluice/adapters/limiter/redis.pinged.func1"))
}
