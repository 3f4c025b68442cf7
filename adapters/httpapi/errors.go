package httpapi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
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

// codeStatuses says which status an error becomes that has one of its own among its
// kind.
var codeStatuses = map[string]int{
	"precondition_failed": http.StatusPreconditionFailed,
}

// statusClientGone is what the log shows for a client that went away; nobody reads
// the answer.
const (
	statusClientGone = 499
	codeClientGone   = "client_gone"
)

// transportError is a failure that only HTTP knows.
type transportError struct {
	status  int
	code    string
	message string
}

// Error shows the code and the message.
func (e *transportError) Error() string { return e.code + ": " + e.message }

func errNoRoute(r *http.Request) error {
	return &transportError{http.StatusNotFound, "route_not_found",
		fmt.Sprintf("There is no %s. The API description is at /openapi.yaml and /docs.", redact(r.URL.Path))}
}

// noRoute answers requests for what there is not.
func (a *API) noRoute(c *gin.Context) {
	if !a.opts.HealthOnly {
		a.failKnown(c, errNoRoute(c.Request))
		return
	}
	a.fail(c, &transportError{http.StatusNotFound, "route_not_found",
		fmt.Sprintf("There is no %s: this process answers %s and %s only, and works for those that serve the API.", redact(c.Request.URL.Path), healthPath, readinessPath)})
}

// failKnown answers with an error that was found before anybody asked who the client is.
// What stands below the prefix of the API says so only to those who are let in, and counts
// as a request of theirs: the key comes before the path.
func (a *API) failKnown(c *gin.Context, err error) {
	if path := c.Request.URL.Path; path != prefix && !strings.HasPrefix(path, prefix+"/") {
		a.fail(c, err)
		return
	}
	h := c.Writer.Header()
	allow := h["Allow"]
	h.Del("Allow")
	a.admitted(route{operation: tenant.Authenticate, handle: func(*gin.Context, tenant.Caller) error {
		if allow != nil {
			h["Allow"] = allow
		}
		return err
	}})(c)
}

func errNoMethod(r *http.Request) error {
	return &transportError{http.StatusMethodNotAllowed, "method_not_allowed",
		fmt.Sprintf("%s does not take %s. The Allow header lists what it takes.", redact(r.URL.Path), redact(r.Method))}
}

// errorBody is the standard error body. The first five members are the
// specification's.
type errorBody struct {
	StatusCode int           `json:"statusCode"`
	Message    string        `json:"message"`
	Error      string        `json:"error"`
	Timestamp  string        `json:"timestamp"`
	Path       string        `json:"path"`
	Code       string        `json:"code"`
	RequestID  string        `json:"requestId"`
	Details    []errorDetail `json:"details,omitempty"`
	RetryAfter *int          `json:"retryAfter,omitempty"`
}

type errorDetail struct {
	Field   string `json:"field"`
	Message string `json:"message"`
	Code    string `json:"code"`
}

// restOfBody is how long a refusal waits for what has not arrived of a body that nobody
// reads: net/http wants that before it answers, so as to keep the connection, and closes it
// when it does not come in time.
const restOfBody = time.Second

// fail answers with an error.
func (a *API) fail(c *gin.Context, err error) {
	if errors.Is(err, context.Canceled) && c.Request.Context().Err() != nil {
		noteCode(c, codeClientGone)
		c.AbortWithStatus(statusClientGone)
		return
	}
	if c.Request.ContentLength != 0 {
		_ = http.NewResponseController(c.Writer).SetReadDeadline(time.Now().Add(restOfBody)) // a writer that cannot waits for longer
	}
	body := a.explain(err)
	body.Timestamp = timestamp(a.opts.Now())
	body.Path = redact(c.Request.URL.Path)
	body.RequestID = requestID(c)
	noteCode(c, body.Code)
	if body.StatusCode >= http.StatusInternalServerError {
		noteCause(c, err)
	}
	if body.StatusCode == http.StatusConflict && body.RetryAfter == nil {
		c.Header(headerShouldRetry, "false") // generated clients repeat a 409 otherwise
	}
	if body.RetryAfter != nil {
		c.Header(headerRetryAfter, strconv.Itoa(*body.RetryAfter))
	}
	c.Abort()
	if err := writeJSON(c, body.StatusCode, body); err != nil {
		noteCause(c, err)
	}
}

func (a *API) explain(err error) errorBody {
	var transport *transportError
	if errors.As(err, &transport) {
		return errorBody{
			StatusCode: transport.status, Error: http.StatusText(transport.status),
			Code: transport.code, Message: transport.message,
		}
	}
	var known *domain.Error
	status, ok := statuses[domain.KindOf(err)]
	if !ok || !errors.As(err, &known) {
		return errorBody{
			StatusCode: http.StatusInternalServerError, Error: http.StatusText(http.StatusInternalServerError), Code: "internal_error",
			Message: "Something went wrong on our side. If it happens again, tell us the request id.",
		}
	}
	if own, ok := codeStatuses[known.Code]; ok {
		status = own
	}
	body := errorBody{StatusCode: status, Error: http.StatusText(status), Code: known.Code, Message: known.Message}
	for _, v := range known.Violations {
		body.Details = append(body.Details, errorDetail{Field: v.Field, Message: v.Message, Code: string(v.Code)})
	}
	if known.RetryAfter > 0 {
		seconds := int(math.Ceil(known.RetryAfter.Seconds()))
		body.RetryAfter = &seconds
	}
	return body
}
