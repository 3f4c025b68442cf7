package main

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
)

// door is a server with few places.
type door struct {
	*testing.T
	address string
	log     *output
	bounded *connections
	inside  chan struct{} // tells of each request for /hold that arrived
	hold    chan struct{} // lets them be answered
}

func newDoor(t *testing.T, places int) door {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := door{
		T: t, address: listener.Addr().String(), log: newOutput(),
		inside: make(chan struct{}, places), hold: make(chan struct{}),
	}
	s := patient(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hold" {
			d.inside <- struct{}{}
			<-d.hold
		}
	}), time.Minute)
	d.bounded = newConnections(listener, places, zerolog.New(d.log))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.within(ctx, d.bounded) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return d
}

// visitor is one connection.
type visitor struct {
	net.Conn
	answers *bufio.Reader
}

func (d door) visit() visitor {
	d.Helper()
	c, err := net.Dial("tcp", d.address)
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		d.Fatal(err)
	}
	return visitor{c, bufio.NewReader(c)}
}

func (v visitor) send(path string) error {
	_, err := io.WriteString(v, "GET "+path+" HTTP/1.1\r\nHost: a\r\n\r\n")
	return err
}

// served says whether a request on the connection is answered.
func (v visitor) served(path string) bool {
	if v.send(path) != nil {
		return false
	}
	return v.answered()
}

func (v visitor) answered() bool {
	answer, err := http.ReadResponse(v.answers, nil)
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// settle waits until every connection that is open waits for a request: a client has its
// answer a moment before the server is done with it.
func (d door) settle() {
	d.Helper()
	atWork := func() bool {
		d.bounded.mu.Lock()
		defer d.bounded.mu.Unlock()
		for c := range d.bounded.open {
			if c.waits.Load() == 0 {
				return true
			}
		}
		return false
	}
	for began := time.Now(); atWork(); runtime.Gosched() {
		if time.Since(began) > time.Minute {
			d.Fatal("a connection that was answered is at work for ever")
		}
	}
}

func TestConnectionsThatWaitMakeRoomTheLongestFirst(t *testing.T) {
	d := newDoor(t, 4)
	var inside []visitor
	for range 4 {
		v := d.visit()
		if !v.served("/") {
			t.Fatal("there is a place, but no answer")
		}
		d.settle()
		inside = append(inside, v)
	}
	if !inside[0].served("/") { // now the second has waited longest
		t.Fatal("a connection that is kept alive is not served")
	}
	d.settle()
	if !d.visit().served("/") {
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
	d := newDoor(t, 2)
	silent, other := d.visit(), d.visit()
	if !d.visit().served("/") {
		t.Error("the newcomer is not served")
	}
	if silent.served("/") && other.served("/") {
		t.Error("three connections share two places")
	}
}

func TestWhereAllAreAtWorkTheNewcomerIsClosedAtOnceAndThoseInsideAreServed(t *testing.T) {
	d := newDoor(t, 2)
	busy := []visitor{d.visit(), d.visit()}
	for _, v := range busy {
		if err := v.send("/hold"); err != nil {
			t.Fatal(err)
		}
		<-d.inside // until a request has arrived, its connection waits and makes room
	}
	refused := func() bool {
		v := d.visit()
		_, err := v.answers.ReadByte()
		return err != nil
	}
	for range 10 {
		if !refused() {
			t.Error("the newcomer got an answer")
		}
	}
	close(d.hold)
	kept := 0
	for _, v := range busy {
		if v.answered() {
			kept++
		}
	}
	if kept != len(busy) {
		t.Errorf("%d of %d requests were answered", kept, len(busy))
	}
	if log := d.log.String(); strings.Count(log, "SLUICE_MAX_CONNECTIONS") != 1 {
		t.Errorf("refusals are told once in a while, but the log says %s", log)
	}
	d.settle()
	if !d.visit().served("/") {
		t.Error("there is room again, but no answer")
	}
}

func TestPlacesAreGivenBack(t *testing.T) {
	d := newDoor(t, 3)
	for range 30 {
		v := d.visit()
		if !v.served("/") {
			t.Fatal("not served")
		}
		d.settle()
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheSystemsLimitOfOpenFilesBoundsTheConnections(t *testing.T) {
	cfg := config{MaxConnections: 5000, DatabasePool: 16}
	for files, want := range map[int]int{100_000: 5000, 1024: 1024 - reservedFiles - 16, reservedFiles + 17: 1} {
		if got, err := cfg.placesFor(files); err != nil || got != want {
			t.Errorf("with %d files: %d connections, %v; want %d", files, got, err, want)
		}
	}
	if _, err := cfg.placesFor(reservedFiles + 16); err == nil || !strings.Contains(err.Error(), "LimitNOFILE") {
		t.Errorf("without a file to spare: %v", err)
	}
}
