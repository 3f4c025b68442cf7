package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/domain"
)

// maxHeader is the greatest size of a request's line and headers, in bytes. The
// server answers 431 to more.
const maxHeader = 32 << 10

// serving answers requests until the gateway stops.
type serving struct {
	log         zerolog.Logger
	handler     http.Handler
	connections int // the most that are kept open

	// Bounds of a connection, against clients that are slow on purpose.
	header, body, answer, idle time.Duration

	drain time.Duration // how long it goes on after it is told to stop
	grace time.Duration // how long running requests may take after that
	going *going

	endStreams context.CancelFunc // ends answers that would last for hours
}

// newServing reads the bounds from the configuration.
func newServing(log zerolog.Logger, cfg config, handler http.Handler, leaving *going, endStreams context.CancelFunc) (serving, error) {
	most, err := cfg.places(log)
	return serving{
		log: log, handler: handler, connections: most,
		header: cfg.HeaderTimeout, body: cfg.BodyTimeout, answer: cfg.AnswerTimeout, idle: cfg.IdleTimeout,
		drain: cfg.DrainDelay, grace: cfg.ShutdownTimeout, going: leaving, endStreams: endStreams,
	}, err
}

// until answers requests until ctx ends. Then /readyz says that the gateway is going,
// and every answer asks the client to close its connection, while requests are served
// for the drain delay: that is the time balancers have to notice. After it, new
// connections are refused and the requests that run are finished.
func (s serving) until(ctx context.Context, listener net.Listener) error {
	return s.within(ctx, newConnections(listener, s.connections, s.log))
}

// within is until for a listener that is bounded.
func (s serving) within(ctx context.Context, listener *connections) error {
	server := &http.Server{
		Handler:           s.going.announced(s.handler),
		ErrorLog:          standardLog(s.log),
		ReadHeaderTimeout: s.header,
		ReadTimeout:       s.body,
		WriteTimeout:      s.answer,
		IdleTimeout:       s.idle,
		MaxHeaderBytes:    maxHeader,
		ConnState:         follow,

		DisableGeneralOptionsHandler: true, // OPTIONS * is answered as everything else
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	s.going.set()
	if s.drain > 0 {
		s.log.Info().Dur("drainMs", s.drain).Msg("not ready any more; serving on while balancers take notice")
		select {
		case err := <-failed:
			return fmt.Errorf("serve: %w", err)
		case <-time.After(s.drain):
		}
	}
	s.log.Info().Msg("finishing the requests that run")
	s.endStreams()
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.grace)
	defer cancel()
	if err := server.Shutdown(ending); err != nil {
		return errors.Join(fmt.Errorf("some requests did not finish within %s: %w", s.grace, err), server.Close())
	}
	return nil
}

// going tells whether the gateway is about to leave. The zero value stays.
type going struct{ away atomic.Bool }

func (g *going) set() { g.away.Store(true) }

// unlessGoing makes a gateway that is about to leave not ready, whatever else it is.
func (g *going) unlessGoing(ready func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := g.err(); err != nil {
			return err
		}
		if err := ready(ctx); err != nil {
			return err
		}
		return g.err() // that may have taken its time
	}
}

func (g *going) err() error {
	if !g.away.Load() {
		return nil
	}
	e := domain.Fail(domain.Unavailable, "stopping", "This gateway is about to stop and takes no new work.")
	e.RetryAfter = time.Second
	return e
}

// announced closes each connection after its next answer, and says so in the answer,
// once the gateway is going. A client that was told sends nothing into a connection
// that is being closed, which it could not safely send again.
//
// A connection on which a body came in chunks is closed as well: had the request stated a
// length besides, which the server does not let us see, then whatever stands in front may
// have read another end of it (RFC 9112, section 6.1).
func (g *going) announced(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.away.Load() || len(r.TransferEncoding) > 0 {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}
