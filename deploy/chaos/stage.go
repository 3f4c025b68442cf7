package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// stage is everything that takes part in a round.
type stage struct {
	options
	began    time.Time
	dir      string
	database *database
	gateways []*gateway
	clients  *clients
	receiver *receiver
	listener *listener
	server   *http.Server
	callsTo  string // URL of the receiver and the listener
	shapes   []*shape
	lodgers  []*lodger
	found    *findings
	random   *dice // of what clients do
	books    *disturbances

	inFlight chan struct{} // bounds the calls that are not acknowledged yet
	accepted atomic.Int64

	keeping   sync.WaitGroup
	stopKeep  context.CancelFunc
	schedules *rewinder
}

// mostInFlight is how many clients wait for an acknowledgement at the same time.
const mostInFlight = 48

// setStage starts everything, with a workflow of each shape for every tenant.
func setStage(ctx context.Context, o options) (s *stage, err error) {
	s = &stage{options: o, began: time.Now(), found: newFindings(), random: newDice(o.seed), books: &disturbances{frozen: make(map[string][]span)}, inFlight: make(chan struct{}, mostInFlight)}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.dir, err = s.folder(); err != nil {
		return nil, err
	}
	binary := o.binary
	if binary == "" {
		s.tell("building the gateway")
		if binary, err = build(ctx, s.dir); err != nil {
			return nil, err
		}
	}
	if s.database, err = startDatabase(ctx); err != nil {
		return nil, err
	}
	others := newDice(o.seed + 1)
	s.receiver, s.listener = newReceiver(others, s.found), newListener(others, s.found)
	if err = s.serve(nil); err != nil {
		return nil, err
	}
	s.shapes = shapes(s.callsTo + "/calls")
	if err = s.startGateways(ctx, binary); err != nil {
		return nil, err
	}
	s.clients = newClients(s.gateways, s.found, newDice(o.seed+2))
	for i := range o.tenants {
		t, err := s.newLodger(ctx, fmt.Sprintf("t%d", i))
		if err != nil {
			return nil, err
		}
		s.lodgers = append(s.lodgers, t)
	}
	s.schedules = newRewinder(s.lodgers)
	return s, nil
}

// folder makes the one for the binary and the logs.
func (s *stage) folder() (string, error) {
	if s.keep != "" {
		return s.keep, os.MkdirAll(s.keep, 0o755)
	}
	return os.MkdirTemp("", "sluice-chaos-")
}

// serve starts the receiver and the listener, on one address, and what a hostile tenant's
// workflows call, if there is one.
func (s *stage) serve(hostile http.Handler) error {
	mux := http.NewServeMux()
	mux.Handle("/calls/", s.receiver)
	mux.Handle("/events/", s.listener)
	if hostile != nil {
		mux.Handle("/hostile/", http.StripPrefix("/hostile", hostile))
	}
	s.server = &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	at, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed with the server
	if err != nil {
		return err
	}
	s.callsTo = "http://" + at.Addr().String()
	go func() { _ = s.server.Serve(at) }() // it ends when the round does
	return nil
}

func (s *stage) startGateways(ctx context.Context, binary string) error {
	for i := range s.processes {
		g, err := newGateway(fmt.Sprintf("g%d", i), binary, s.database.url, s.dir)
		if err != nil {
			return err
		}
		if i == 0 {
			if _, err := g.command(ctx, "migrate", "up"); err != nil {
				return err
			}
		}
		if err := g.start(); err != nil {
			return err
		}
		s.gateways = append(s.gateways, g)
	}
	starting, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for _, g := range s.gateways {
		if _, ended := g.process(); !g.awaitReady(starting, ended) {
			return fmt.Errorf("%s did not start: %s", g.name, g.lastWords())
		}
	}
	keeping, stop := context.WithCancel(ctx)
	s.stopKeep = stop
	for _, g := range s.gateways {
		s.keeping.Go(func() { g.keepUp(keeping, s.found) })
	}
	return nil
}

// close stops what was started.
func (s *stage) close() {
	if s.stopKeep != nil {
		s.stopKeep()
	}
	for _, g := range s.gateways {
		g.stop()
	}
	s.keeping.Wait()
	if s.server != nil {
		_ = s.server.Close() // nobody calls any more
	}
	if s.database != nil {
		s.database.stop()
	}
	if s.keep == "" && s.dir != "" {
		_ = os.RemoveAll(s.dir) // rubbish in a folder for temporary files
	}
}

// tell shows progress.
func (s *stage) tell(format string, args ...any) {
	args = append([]any{time.Since(s.began).Truncate(time.Second)}, args...)
	_, _ = fmt.Fprintf(s.progress, "chaos: %s: "+format+"\n", args...) // progress only
}
