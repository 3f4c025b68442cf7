package exchange

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/domain"
)

// statuses says which status a kind of error becomes. A kind that is not here is
// 500.
var statuses = map[domain.Kind]int{
	domain.Invalid:         http.StatusBadRequest,
	domain.Unauthenticated: http.StatusUnauthorized,
	domain.Forbidden:       http.StatusForbidden,
	domain.NotFound:        http.StatusNotFound,
	domain.Conflict:        http.StatusConflict,
	domain.RateLimited:     http.StatusTooManyRequests,
	domain.Unavailable:     http.StatusServiceUnavailable,
}

// codeStatuses says which status an error becomes that has one of its own among its kind.
var codeStatuses = map[string]int{
	"precondition_failed": http.StatusPreconditionFailed,
}

// What the log shows for a client that went away; nobody reads the answer.
const (
	statusClientGone = 499
	codeClientGone   = "client_gone"
)

// TransportError is a failure that only HTTP knows.
type TransportError struct {
	Status        int
	Code, Message string
}

// Error shows the code and the message.
func (e *TransportError) Error() string { return e.Code + ": " + e.Message }

// ErrorBody is the standard error body. Each error has the first five members.
type ErrorBody struct {
	StatusCode int           `json:"statusCode"`
	Message    string        `json:"message"`
	Error      string        `json:"error"`
	Timestamp  string        `json:"timestamp"`
	Path       string        `json:"path"`
	Code       string        `json:"code"`
	RequestID  string        `json:"requestId"`
	Details    []ErrorDetail `json:"details,omitempty"`
	Warnings   []ErrorDetail `json:"warnings,omitzero"` // of a check of a version, also when there are none
	JobID      string        `json:"jobId,omitempty"`
	UsedBy     []UsedByBody  `json:"usedBy,omitempty"`
	RetryAfter *int          `json:"retryAfter,omitempty"`
}

// UsedByBody is a record that is in the way.
type UsedByBody struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
}

// ErrorDetail is one violation of the rules for a request.
type ErrorDetail struct {
	Field    string    `json:"field"`
	Message  string    `json:"message"`
	Code     string    `json:"code"`
	NodeID   string    `json:"nodeId,omitempty"`
	EdgeID   string    `json:"edgeId,omitempty"`
	Position *Position `json:"position,omitempty"`
}

// Position is where in a text something stands, from 1, columns in Unicode code points.
type Position struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

// PositionOf is nil for nowhere.
func PositionOf(line, column int) *Position {
	if line == 0 {
		return nil
	}
	return &Position{line, column}
}

// unreadTimeout is how long a refusal waits for the rest of a body that nobody reads:
// net/http wants to read it so as to keep the connection.
const unreadTimeout = time.Second

// Fail answers with an error.
func Fail(c *gin.Context, err error) {
	state := StateOf(c)
	if errors.Is(err, context.Canceled) && c.Request.Context().Err() != nil {
		state.Code = codeClientGone
		c.AbortWithStatus(statusClientGone)
		return
	}
	if c.Request.ContentLength != 0 {
		_ = http.NewResponseController(c.Writer).SetReadDeadline(time.Now().Add(unreadTimeout)) // a writer that cannot waits for longer
	}
	body := Explain(err)
	body.Timestamp = Timestamp(state.exchange.Now())
	body.Path = Redact(c.Request.URL.Path)
	body.RequestID = state.RequestID
	state.Code = body.Code
	if body.StatusCode >= http.StatusInternalServerError {
		state.Cause = err
	}
	if body.StatusCode == http.StatusConflict && body.RetryAfter == nil {
		c.Header("X-Should-Retry", "false") // generated clients repeat a 409 otherwise
	}
	if body.RetryAfter != nil {
		c.Header("Retry-After", strconv.Itoa(*body.RetryAfter))
	}
	c.Abort()
	if err := WriteJSON(c, body.StatusCode, body); err != nil {
		state.Cause = err
	}
}

// Explain returns the answer to an error.
func Explain(err error) ErrorBody {
	var transport *TransportError
	if errors.As(err, &transport) {
		return ErrorBody{
			StatusCode: transport.Status, Error: http.StatusText(transport.Status),
			Code: transport.Code, Message: transport.Message,
		}
	}
	var known *domain.Error
	status, ok := statuses[domain.KindOf(err)]
	if !ok || !errors.As(err, &known) {
		return ErrorBody{
			StatusCode: http.StatusInternalServerError, Error: http.StatusText(http.StatusInternalServerError), Code: "internal_error",
			Message: "Something went wrong on our side. If it happens again, tell us the request id.",
		}
	}
	if own, ok := codeStatuses[known.Code]; ok {
		status = own
	}
	body := ErrorBody{StatusCode: status, Error: http.StatusText(status), Code: known.Code, Message: known.Message, JobID: known.Job}
	for _, v := range known.Violations {
		body.Details = append(body.Details, detailOf(v))
	}
	for _, u := range known.UsedBy {
		body.UsedBy = append(body.UsedBy, UsedByBody{u.Kind, u.ID})
	}
	if known.Warnings != nil {
		body.Warnings = make([]ErrorDetail, len(known.Warnings))
		for i, v := range known.Warnings {
			body.Warnings[i] = detailOf(v)
		}
	}
	if known.RetryAfter > 0 {
		seconds := int(math.Ceil(known.RetryAfter.Seconds()))
		body.RetryAfter = &seconds
	}
	return body
}

func detailOf(v domain.Violation) ErrorDetail {
	return ErrorDetail{Field: v.Field, Message: v.Message, Code: string(v.Code), NodeID: v.Node, EdgeID: v.Edge, Position: PositionOf(v.Line, v.Column)}
}
