// Package exchange reads requests and writes answers in the way that all operations of
// the API have in common: bodies, lists, entity tags, idempotency keys and errors.
package exchange

import (
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/adapters/httpapi/stream"
	"github.com/sluicehq/sluice/domain/tenant"
)

// Exchange is what all requests share.
type Exchange struct {
	MaxBody     int64            // greatest size of a request body in bytes
	BodyTimeout time.Duration    // how long a body may take in any case; 0 for no such bound
	Memory      *stream.Memory   // nil where no request has a body or reads a list
	Now         func() time.Time // the time shown in errors

	Address func(*gin.Context) string // of who made the request, for the audit log; nil where nothing is recorded

	inFlight sync.Map // idempotency keys whose first request this process is running
	pages    pageCache
}

// Handler answers an admitted request, or returns the error to answer with.
type Handler func(c *gin.Context, who tenant.Caller) error

// State is what is known of a request while it is handled. It is the writer of the answer,
// where handlers find it without a look-up.
type State struct {
	gin.ResponseWriter

	RequestID   string
	Caller      tenant.Caller
	Trigger     string    // that the request is about, as far as that is known; for the log only
	Run         string    // that it is about, or has started; for the log only
	Operator    string    // the name of the operator's token; for the log only
	Code        string    // of the error that was answered
	Cause       error     // for the log only
	StreamBegan time.Time // zero for an answer that is sent as a whole
	Strict      bool      // what the operation does not know is refused, whatever the client prefers

	exchange *Exchange
	intake   stream.Reservation // memory for the body and what becomes of it
	body     jsonread.Object    // empty until it is read
	query    jsonread.Query     // empty until it is parsed
	parsed   bool               // the query
	reported bool               // what of the request is ignored

	values [6]string // of headers with one value each, in one allocation
	used   int
}

// Begin makes a state the writer of the request.
func (x *Exchange) Begin(c *gin.Context, requestID string) {
	s := &State{ResponseWriter: c.Writer, RequestID: requestID, exchange: x}
	s.SetHeader(s.Header(), "X-Request-Id", requestID)
	c.Writer = s
}

// StateOf returns the state of a request.
func StateOf(c *gin.Context) *State {
	s, _ := c.Writer.(*State) // Begin made it the writer
	return s
}

// Unwrap returns the writer inside, for [http.ResponseController].
func (s *State) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// SetHeader sets a header whose name is spelled as [http.CanonicalHeaderKey] does.
func (s *State) SetHeader(h http.Header, name, value string) {
	if s.used == len(s.values) {
		h[name] = []string{value}
		return
	}
	at := s.used
	s.used++
	s.values[at] = value
	h[name] = s.values[at:s.used:s.used]
}

// Intake is what the request holds of the memory for bodies, until [State.Release].
func (s *State) Intake() *stream.Reservation {
	if !s.intake.Begun() {
		s.intake = stream.Reserve(s.exchange.Memory.Intake, s.Caller.Tenant())
	}
	return &s.intake
}

// Release gives back what the request holds. It is called when the request is answered.
func (s *State) Release() { s.intake.Release() }
