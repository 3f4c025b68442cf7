package httpapi

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/adapters/httpapi/console"
	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/inbound"
)

// middleware is what every request passes on its way to a handler, from outside in.
func (a *API) middleware() []gin.HandlerFunc {
	return []gin.HandlerFunc{a.identify, a.record, a.recover, a.cors}
}

// maxRequestID bounds the request identifier that a client may choose.
const maxRequestID = 128

// identify gives the request the client's identifier, or a new one where it sent
// none that can be echoed.
func (a *API) identify(c *gin.Context) {
	id := c.GetHeader(headerRequestID)
	if !exchange.Printable(id, maxRequestID) || exchange.Redact(id) != id {
		id = a.opts.NewID("req")
	}
	a.exchange.Begin(c, id)
}

// record informs the observers of a request and writes its log line, also when a panic cuts
// the connection.
func (a *API) record(c *gin.Context) {
	start := time.Now()
	a.begin(c)
	defer func() {
		state := exchange.StateOf(c)
		state.Release()
		took := time.Since(start)
		answered := took
		if !state.StreamBegan.IsZero() {
			answered = state.StreamBegan.Sub(start) // how long a stream lasts is not how slow the gateway is
		}
		a.end(c, state, answered)
		a.logRequest(c, state, took)
	}()
	c.Next()
}

// loggedPath leaves out what may be the secret of a page's address.
func loggedPath(path string) string {
	if strings.HasPrefix(path, run.LinkPath) {
		return run.LinkPath + "…"
	}
	return console.LoggedPath(path)
}

// logRequest writes one line. What the client wrote is in it only where it says what
// went wrong: the method, and a path that no route fits, both without secrets; never
// a query, a header or a body.
func (a *API) logRequest(c *gin.Context, state *exchange.State, took time.Duration) {
	route, status := c.FullPath(), c.Writer.Status()
	line := a.opts.Log.WithLevel(levelOf(route, status))
	if line == nil {
		return
	}
	line = line.Ctx(c.Request.Context()).Str("requestId", state.RequestID).Str("method", exchange.Redact(c.Request.Method)).Str("route", route)
	if route == "" {
		line = line.Str("path", exchange.Redact(loggedPath(c.Request.URL.Path)))
	}
	if state.Caller.Tenant() != "" {
		line = line.Str("tenantId", string(state.Caller.Tenant()))
	}
	if state.Operator != "" {
		line = line.Str("operator", state.Operator)
	}
	if state.Caller.Key != "" {
		line = line.Str("keyId", string(state.Caller.Key))
	}
	if state.Caller.Member.User != "" {
		line = line.Str("userId", string(state.Caller.Member.User))
	}
	line = about(line, c, state).Int("status", status)
	if state.Code != "" {
		line = line.Str("code", state.Code)
	}
	if state.Cause != nil {
		line = line.Str("cause", exchange.Redact(state.Cause.Error()))
	}
	if thrown, panicked := errors.AsType[*inbound.Panic](state.Cause); panicked {
		line = line.Bytes("stack", thrown.Stack)
	}
	line.Int("bytes", max(c.Writer.Size(), 0)).Dur("durationMs", took).Str("client", a.client(c)).Msg("request")
}

// about adds the trigger and the run that a request is about, as far as they are known.
func about(line *zerolog.Event, c *gin.Context, state *exchange.State) *zerolog.Event {
	id := c.Param("id")
	if of := cmp.Or(state.Trigger, exchange.KnownID[string](id, trigger.IDPrefix)); of != "" {
		line = line.Str("triggerId", of)
	}
	if of := cmp.Or(state.Run, exchange.KnownID[string](id, run.IDPrefix)); of != "" {
		line = line.Str("runId", of)
	}
	return line
}

// client is the address that the request came from: the peer's, or what a trusted proxy
// says it is.
func (a *API) client(c *gin.Context) string {
	if len(a.opts.TrustedProxies) > 0 {
		return c.ClientIP()
	}
	host, _, err := net.SplitHostPort(c.Request.RemoteAddr)
	if err != nil {
		return ""
	}
	return host
}

// levelOf is the level of a request's line. Health checks come every few seconds, and
// matter when they fail.
func levelOf(route string, status int) zerolog.Level {
	switch {
	case route == readinessPath && status == http.StatusServiceUnavailable:
		return zerolog.WarnLevel // normal while the gateway stops
	case status >= http.StatusInternalServerError:
		return zerolog.ErrorLevel
	case route == healthPath || route == readinessPath:
		return zerolog.DebugLevel
	default:
		return zerolog.InfoLevel
	}
}

// codeConnectionCut is what the log shows for a request whose connection a handler
// cut; the status next to it may never have been sent.
const codeConnectionCut = "connection_cut"

// recover turns a panic into an answer.
func (a *API) recover(c *gin.Context) {
	defer func() {
		found := recover()
		if found == nil {
			return
		}
		state := exchange.StateOf(c)
		if err, ok := found.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			state.Code = codeConnectionCut
			panic(found) // the server's own way to cut a connection
		}
		a.opts.Log.Error().Ctx(c.Request.Context()).Str("requestId", state.RequestID).Str("panic", exchange.Redact(fmt.Sprint(found))).
			Str("stack", string(debug.Stack())).Msg("a handler panicked")
		exchange.Fail(c, fmt.Errorf("panic: %v", found))
	}()
	c.Next()
}
