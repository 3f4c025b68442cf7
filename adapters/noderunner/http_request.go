package noderunner

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/ports/outbound"
)

// request is the configuration of an httpRequest, read.
type request struct {
	method   string
	url      *url.URL
	header   http.Header
	body     []byte
	timeout  time.Duration
	statuses []node.StatusRange // expected; empty means every 2xx
}

// runRequest makes the call that an httpRequest is configured with.
func (r *Runner) runRequest(ctx context.Context, call outbound.NodeCall) (outbound.NodeOutcome, error) {
	made, unusable := r.readRequest(call)
	if unusable != nil {
		return *unusable, nil
	}
	var body io.Reader = http.NoBody
	if len(made.body) > 0 {
		body = bytes.NewReader(made.body)
	}
	req, err := http.NewRequestWithContext(ctx, made.method, made.url.String(), body)
	if err != nil {
		return nil, fmt.Errorf("noderunner: build the request: %w", err)
	}
	req.Header = made.header
	// A key that the author sets is kept.
	setDefault(req.Header, "Idempotency-Key", headerSafe(call.IdempotencyKey))
	setDefault(req.Header, "User-Agent", r.userAgent)

	// A redirect that is expected is an answer.
	follow := !slices.ContainsFunc(made.statuses, func(s node.StatusRange) bool { return s.From < 400 && s.To >= 300 })
	timeout := cmp.Or(call.Timeout, made.timeout)
	got, failure, err := exchange(ctx, r.caller(call.Credential, follow), req, timeout, call.ReserveMemory)
	if got != nil && got.status == http.StatusUnauthorized && !made.expects(got.status) {
		if credential, ok := renewed(ctx, call); ok {
			call.Credential = credential
			if len(made.body) > 0 {
				req.Body = io.NopCloser(bytes.NewReader(made.body))
			}
			got, failure, err = exchange(ctx, r.caller(credential, follow), req, timeout, call.ReserveMemory)
		}
	}
	switch {
	case err != nil:
		return nil, err
	case failure != nil:
		return *failure, nil
	}
	got.redact(call.Credential.Redactor())
	if !made.expects(got.status) {
		return r.unexpected(shown(req.URL), got), nil
	}
	return outbound.NodeCompleted{Output: output(got), Redacted: got.redacted}, nil
}

// renewed is another credential for a call that was answered 401: a service may refuse a token before its
// time. Such a call had no effect, and is made again once.
func renewed(ctx context.Context, call outbound.NodeCall) (connection.Credential, bool) {
	refused := call.Credential.AccessToken()
	if refused.IsZero() || call.RenewCredential == nil {
		return connection.Credential{}, false
	}
	next, err := call.RenewCredential(ctx, refused)
	return next, err == nil && !next.AccessToken().Equal(refused) // else the answer says what is wrong
}

func (q request) expects(status int) bool {
	if len(q.statuses) == 0 {
		return 200 <= status && status <= 299
	}
	return slices.ContainsFunc(q.statuses, func(s node.StatusRange) bool { return s.From <= status && status <= s.To })
}

// readRequest reads a configuration whose templates are resolved. What they gave is
// checked as the configuration itself was when it was published. The failure names
// every mistake.
func (r *Runner) readRequest(call outbound.NodeCall) (request, *outbound.NodeFailed) {
	kind, known := r.requests[call.Version]
	if !known {
		kind, _ = node.BuiltIn(node.HTTPRequest)
	}
	config := kind.Config.ApplyDefaults(kind.ReadConfig(call.Config))
	var rules domain.Rules
	kind.CheckConfig(&rules, "config", config)
	if found := rules.Violations(); len(found) > 0 {
		texts := make([]string, len(found))
		for i, v := range found {
			texts[i] = v.String()
		}
		return request{}, unusable(strings.Join(texts, "; "))
	}
	var q request
	var err error
	q.method, _ = config["method"].(string)
	if q.url, err = readURL(config); err != nil {
		return request{}, unusable("config.url must be a URL that can be called")
	}
	q.header = readHeaders(config["headers"])
	if q.body, err = readBody(config["body"], q.header); err != nil {
		return request{}, unusable("config.body must be a value that JSON can hold")
	}
	q.timeout = time.Duration(whole(config["timeoutMs"])) * time.Millisecond
	q.statuses = node.ReadStatuses(&rules, "config.expectStatus", config["expectStatus"])
	return q, nil
}

func unusable(why string) *outbound.NodeFailed {
	f := failed("config_invalid", "The configuration cannot be used: %s.", why)
	return &f
}

// readURL reads the URL and adds the query to the one it has.
func readURL(config map[string]any) (*url.URL, error) {
	text, _ := config["url"].(string)
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil {
		return nil, err
	}
	u.RawQuery = sendable(u.RawQuery)
	query := make(url.Values)
	readFields(config["query"], query.Add)
	if len(query) == 0 {
		return u, nil
	}
	if u.RawQuery != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += query.Encode()
	return u, nil
}

// sendable writes what may not stand in a query as it is (RFC 3986, §3.4), such as
// spaces and what is not ASCII, in percent-encoding, and leaves everything else alone.
func sendable(query string) string {
	var b strings.Builder
	for i := range len(query) {
		if c := query[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func setDefault(h http.Header, name, value string) {
	if _, given := h[name]; !given && value != "" {
		h.Set(name, value)
	}
}

// headerSafe writes a text so that it may stand in a header and no two texts look
// alike: what is not visible ASCII, and the percent sign, in percent-encoding.
func headerSafe(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c >= 0x7f || c == '%' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
