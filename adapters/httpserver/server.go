// Package httpserver serves HTTP to clients that may be slow, many or hostile: with bounds
// for connections and headers, draining, and an orderly stop.
package httpserver

import (
	"context"
	"errors"
	"fmt"
	stdlog "log"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/rs/zerolog"
)

// maxHeader is the greatest size of a request's line and headers, in bytes. The
// server answers 431 to more.
const maxHeader = 32 << 10

// Server serves a handler until the gateway stops.
type Server struct {
	Log            zerolog.Logger
	Handler        http.Handler
	MaxConnections int

	// Bounds of a connection, against clients that are slow on purpose.
	HeaderTimeout, BodyTimeout, AnswerTimeout, IdleTimeout time.Duration

	DrainDelay      time.Duration // how long to serve on after ctx ends
	ShutdownTimeout time.Duration // how long running requests may take after that
	Draining        *Draining     // starts when ctx ends

	EndStreams context.CancelFunc // ends answers that would last for hours
}

// Serve answers requests until ctx ends. Then /readyz is 503 and every answer closes its
// connection, while requests are served for the drain delay: balancers need the time to
// notice. After that new connections are refused and running requests finish.
func (s Server) Serve(ctx context.Context, listener net.Listener) error {
	return s.serve(ctx, newConnections(listener, s.MaxConnections, s.Log))
}

func (s Server) serve(ctx context.Context, listener *connections) error {
	server := &http.Server{
		Handler:           s.Draining.closeConnections(s.Handler),
		ErrorLog:          errorLog(s.Log),
		ReadHeaderTimeout: s.HeaderTimeout,
		ReadTimeout:       s.BodyTimeout,
		WriteTimeout:      s.AnswerTimeout,
		IdleTimeout:       s.IdleTimeout,
		MaxHeaderBytes:    maxHeader,
		ConnState:         noteState,

		DisableGeneralOptionsHandler: true, // OPTIONS * is answered like everything else
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	s.Draining.start()
	if s.DrainDelay > 0 {
		s.Log.Info().Dur("drainMs", s.DrainDelay).Msg("not ready any more; serving on while balancers take notice")
		select {
		case err := <-failed:
			return fmt.Errorf("serve: %w", err)
		case <-time.After(s.DrainDelay):
		}
	}
	s.Log.Info().Msg("finishing the requests that run")
	s.EndStreams()
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.ShutdownTimeout)
	defer cancel()
	if err := server.Shutdown(ending); err != nil {
		return errors.Join(fmt.Errorf("some requests did not finish within %s: %w", s.ShutdownTimeout, err), server.Close())
	}
	return nil
}

// errorLog logs what net/http reports as warnings.
func errorLog(log zerolog.Logger) *stdlog.Logger { return stdlog.New(warnings{log}, "", 0) }

type warnings struct{ log zerolog.Logger }

// Write logs one text.
func (w warnings) Write(p []byte) (int, error) {
	w.log.Warn().Msg(strings.TrimSpace(string(p)))
	return len(p), nil
}
