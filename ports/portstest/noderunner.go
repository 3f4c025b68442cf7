package portstest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/ports/outbound"
)

// nodeSecret signs the calls of the suite.
var nodeSecret = domain.NewSigningSecret([domain.SecretEntropy]byte{1, 2, 3})

// NodeRunner is the contract of outbound.NodeRunner. open gives a runner that may
// call this machine.
func NodeRunner(t *testing.T, open func(*testing.T) outbound.NodeRunner) {
	nodeOutcomes(t, open)
	stoppedNodeCalls(t, open)
	t.Run("one attempt is one call, with the same key every time", func(t *testing.T) {
		other := newNodeServer(t, "")
		other.status = http.StatusServiceUnavailable
		runner := open(t)
		for kind, call := range other.calls() {
			call.IdempotencyKey = "run_1:" + kind
			for attempt := range 2 {
				call.Attempt = attempt + 1
				if _, err := runner.Run(t.Context(), call); err != nil {
					t.Fatal(err)
				}
			}
		}
		got := other.keys()
		slices.Sort(got)
		if diff := cmp.Diff([]string{"run_1:custom", "run_1:custom", "run_1:httpRequest", "run_1:httpRequest"}, got); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("values are read only", func(t *testing.T) {
		for kind, call := range newNodeServer(t, `{"success": true}`).calls() {
			before, inputs := maps.Clone(call.Config), call.Inputs
			if _, err := open(t).Run(t.Context(), call); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, call.Config) + cmp.Diff(inputs, call.Inputs); diff != "" {
				t.Errorf("%s: %s", kind, diff)
			}
		}
	})

	t.Run("health is a result, whatever the endpoint does", func(t *testing.T) {
		well, ill, gone := newNodeServer(t, `{"success": true}`), newNodeServer(t, ""), newNodeServer(t, "")
		ill.status = http.StatusInternalServerError
		gone.server.Close()
		for claim, c := range map[string]struct {
			other *nodeServer
			want  outbound.NodeHealth
		}{
			"well": {well, outbound.NodeHealth{Healthy: true, Status: 200}},
			"ill":  {ill, outbound.NodeHealth{Status: 500, Code: "unexpected_status"}},
			"gone": {gone, outbound.NodeHealth{Code: "connection_failed"}},
		} {
			got, err := open(t).Health(t.Context(), c.other.check())
			if got.Latency < 0 || got.Healthy != (got.Message == "") {
				t.Errorf("%s: the result is %+v", claim, got)
			}
			got.Latency, got.Message = 0, ""
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Error(claim, diff, err)
			}
		}
	})
}

func nodeOutcomes(t *testing.T, open func(*testing.T) outbound.NodeRunner) {
	t.Run("both kinds of node complete with their output", func(t *testing.T) {
		other := newNodeServer(t, `{"success": true, "data": {"total": 12.50}}`)
		for kind, call := range other.calls() {
			outcome, err := open(t).Run(t.Context(), call)
			if _, ok := outcome.(outbound.NodeCompleted); !ok || err != nil {
				t.Errorf("%s: %#v, %v", kind, outcome, err)
			}
		}
	})

	t.Run("what the other side does is an outcome and says whether to try again", func(t *testing.T) {
		for status, retryable := range map[int]bool{
			http.StatusBadRequest: false, http.StatusNotFound: false, http.StatusConflict: false, http.StatusFound: false,
			http.StatusRequestTimeout: true, http.StatusTooEarly: true, http.StatusTooManyRequests: true,
			http.StatusInternalServerError: true, http.StatusServiceUnavailable: true,
		} {
			other := newNodeServer(t, "")
			other.status = status
			for kind, call := range other.calls() {
				checkFailure(t, fmt.Sprint(kind, ", status ", status), open(t), call, retryable)
			}
		}
		gone := newNodeServer(t, "")
		gone.server.Close()
		for kind, call := range gone.calls() {
			checkFailure(t, kind+", nobody there", open(t), call, true)
		}
	})

	t.Run("what cannot be called is an outcome", func(t *testing.T) {
		calls := newNodeServer(t, "").calls()
		request, custom := calls["httpRequest"], calls["custom"]
		request.Config = map[string]any{"url": 5.0, "method": "BREW"}
		checkFailure(t, "an unusable configuration", open(t), request, false)
		custom.Endpoint = ""
		checkFailure(t, "no endpoint", open(t), custom, false)
	})

	t.Run("a request to wait is passed on, up to a day", func(t *testing.T) {
		for text, want := range map[string]time.Duration{"7": 7 * time.Second, "99999999": 24 * time.Hour, "": 0} {
			other := newNodeServer(t, "")
			other.status, other.retryAfter = http.StatusServiceUnavailable, text
			for kind, call := range other.calls() {
				if f := checkFailure(t, kind, open(t), call, true); f.RetryAfter != want {
					t.Errorf("%s: %q is read as %s", kind, text, f.RetryAfter)
				}
			}
		}
	})

	t.Run("a pause is granted to a node that can pause", func(t *testing.T) {
		other := newNodeServer(t, `{"paused": true, "event": "paid", "timeoutMs": 60000}`)
		call := other.calls()["custom"]
		checkFailure(t, "a node that cannot", open(t), call, false)
		call.CanPause = true
		outcome, err := open(t).Run(t.Context(), call)
		if diff := cmp.Diff(outbound.NodeOutcome(outbound.NodePaused{Event: "paid", Timeout: time.Minute}), outcome); diff != "" || err != nil {
			t.Error(diff, err)
		}
	})
}

func stoppedNodeCalls(t *testing.T, open func(*testing.T) outbound.NodeRunner) {
	t.Run("a call past its time is a failure to try again", func(t *testing.T) {
		other := newNodeServer(t, "")
		other.block()
		for kind, call := range other.calls() {
			call.Timeout = 20 * time.Millisecond
			if f := checkFailure(t, kind, open(t), call, true); f.Code != "timeout" {
				t.Errorf("%s: the code is %q", kind, f.Code)
			}
		}
	})

	t.Run("a context that is done stops before the call", func(t *testing.T) {
		why := errors.New("the run was cancelled")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(why)
		other := newNodeServer(t, "")
		for kind, call := range other.calls() {
			if outcome, err := open(t).Run(ctx, call); outcome != nil || !errors.Is(err, why) {
				t.Errorf("%s: %#v, %v", kind, outcome, err)
			}
		}
		if _, err := open(t).Health(ctx, other.check()); !errors.Is(err, why) {
			t.Errorf("health: %v", err)
		}
		if n := len(other.keys()); n != 0 {
			t.Errorf("%d calls were made", n)
		}
	})

	t.Run("a context that becomes done stops the call at once", func(t *testing.T) {
		why := errors.New("the run was cancelled")
		other := newNodeServer(t, "")
		other.block()
		for kind, call := range other.calls() {
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() { <-other.arrived; cancel(why) }()
			if outcome, err := open(t).Run(ctx, call); outcome != nil || !errors.Is(err, why) {
				t.Errorf("%s: %#v, %v", kind, outcome, err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond) // the run's deadline, not the call's
		defer cancel()
		if outcome, err := open(t).Run(ctx, other.calls()["custom"]); outcome != nil || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("past the caller's deadline: %#v, %v", outcome, err)
		}
	})
}

func checkFailure(t *testing.T, claim string, r outbound.NodeRunner, call outbound.NodeCall, retryable bool) outbound.NodeFailed {
	t.Helper()
	outcome, err := r.Run(t.Context(), call)
	f, ok := outcome.(outbound.NodeFailed)
	if !ok || err != nil || f.Code == "" || f.Message == "" || f.Retryable != retryable {
		t.Errorf("%s: %#v, %v", claim, outcome, err)
	}
	return f
}

// nodeServer is whom nodes call.
type nodeServer struct {
	server     *httptest.Server
	body       string
	status     int
	retryAfter string
	arrived    chan struct{} // says that a call came and waits; nil answers at once

	mu   sync.Mutex
	seen []string // the keys of the calls
}

func newNodeServer(t *testing.T, body string) *nodeServer {
	t.Helper()
	o := &nodeServer{body: body, status: http.StatusOK}
	o.server = httptest.NewServer(http.HandlerFunc(o.answer))
	t.Cleanup(o.server.Close)
	return o
}

// block lets calls wait until they are given up.
func (o *nodeServer) block() { o.arrived = make(chan struct{}, 8) }

func (o *nodeServer) answer(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	o.seen = append(o.seen, r.Header.Get("Idempotency-Key"))
	o.mu.Unlock()
	_, _ = io.Copy(io.Discard, r.Body) // until then a server does not see that its client is gone
	if o.arrived != nil {
		o.arrived <- struct{}{}
		<-r.Context().Done()
		return
	}
	if o.retryAfter != "" {
		w.Header().Set("Retry-After", o.retryAfter)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(o.status)
	_, _ = io.Copy(w, strings.NewReader(o.body))
}

func (o *nodeServer) keys() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.seen)
}

// calls are one of each kind.
func (o *nodeServer) calls() map[string]outbound.NodeCall {
	common := outbound.NodeCall{
		Tenant: "tenant_1", RunID: "run_1", EntityID: "order-7", NodeID: "call", Version: "1.0.0", Attempt: 1,
		Inputs: map[string]any{"a": []any{1.0, "b", nil}}, IdempotencyKey: "run_1:call", Timeout: 10 * time.Second,
	}
	request, custom := common, common
	request.Type, request.Config = node.HTTPRequest, map[string]any{"method": "POST", "url": o.server.URL, "body": map[string]any{"c": true}}
	custom.Type, custom.Config = "acme.price", map[string]any{"currency": "EUR"}
	custom.Endpoint, custom.Secrets = o.server.URL, []domain.SigningSecret{nodeSecret}
	return map[string]outbound.NodeCall{"httpRequest": request, "custom": custom}
}

func (o *nodeServer) check() outbound.HealthCheck {
	return outbound.HealthCheck{Tenant: "tenant_1", Endpoint: o.server.URL, Secrets: []domain.SigningSecret{nodeSecret}, Timeout: 10 * time.Second}
}
