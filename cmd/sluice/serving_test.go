package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pressly/goose/v3/lock"
	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/domain"
)

// patient serves without any bound that a test could run into.
func patient(handler http.Handler, grace time.Duration) serving {
	return serving{log: zerolog.Nop(), handler: handler, connections: 1000, grace: grace, going: new(going), endStreams: func() {}}
}

func TestStoppingFinishesWhatRuns(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	inside, finish := make(chan struct{}), make(chan struct{})
	slow := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(inside)
		<-finish
		w.WriteHeader(http.StatusTeapot)
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- patient(slow, time.Minute).until(ctx, listener) }()
	answered := make(chan int, 1)
	go func() {
		answer, err := http.Get("http://" + listener.Addr().String())
		if err != nil {
			t.Error(err)
			answered <- 0
			return
		}
		_ = answer.Body.Close()
		answered <- answer.StatusCode
	}()
	<-inside
	stop()
	for { // new connections are refused while the request still runs
		c, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			break
		}
		_ = c.Close()
	}
	close(finish)
	if status, err := <-answered, <-ended; status != http.StatusTeapot || err != nil {
		t.Errorf("the request got %d and serving ended with %v", status, err)
	}
}

func TestARequestThatDoesNotFinishInTimeIsReported(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	inside := make(chan struct{})
	stuck := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(inside)
		<-r.Context().Done()
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- patient(stuck, time.Millisecond).until(ctx, listener) }()
	go func() {
		if answer, err := http.Get("http://" + listener.Addr().String()); err == nil {
			_ = answer.Body.Close()
		}
	}()
	<-inside
	stop()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "did not finish within 1ms") {
		t.Errorf("serving ended with %v", err)
	}
}

func TestWhileItDrainsTheGatewayIsNotReadyAndServesOn(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	leaving := new(going)
	ready := leaving.unlessGoing(func(context.Context) error { return nil })
	s := patient(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := ready(r.Context()); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}), time.Minute)
	s.going, s.drain = leaving, time.Hour
	ctx, stop := context.WithCancel(t.Context())
	c, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewReader(c)
	ask := func() (status int, closing bool) {
		t.Helper()
		if _, err := c.Write([]byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		answer, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		return answer.StatusCode, answer.Close
	}
	go func() { _ = s.until(ctx, listener) }() // ends with the test's process: it drains for an hour
	if status, closing := ask(); status != http.StatusOK || closing {
		t.Errorf("before: %d, closing %t", status, closing)
	}
	stop()
	for !leaving.away.Load() { // until the server has seen it
		time.Sleep(time.Millisecond)
	}
	if status, closing := ask(); status != http.StatusServiceUnavailable || !closing {
		t.Errorf("on the connection that was open: %d, closing %t", status, closing)
	}
	if _, err := answers.ReadByte(); err == nil {
		t.Error("the connection stays open after its last answer")
	}
	again, err := http.Get("http://" + listener.Addr().String())
	if err != nil {
		t.Fatalf("a new connection is refused while draining: %v", err)
	}
	_ = again.Body.Close()
	if again.StatusCode != http.StatusServiceUnavailable || !again.Close {
		t.Errorf("on a new connection: %d, closing %t", again.StatusCode, again.Close)
	}
}

func TestReadinessFollowsTheDatabaseUntilTheGatewayIsGoing(t *testing.T) {
	broken := errors.New("no database")
	state := broken
	leaving := new(going)
	ready := leaving.unlessGoing(func(context.Context) error { return state })
	if err := ready(t.Context()); !errors.Is(err, broken) {
		t.Errorf("without a database: %v", err)
	}
	state = nil
	if err := ready(t.Context()); err != nil {
		t.Errorf("with one: %v", err)
	}
	leaving.set()
	if err := ready(t.Context()); !errors.Is(err, domain.Unavailable) || !strings.Contains(err.Error(), "stopping") {
		t.Errorf("when going: %v", err)
	}
	late := new(going)
	ready = late.unlessGoing(func(context.Context) error { late.set(); return nil })
	if err := ready(t.Context()); !errors.Is(err, domain.Unavailable) {
		t.Errorf("going while the database was asked: %v", err)
	}
}

func TestADatabaseThatHangsMakesTheGatewayNotReadyInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		thawed := make(chan struct{})
		ask := ready(func(context.Context) error { // as the driver, it does not look at the context
			asked.Add(1)
			<-thawed
			return nil
		})
		began := time.Now()
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				for range 3 {
					if err := ask(t.Context()); !errors.Is(err, domain.Unavailable) || !strings.Contains(err.Error(), "not_ready") {
						t.Errorf("while it hangs: %v", err)
					}
				}
			})
		}
		all.Wait()
		if took := time.Since(began); took > 3*readyWithin {
			t.Errorf("three answers took %s", took)
		}
		if n := asked.Load(); n != 3 {
			t.Errorf("the database was asked %d times, not by five at once each time", n)
		}
		close(thawed)
		synctest.Wait()
		if err := ask(t.Context()); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

func TestAGatewayStaysReadyWhileAnotherOneMigrates(t *testing.T) {
	b := newBinary(t, postgresURL(t))
	s := b.start("serve")
	address, _ := strings.CutPrefix(b.environ[0], "SLUICE_DATABASE_URL=")
	db, err := sql.Open("postgres", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1) // the lock belongs to a connection
	if _, err := db.ExecContext(t.Context(), `SELECT pg_advisory_lock($1)`, lock.DefaultLockID); err != nil {
		t.Fatal(err)
	}
	if status, body := s.request(t, http.MethodGet, "/readyz", "", ""); status != http.StatusOK {
		t.Errorf("not ready: %d %s", status, body)
	}
}

func TestMistakesInTheBoundsOfConnectionsAreNamed(t *testing.T) {
	b := newBinary(t, sqliteURL(t))
	b.environ = append(b.environ, "SLUICE_MAX_CONNECTIONS=0", "SLUICE_HEADER_TIMEOUT=0s", "SLUICE_BODY_TIMEOUT=-1s",
		"SLUICE_ANSWER_TIMEOUT=0s", "SLUICE_IDLE_TIMEOUT=0s", "SLUICE_DRAIN_DELAY=-1s")
	code, _, stderr := b.run("serve")
	for _, name := range []string{"MAX_CONNECTIONS must be", "HEADER_TIMEOUT must", "BODY_TIMEOUT must", "ANSWER_TIMEOUT must", "IDLE_TIMEOUT must", "DRAIN_DELAY must"} {
		if code != exitUsage || !strings.Contains(stderr, "SLUICE_"+name) {
			t.Errorf("SLUICE_%s… is not said: %d, %s", name, code, stderr)
		}
	}
}
