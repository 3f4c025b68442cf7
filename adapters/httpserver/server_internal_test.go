package httpserver

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/domain"
)

// unbounded serves without any bound that a test could run into.
func unbounded(handler http.Handler, shutdown time.Duration) Server {
	return Server{Log: zerolog.Nop(), Handler: handler, MaxConnections: 1000, ShutdownTimeout: shutdown, Draining: new(Draining), EndStreams: func() {}}
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
	go func() { ended <- unbounded(slow, time.Minute).Serve(ctx, listener) }()
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
	go func() { ended <- unbounded(stuck, time.Millisecond).Serve(ctx, listener) }()
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
	draining := new(Draining)
	ready := draining.Unless(func(context.Context) error { return nil })
	s := unbounded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := ready(r.Context()); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}), time.Minute)
	s.Draining, s.DrainDelay = draining, time.Hour
	ctx, stop := context.WithCancel(t.Context())
	c, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
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
	go func() { _ = s.Serve(ctx, listener) }() // ends with the test's process: it drains for an hour
	if status, closing := ask(); status != http.StatusOK || closing {
		t.Errorf("before: %d, closing %t", status, closing)
	}
	stop()
	for !draining.started.Load() { // until the server has seen it
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

func TestReadinessFollowsTheDatabaseUntilTheGatewayDrains(t *testing.T) {
	broken := errors.New("no database")
	state := broken
	draining := new(Draining)
	ready := draining.Unless(func(context.Context) error { return state })
	if err := ready(t.Context()); !errors.Is(err, broken) {
		t.Errorf("without a database: %v", err)
	}
	state = nil
	if err := ready(t.Context()); err != nil {
		t.Errorf("with one: %v", err)
	}
	draining.start()
	if err := ready(t.Context()); !errors.Is(err, domain.Unavailable) || !strings.Contains(err.Error(), "stopping") {
		t.Errorf("while draining: %v", err)
	}
	late := new(Draining)
	ready = late.Unless(func(context.Context) error { late.start(); return nil })
	if err := ready(t.Context()); !errors.Is(err, domain.Unavailable) {
		t.Errorf("draining while the database was asked: %v", err)
	}
}

func TestWhatNetHTTPReportsIsLoggedAsAWarning(t *testing.T) {
	var out strings.Builder
	errorLog(zerolog.New(&out)).Printf("http: panic serving %s", "127.0.0.1")
	if got := out.String(); got != `{"level":"warn","message":"http: panic serving 127.0.0.1"}`+"\n" {
		t.Errorf("logged %s", got)
	}
}
