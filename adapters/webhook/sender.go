package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/ports/outbound"
)

// maxAnswer is how much of an answer is read, in bytes: enough for the connection to be
// used again after what endpoints usually say, and no more of what they should not. Only
// the beginning is kept, since there may be many answers at the same time.
const maxAnswer = 64 << 10

// restWithin is for how long what follows a success is read, so that the connection can be
// used again. Nothing depends on it, and an answer that never ends must not hold the place
// of another message.
const restWithin = time.Second

// Sender sends messages by HTTP. It is safe for concurrent use.
type Sender struct {
	client    *http.Client
	bearing   func(connection.Credential) *http.Client
	clock     outbound.Clock
	userAgent string
}

var _ outbound.Sender = (*Sender)(nil)

// New returns a sender that says it is the version of Sluice. It calls through the
// client, but follows no redirect, whatever the client would do.
func New(client *http.Client, clock outbound.Clock, version string) *Sender {
	staying := *client
	staying.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Sender{client: &staying, clock: clock, userAgent: "Sluice-Webhook/" + version}
}

// Bearing has messages that bear a credential go through the client that is made for it, which
// sends it to its hosts only and follows no redirect. It returns the sender.
func (s *Sender) Bearing(client func(connection.Credential) *http.Client) *Sender {
	s.bearing = client
	return s
}

// clientFor is the client that a message goes through.
func (s *Sender) clientFor(m outbound.SignedMessage) *http.Client {
	if m.Credential.IsZero() {
		return s.client
	}
	return s.bearing(m.Credential)
}

// errTooLate is why the context of a call ends when the endpoint takes too long.
var errTooLate = errors.New("webhook: the endpoint did not answer in time")

// Send posts the message once.
func (s *Sender) Send(ctx context.Context, m outbound.SignedMessage) (event.AttemptResult, error) {
	if ctx.Err() != nil {
		return event.AttemptResult{}, stopped(ctx)
	}
	bounded, cancel := context.WithTimeoutCause(ctx, event.SendTimeout, errTooLate)
	defer cancel()
	req, err := s.request(bounded, m)
	if err != nil {
		return event.AttemptResult{Code: "url_invalid", Error: "The URL of the endpoint cannot be called."}, nil
	}
	began := s.clock.Now()
	resp, err := s.clientFor(m).Do(req)
	took := max(s.clock.Now().Sub(began), 0) // the clock may have been set back
	if err != nil {
		if ctx.Err() != nil {
			return event.AttemptResult{}, stopped(ctx)
		}
		return failed(bounded, req.URL, took, err), nil
	}
	o := event.AttemptResult{Status: resp.StatusCode, Duration: took}
	if o.Succeeded() {
		defer time.AfterFunc(restWithin, cancel).Stop()
		read(resp, 0)
		return o, nil
	}
	answer := clean(m.Credential, resp)
	o.Code, o.Error, o.Excerpt = "unexpected_status", unexpected(req.URL, resp.StatusCode), event.Excerpt(answer)
	o.RetryAfter = retryAfter(resp, s.clock.Now())
	return o, nil
}

func (s *Sender) request(ctx context.Context, m outbound.SignedMessage) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL, bytes.NewReader(m.Body))
	if err != nil {
		return nil, err
	}
	// What was written to a connection that proves to be dead may be sent again at once:
	// the message bears an identifier. net/http does so only for requests that say it.
	req.Header.Set("Idempotency-Key", m.Signature.ID)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", s.userAgent)
	req.Header.Set(domain.WebhookIDHeader, m.Signature.ID)
	req.Header.Set(domain.WebhookTimestampHeader, m.Signature.Timestamp)
	req.Header.Set(domain.WebhookSignatureHeader, m.Signature.Values)
	return req, nil
}

// read takes an answer, and keeps its beginning. What it says decides nothing, so a
// failure to read it does not either.
func read(resp *http.Response, keep int64) (beginning []byte) {
	beginning, _ = io.ReadAll(io.LimitReader(resp.Body, keep))
	_, _ = io.CopyN(io.Discard, resp.Body, maxAnswer-int64(len(beginning)))
	_ = resp.Body.Close()
	return beginning
}

// clean takes an answer without the secret that the message bore. Where it breaks off, nothing is
// kept behind the last place of the secret: a part of it could follow.
func clean(c connection.Credential, resp *http.Response) []byte {
	if c.IsZero() {
		return read(resp, 2*event.MaxExcerpt)
	}
	answer := read(resp, maxAnswer)
	text, found := c.Redactor().Text(string(answer))
	if mark := connection.Mark(c.Connection()); found && len(answer) == maxAnswer {
		text = text[:strings.LastIndex(text, mark)+len(mark)]
	}
	return []byte(text)
}

// failed is the outcome when no answer came.
func failed(bounded context.Context, u *url.URL, took time.Duration, err error) event.AttemptResult {
	o := event.AttemptResult{Duration: took}
	var known *domain.Error
	var slow net.Error
	switch {
	case errors.Is(context.Cause(bounded), errTooLate):
		o.Code = "timeout"
		o.Error = fmt.Sprintf("%s did not answer within %d seconds.", shown(u), int(event.SendTimeout.Seconds()))
	case errors.As(err, &known):
		o.Code, o.Error = known.Code, known.Message
	case errors.As(err, &slow) && slow.Timeout():
		o.Code, o.Error = "timeout", shown(u)+" did not answer in time."
	default:
		o.Code, o.Error = "connection_failed", shown(u)+" could not be reached, or gave no answer that can be read."
	}
	return o
}

func unexpected(u *url.URL, status int) string {
	text := fmt.Sprintf("%s answered %d", shown(u), status)
	if name := http.StatusText(status); name != "" {
		text += " " + name
	}
	if status >= 300 && status <= 399 {
		return text + ", and redirects are not followed: a signed message is not sent elsewhere."
	}
	return text + "."
}

// shown is the host as a message names it. The rest of the URL may hold a secret.
func shown(u *url.URL) string { return domain.Clip(u.Host, maxShownHost) }

// maxShownHost bounds how much of a host a message repeats, in characters.
const maxShownHost = 255

// stopped is the error of an attempt whose context is done.
func stopped(ctx context.Context) error {
	return fmt.Errorf("webhook: the attempt did not come to an end: %w", context.Cause(ctx))
}
