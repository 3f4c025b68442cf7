package httpserver

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/sluicehq/sluice/domain"
)

// Draining says whether the gateway is about to stop. The zero value does not.
type Draining struct{ started atomic.Bool }

func (d *Draining) start() { d.started.Store(true) }

// Unless makes a gateway that drains not ready, whatever else it is.
func (d *Draining) Unless(ready func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := d.err(); err != nil {
			return err
		}
		if err := ready(ctx); err != nil {
			return err
		}
		return d.err() // draining may have started meanwhile
	}
}

func (d *Draining) err() error {
	if !d.started.Load() {
		return nil
	}
	e := domain.Fail(domain.Unavailable, "stopping", "This gateway is about to stop and takes no new work.")
	e.RetryAfter = time.Second
	return e
}

// closeConnections closes each connection after its next answer once the gateway drains,
// and says so in the answer: a client cannot safely repeat what it sends into a connection
// that is being closed.
//
// It also closes a connection on which a body came in chunks: if the request stated a
// length as well, which the server hides, then a proxy in front may have seen another end
// of the body (RFC 9112, section 6.1).
func (d *Draining) closeConnections(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d.started.Load() || len(r.TransferEncoding) > 0 {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}
