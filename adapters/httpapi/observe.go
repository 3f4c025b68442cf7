package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/domain/tenant"
)

// Observer measures or traces every request. Many goroutines call it, so it must be quick.
type Observer interface {
	// Begin is called before a request is handled, with the template of its route,
	// which is empty for a path that no route fits. What it returns, derived from the
	// request's context, is the request's context from then on.
	Begin(r *http.Request, route string) context.Context

	// End is called once for every Begin when the request is done, also one whose
	// connection was cut, with the context that Begin returned or one derived from it.
	End(ctx context.Context, o Observation)
}

// Observation is what is known of a request that is done. It holds nothing secret
// and nothing that the client wrote, except the method.
type Observation struct {
	Method    string
	Route     string // as Begin got it
	Status    int
	Bytes     int           // of the answer's body
	Took      time.Duration // of a stream, until it began
	RequestID string

	// Tenant and KeyType are those of the key; empty where it was not recognized. What the
	// operator asks for has no KeyType, and the Tenant that it is about.
	Tenant  tenant.ID
	KeyType tenant.KeyType

	// Code is that of the error that was answered; empty where there was none.
	Code string
}

// begin informs the observers.
func (a *API) begin(c *gin.Context) {
	for _, o := range a.opts.Observers {
		if ctx := o.Begin(c.Request, c.FullPath()); ctx != c.Request.Context() {
			c.Request = c.Request.WithContext(ctx)
		}
	}
}

// end informs them, the last one first.
func (a *API) end(c *gin.Context, state *exchange.State, took time.Duration) {
	if len(a.opts.Observers) == 0 {
		return
	}
	seen := Observation{
		Method: c.Request.Method, Route: c.FullPath(), Status: c.Writer.Status(), Bytes: max(c.Writer.Size(), 0), Took: took,
		RequestID: state.RequestID, Tenant: state.Caller.Tenant(), KeyType: state.Caller.KeyType, Code: state.Code,
	}
	for i := len(a.opts.Observers) - 1; i >= 0; i-- {
		a.opts.Observers[i].End(c.Request.Context(), seen)
	}
}
