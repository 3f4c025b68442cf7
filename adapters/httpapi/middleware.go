package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/domain/tenant"
)

// visit is what the log line of a request is made of.
type visit struct {
	requestID string
	caller    tenant.Caller
	cause     error
}

const visitKey = "sluice.visit"

func visitOf(c *gin.Context) *visit {
	v, _ := c.MustGet(visitKey).(*visit)
	return v
}

func requestID(c *gin.Context) string        { return visitOf(c).requestID }
func note(c *gin.Context, who tenant.Caller) { visitOf(c).caller = who }
func noteCause(c *gin.Context, cause error)  { visitOf(c).cause = cause }

// maxRequestID bounds the request identifier that a client may choose.
const maxRequestID = 128

// identify gives the request the client's identifier, or a new one where it sent
// none that can be echoed.
func (a *API) identify(c *gin.Context) {
	id := c.GetHeader(headerRequestID)
	if !printable(id, maxRequestID) || redact(id) != id {
		id = a.opts.NewID("req")
	}
	c.Set(visitKey, &visit{requestID: id})
	c.Header(headerRequestID, id)
}

// printable says whether text is 1 to most printable ASCII characters.
func printable(text string, most int) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return text != "" && len(text) <= most
}

// record writes one log line a request.
func (a *API) record(c *gin.Context) {
	start := time.Now()
	c.Next()
	v := visitOf(c)
	status := c.Writer.Status()
	line := a.opts.Log.Info()
	if status >= http.StatusInternalServerError {
		line = a.opts.Log.Error()
	}
	line = line.Str("requestId", v.requestID).Str("method", redact(c.Request.Method)).Str("route", c.FullPath())
	if c.FullPath() == "" {
		line = line.Str("path", redact(c.Request.URL.Path))
	}
	if v.caller.Tenant != "" {
		line = line.Str("tenantId", string(v.caller.Tenant)).Str("keyId", string(v.caller.Key))
	}
	if v.cause != nil {
		line = line.Str("cause", redact(v.cause.Error()))
	}
	line.Int("status", status).Int("bytes", c.Writer.Size()).Dur("durationMs", time.Since(start)).
		Str("client", c.ClientIP()).Msg("request")
}

// recover turns a panic into an answer.
func (a *API) recover(c *gin.Context) {
	defer func() {
		found := recover()
		if found == nil {
			return
		}
		if err, ok := found.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(found) // the server's own way to cut a connection
		}
		a.opts.Log.Error().Str("requestId", requestID(c)).Str("panic", redact(fmt.Sprint(found))).
			Str("stack", string(debug.Stack())).Msg("a handler panicked")
		a.fail(c, fmt.Errorf("panic: %v", found))
	}()
	c.Next()
}
