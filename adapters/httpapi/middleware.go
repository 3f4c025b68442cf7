package httpapi

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
)

// middleware is what every request passes on its way to a handler, from outside in.
func (a *API) middleware() []gin.HandlerFunc {
	return []gin.HandlerFunc{a.identify, a.record, a.recover, a.cors}
}

// visit is a request on its way through: it writes the answer, and gathers what the
// log line is made of, beside the request itself. Handlers find it as the writer, which
// costs no look-up.
type visit struct {
	gin.ResponseWriter

	requestID string
	caller    tenant.Caller
	code      string // of the error that was answered
	cause     error  // for the log only

	intake reservation // memory for the body and what becomes of it

	begun time.Time // when a stream began; zero for an answer that is sent as a whole

	values [6]string // of headers that hold one value each; one piece of memory for all
	used   int
}

// Unwrap returns the writer beneath, for [http.ResponseController].
func (v *visit) Unwrap() http.ResponseWriter { return v.ResponseWriter }

// set puts a header whose name is spelled as [http.CanonicalHeaderKey] does.
func (v *visit) set(h http.Header, name, value string) {
	if v.used == len(v.values) {
		h[name] = []string{value}
		return
	}
	at := v.used
	v.used++
	v.values[at] = value
	h[name] = v.values[at:v.used:v.used]
}

func visitOf(c *gin.Context) *visit {
	v, _ := c.Writer.(*visit) // identify made it the writer
	return v
}

func requestID(c *gin.Context) string        { return visitOf(c).requestID }
func note(c *gin.Context, who tenant.Caller) { visitOf(c).caller = who }
func noteCause(c *gin.Context, cause error)  { visitOf(c).cause = cause }
func noteCode(c *gin.Context, code string)   { visitOf(c).code = code }

// maxRequestID bounds the request identifier that a client may choose.
const maxRequestID = 128

// identify gives the request the client's identifier, or a new one where it sent
// none that can be echoed.
func (a *API) identify(c *gin.Context) {
	id := c.GetHeader(headerRequestID)
	if !printable(id, maxRequestID) || redact(id) != id {
		id = a.opts.NewID("req")
	}
	v := &visit{ResponseWriter: c.Writer, requestID: id}
	v.set(v.Header(), headerRequestID, id)
	c.Writer = v
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

// record follows a request from outside and writes its log line. It does both also
// when a panic cuts the connection.
func (a *API) record(c *gin.Context) {
	start := time.Now()
	a.begin(c)
	defer func() {
		visitOf(c).intake.release()
		took := time.Since(start)
		v, answered := visitOf(c), took
		if !v.begun.IsZero() {
			answered = v.begun.Sub(start) // how long it goes on is not how slow the gateway is
		}
		a.end(c, v, answered)
		a.logRequest(c, v, took)
	}()
	c.Next()
}

// logRequest writes one line. What the client wrote is in it only where it says what
// went wrong: the method, and a path that no route fits, both without secrets; never
// a query, a header or a body.
func (a *API) logRequest(c *gin.Context, v *visit, took time.Duration) {
	route, status := c.FullPath(), c.Writer.Status()
	line := a.opts.Log.WithLevel(levelOf(route, status))
	if line == nil {
		return
	}
	line = line.Ctx(c.Request.Context()).Str("requestId", v.requestID).Str("method", redact(c.Request.Method)).Str("route", route)
	if route == "" {
		line = line.Str("path", redact(c.Request.URL.Path))
	}
	if v.caller.Tenant != "" {
		line = line.Str("tenantId", string(v.caller.Tenant))
	}
	if v.caller.Key != "" {
		line = line.Str("keyId", string(v.caller.Key))
	}
	line = line.Int("status", status)
	if v.code != "" {
		line = line.Str("code", v.code)
	}
	if v.cause != nil {
		line = line.Str("cause", redact(v.cause.Error()))
	}
	if thrown, panicked := errors.AsType[*inbound.Panic](v.cause); panicked {
		line = line.Bytes("stack", thrown.Stack)
	}
	line.Int("bytes", max(c.Writer.Size(), 0)).Dur("durationMs", took).Str("client", a.client(c)).Msg("request")
}

// client is the address that the request came from: the peer's, or what a trusted proxy
// says of it.
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

// levelOf says how loud the line of a request is. Whoever asks every few seconds
// whether the gateway lives is heard only when it does not.
func levelOf(route string, status int) zerolog.Level {
	switch {
	case route == readinessPath && status == http.StatusServiceUnavailable:
		return zerolog.WarnLevel // when it stops, this is as it should be
	case status >= http.StatusInternalServerError:
		return zerolog.ErrorLevel
	case route == healthPath || route == readinessPath:
		return zerolog.DebugLevel
	default:
		return zerolog.InfoLevel
	}
}

// codeConnectionCut is what the log shows for a request whose connection a handler
// cut; the status beside it may never have been sent.
const codeConnectionCut = "connection_cut"

// recover turns a panic into an answer.
func (a *API) recover(c *gin.Context) {
	defer func() {
		found := recover()
		if found == nil {
			return
		}
		if err, ok := found.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			noteCode(c, codeConnectionCut)
			panic(found) // the server's own way to cut a connection
		}
		a.opts.Log.Error().Ctx(c.Request.Context()).Str("requestId", requestID(c)).Str("panic", redact(fmt.Sprint(found))).
			Str("stack", string(debug.Stack())).Msg("a handler panicked")
		a.fail(c, fmt.Errorf("panic: %v", found))
	}()
	c.Next()
}
