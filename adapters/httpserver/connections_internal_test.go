package httpserver

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/ports/portstest"
)

// fixture is a server that keeps few connections.
type fixture struct {
	*testing.T
	address string
	log     *portstest.SafeBuffer
	bounded *connections
	inside  chan struct{} // reports each request for /hold that arrived
	hold    chan struct{} // lets them be answered
}

func newFixture(t *testing.T, places int) fixture {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := fixture{
		T: t, address: listener.Addr().String(), log: new(portstest.SafeBuffer),
		inside: make(chan struct{}, places), hold: make(chan struct{}),
	}
	s := unbounded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/hold":
			f.inside <- struct{}{}
			<-f.hold
		case "/slow":
			w.WriteHeader(http.StatusRequestTimeout)
		}
	}), time.Minute)
	f.bounded = newConnections(listener, places, zerolog.New(f.log))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.serve(ctx, f.bounded) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return f
}

// client is one connection.
type client struct {
	net.Conn
	answers *bufio.Reader
}

func (f fixture) connect() client {
	f.Helper()
	c, err := net.Dial("tcp", f.address)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		f.Fatal(err)
	}
	return client{c, bufio.NewReader(c)}
}

func (c client) send(path string) error {
	_, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: a\r\n\r\n")
	return err
}

// served says whether a request on the connection is answered.
func (c client) served(path string) bool {
	if c.send(path) != nil {
		return false
	}
	return c.answered()
}

func (c client) answered() bool {
	answer, err := http.ReadResponse(c.answers, nil)
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// settle waits until every connection that is open waits for a request: a client has its
// answer a moment before the server is done with it.
func (f fixture) settle() {
	f.Helper()
	atWork := func() bool {
		f.bounded.mu.Lock()
		defer f.bounded.mu.Unlock()
		for c := range f.bounded.open {
			if c.idleSince.Load() == 0 {
				return true
			}
		}
		return false
	}
	for began := time.Now(); atWork(); runtime.Gosched() {
		if time.Since(began) > time.Minute {
			f.Fatal("a connection that was answered is at work for ever")
		}
	}
}

func TestConnectionsThatWaitMakeRoomTheLongestFirst(t *testing.T) {
	f := newFixture(t, 4)
	var inside []client
	for range 4 {
		v := f.connect()
		if !v.served("/") {
			t.Fatal("there is a place, but no answer")
		}
		f.settle()
		inside = append(inside, v)
	}
	if !inside[0].served("/") { // now the second has waited longest
		t.Fatal("a connection that is kept alive is not served")
	}
	f.settle()
	if !f.connect().served("/") {
		t.Error("the newcomer is not served")
	}
	if inside[1].served("/") {
		t.Error("the connection that waited longest is still open")
	}
	for _, i := range []int{0, 2, 3} {
		if !inside[i].served("/") {
			t.Errorf("connection %d was closed though others had waited longer", i)
		}
	}
}

func TestAConnectionThatNeverAskedMakesRoom(t *testing.T) {
	f := newFixture(t, 2)
	silent, other := f.connect(), f.connect()
	if !f.connect().served("/") {
		t.Error("the newcomer is not served")
	}
	if silent.served("/") && other.served("/") {
		t.Error("three connections share two places")
	}
}

func TestWhereAllAreAtWorkTheNewcomerIsClosedAtOnceAndThoseInsideAreServed(t *testing.T) {
	f := newFixture(t, 2)
	busy := []client{f.connect(), f.connect()}
	for _, v := range busy {
		if err := v.send("/hold"); err != nil {
			t.Fatal(err)
		}
		<-f.inside // until a request has arrived, its connection waits and makes room
	}
	refused := func() bool {
		v := f.connect()
		_, err := v.answers.ReadByte()
		return err != nil
	}
	for range 10 {
		if !refused() {
			t.Error("the newcomer got an answer")
		}
	}
	close(f.hold)
	kept := 0
	for _, v := range busy {
		if v.answered() {
			kept++
		}
	}
	if kept != len(busy) {
		t.Errorf("%d of %d requests were answered", kept, len(busy))
	}
	if log := f.log.String(); strings.Count(log, "SLUICE_MAX_CONNECTIONS") != 1 {
		t.Errorf("refusals are told once in a while, but the log says %s", log)
	}
	f.settle()
	if !f.connect().served("/") {
		t.Error("there is room again, but no answer")
	}
}

func TestPlacesAreGivenBack(t *testing.T) {
	f := newFixture(t, 3)
	for range 30 {
		v := f.connect()
		if !v.served("/") {
			t.Fatal("not served")
		}
		f.settle()
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheSystemsLimitOfOpenFilesBoundsTheConnections(t *testing.T) {
	for files, want := range map[int]int{100_000: 5000, 1024: 1024 - reservedFiles - 16, reservedFiles + 17: 1} {
		if got, err := limitFor(files, 5000, 16); err != nil || got != want {
			t.Errorf("with %d files: %d connections, %v; want %d", files, got, err, want)
		}
	}
	if _, err := limitFor(reservedFiles+16, 5000, 16); err == nil || !strings.Contains(err.Error(), "LimitNOFILE") {
		t.Errorf("without a file to spare: %v", err)
	}
}

func TestARequestThatIsRefusedBeforeItIsReadGetsItsWholeAnswer(t *testing.T) {
	for claim, c := range map[string]struct{ head, want string }{
		"headers that are too long": {"GET / HTTP/1.1\r\nHost: a\r\nX-Long: ", "HTTP/1.1 431 "},
		"a body that nobody reads":  {"POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n\r\n", "HTTP/1.1 408 "},
	} {
		t.Run(claim, func(t *testing.T) {
			conn := newFixture(t, 2).connect()
			if _, err := io.WriteString(conn, c.head+strings.Repeat("x", 100<<10)); err != nil {
				t.Fatal(err)
			}
			answer, err := io.ReadAll(conn.answers)
			if err != nil || !strings.HasPrefix(string(answer), c.want) {
				t.Errorf("got %.100q, %v", answer, err)
			}
		})
	}
}
