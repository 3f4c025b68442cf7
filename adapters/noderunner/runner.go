package noderunner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Caller makes a call, as *http.Client does. What it gives must be bounded in
// length, and it must honour the context of the request.
type Caller interface {
	Do(req *http.Request) (*http.Response, error)
}

// Options are what a [Runner] works with. All but Code are required.
type Options struct {
	Clock     outbound.Clock
	Follow    Caller                                            // follows redirects, and takes no credentials to another origin
	Stay      Caller                                            // gives a redirect as the answer
	Bearing   func(c connection.Credential, follow bool) Caller // bears a credential where it may be sent, and follows redirects or gives them as the answer
	UserAgent string                                            // what calls say who they are

	Code outbound.CodeRunner // nil where code is switched off
}

// Runner executes nodes: by HTTP, or as code. It is safe for concurrent use.
type Runner struct {
	clock     outbound.Clock
	follow    Caller
	stay      Caller
	bearing   func(c connection.Credential, follow bool) Caller
	userAgent string
	requests  map[string]node.NodeType // the built-in httpRequest by its versions
	code      outbound.CodeRunner
}

var _ outbound.NodeRunner = (*Runner)(nil)

// New returns a runner.
func New(o Options) *Runner {
	r := &Runner{clock: o.Clock, follow: o.Follow, stay: o.Stay, bearing: o.Bearing, userAgent: o.UserAgent, code: o.Code, requests: make(map[string]node.NodeType)}
	for _, kind := range node.BuiltInVersions(node.HTTPRequest) {
		r.requests[kind.Version.String()] = kind
	}
	return r
}

// caller is what makes a call that bears a credential, or none.
func (r *Runner) caller(c connection.Credential, follow bool) Caller {
	switch {
	case !c.IsZero():
		return r.bearing(c, follow)
	case follow:
		return r.follow
	default:
		return r.stay
	}
}

// builtIns are the built-in nodes that attempts are made at.
var builtIns = map[node.Type]func(*Runner, context.Context, outbound.NodeCall) (outbound.NodeOutcome, error){
	node.HTTPRequest: (*Runner).runRequest,
	node.Code:        (*Runner).runCode,
}

// Run makes one attempt of the node.
func (r *Runner) Run(ctx context.Context, call outbound.NodeCall) (outbound.NodeOutcome, error) {
	if ctx.Err() != nil {
		return nil, stopped(ctx)
	}
	if run, ok := builtIns[call.Type]; ok {
		return run(r, ctx, call)
	}
	if _, builtIn := node.BuiltIn(call.Type); builtIn {
		return failed("node_type_invalid", "A node of the type %s has no effect outside the gateway.", call.Type), nil
	}
	return r.runCustom(ctx, call)
}

// answer is an HTTP response that was read.
type answer struct {
	status int
	header http.Header
	body   []byte

	redacted bool // a secret was in it
}

// exchange makes the call and reads the answer. Of its results one is not nil.
func exchange(ctx context.Context, c Caller, req *http.Request, timeout time.Duration, room roomFunc) (*answer, *outbound.NodeFailed, error) {
	bounded, cancel := context.WithCancel(ctx)
	defer cancel()
	left, began := timeout, time.Now()
	timer := time.AfterFunc(left, cancel)
	defer timer.Stop()
	// Waiting for memory does not count as the other side's time.
	waiting := func(_ context.Context, size int64) error {
		if room == nil || !timer.Stop() {
			return nil
		}
		left -= time.Since(began)
		err := room(ctx, size)
		began = time.Now()
		timer.Reset(max(left, 0))
		return err
	}
	got, err := read(c, req.WithContext(bounded), waiting)
	if err == nil {
		return got, nil, nil
	}
	if ctx.Err() != nil {
		return nil, nil, stopped(ctx)
	}
	var known *domain.Error
	switch {
	case bounded.Err() != nil:
		f := failed("timeout", "%s did not answer within %s.", shown(req.URL), timeout)
		f.Retryable = true
		return nil, &f, nil
	case errors.As(err, &known):
		f := failed(known.Code, "%s", known.Message)
		f.Retryable = known.Kind == domain.Unavailable
		return nil, &f, nil
	default: // the text of a network error may reveal the gateway's network
		f := failed("connection_failed", "%s could not be reached, or gave no answer that can be read.", shown(req.URL))
		f.Retryable = true
		return nil, &f, nil
	}
}

// roomFunc is that of [outbound.NodeCall].
type roomFunc func(ctx context.Context, size int64) error

// What reading a body takes.
const (
	smallBody  = 64 << 10 // bytes that need no room of their own
	maxBody    = 1 << 20  // how long a body can be of which the answer does not say it
	bodyCopies = 3        // how many there are of a body while it grows and is made into an output
)

func read(c Caller, req *http.Request, room roomFunc) (*answer, error) {
	resp, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, smallBody))
	if err == nil && len(body) == smallBody {
		size := resp.ContentLength
		if size < 0 || resp.Uncompressed {
			size = maxBody
		}
		err = room(req.Context(), bodyCopies*size)
	}
	if err == nil && len(body) == smallBody {
		rest := bytes.NewBuffer(body)
		_, err = rest.ReadFrom(resp.Body)
		body = rest.Bytes()
	}
	if err != nil {
		return nil, err
	}
	return &answer{status: resp.StatusCode, header: resp.Header, body: body}, nil
}

func stopped(ctx context.Context) error {
	return fmt.Errorf("noderunner: the attempt was stopped: %w", context.Cause(ctx))
}

// failed is an attempt that failed. What the message quotes may come from outside.
func failed(code, format string, args ...any) outbound.NodeFailed {
	return outbound.NodeFailed{Code: code, Message: clip(fmt.Sprintf(format, args...), maxText)}
}

// shown is the host as a message names it.
func shown(u *url.URL) string { return clip(u.Host, 255) }

// clip cuts a text to at most so many characters and makes it one that every store
// can keep.
func clip(text string, most int) string {
	out := make([]rune, 0, min(len(text), most))
	for _, c := range text { // what is no UTF-8 comes as U+FFFD
		if len(out) == most {
			return string(out) + "…"
		}
		if c == 0 {
			c = '\ufffd'
		}
		out = append(out, c)
	}
	return string(out)
}
