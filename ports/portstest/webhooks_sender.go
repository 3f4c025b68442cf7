package portstest

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/ports/outbound"
)

// webhookReceiver is the endpoint of a tenant.
type webhookReceiver struct {
	*httptest.Server
	answer  http.HandlerFunc
	arrived chan struct{} // one for each message
	calls   atomic.Int64
	last    *http.Request
	body    string
}

func newWebhookReceiver(t *testing.T, answer http.HandlerFunc) *webhookReceiver {
	t.Helper()
	r := &webhookReceiver{answer: answer, arrived: make(chan struct{}, 100)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		if r.calls.Add(1) == 1 {
			r.last, r.body = req, string(body)
		}
		r.arrived <- struct{}{}
		r.answer(w, req)
	}))
	t.Cleanup(r.Close)
	return r
}

// message is signed with a secret of its own.
func (r *webhookReceiver) message() outbound.SignedMessage {
	body := []byte("{\"id\":\"evt_1\", \"n\":1.50,\n\"text\":\"é <&>\"}")
	return outbound.SignedMessage{
		URL: r.URL + "/hooks/a%2Fb?key=value", Body: body, Signature: domain.Sign([]domain.SigningSecret{secretOf("secret")}, "msg_1", noon, body),
	}
}

func answerStatus(status int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
	}
}

// Sender is the contract of outbound.Sender. open gives a sender that may call
// loopback.
func Sender(t *testing.T, open func(*testing.T) outbound.Sender) {
	send := func(t *testing.T, m outbound.SignedMessage) event.AttemptResult {
		t.Helper()
		o, err := open(t).Send(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	t.Run("Answers", func(t *testing.T) { senderAnswers(t, send) })
	t.Run("Failures", func(t *testing.T) { senderFailures(t, send) })
	t.Run("Contexts", func(t *testing.T) { senderContexts(t, open) })
}

type sendFunc func(*testing.T, outbound.SignedMessage) event.AttemptResult

func senderAnswers(t *testing.T, send sendFunc) {
	t.Run("the message arrives as it was signed", func(t *testing.T) {
		r := newWebhookReceiver(t, answerStatus(200))
		m := r.message()
		if o := send(t, m); !o.Succeeded() {
			t.Errorf("%+v", o)
		}
		got := map[string]string{"body": r.body, "method": r.last.Method, "uri": r.last.RequestURI}
		for _, name := range []string{domain.WebhookIDHeader, domain.WebhookTimestampHeader, domain.WebhookSignatureHeader, "content-type"} {
			got[name] = strings.Join(r.last.Header.Values(name), "|")
		}
		want := map[string]string{
			"body": string(m.Body), "method": "POST", "uri": "/hooks/a%2Fb?key=value", "content-type": "application/json",
			domain.WebhookIDHeader: "msg_1", domain.WebhookTimestampHeader: m.Signature.Timestamp, domain.WebhookSignatureHeader: m.Signature.Values,
		}
		if diff := cmp.Diff(want, got); diff != "" || r.calls.Load() != 1 {
			t.Errorf("%d calls: %s", r.calls.Load(), diff)
		}
	})

	t.Run("every 2xx is a success, and nothing else is", func(t *testing.T) {
		for _, status := range []int{200, 201, 202, 204, 299, 300, 304, 400, 404, 410, 500, 503, 599} {
			r := newWebhookReceiver(t, answerStatus(status))
			o := send(t, r.message())
			ok := status/100 == 2
			if o.Status != status || o.Succeeded() != ok || (o.Code == "") != ok || (o.Error == "") != ok || o.RetryAfter != 0 {
				t.Errorf("%d: %+v", status, o)
			}
		}
	})

	t.Run("a redirect is not followed", func(t *testing.T) {
		elsewhere := newWebhookReceiver(t, answerStatus(200))
		for _, status := range []int{301, 302, 303, 307, 308} {
			o := send(t, newWebhookReceiver(t, answerStatus(status, "Location", elsewhere.URL)).message())
			if o.Status != status || o.Succeeded() || elsewhere.calls.Load() != 0 {
				t.Errorf("%d: %+v", status, o)
			}
		}
	})

	t.Run("what an answer begins with is kept of a failure only, and no more than permitted", func(t *testing.T) {
		for status, want := range map[int]string{200: "", 500: "it <&> \uFFFD\uFFFD" + strings.Repeat("x", event.MaxExcerpt-13)} {
			o := send(t, newWebhookReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(status)
				_, _ = io.WriteString(w, "it <&> \x00\xff"+strings.Repeat("x", 1<<20)) // the sender may hang up
			}).message())
			if diff := cmp.Diff(want, o.Excerpt); diff != "" {
				t.Errorf("%d: %s", status, diff)
			}
		}
	})

	t.Run("the endpoint may ask to wait, but not for ever", func(t *testing.T) {
		for text, want := range map[string]time.Duration{
			"120": 2 * time.Minute, " 7 ": 7 * time.Second, "0": 0, "-5": 0, "soon": 0, "": 0, "1.5": 0, "Fri, 21 Nov 2025 12:00:00 GMT": 0,
			"99999999": event.MaxRetryAfter, "99999999999999999999": event.MaxRetryAfter, "Fri, 21 Nov 2225 12:00:00 GMT": event.MaxRetryAfter,
		} {
			for status, honoured := range map[int]bool{429: true, 503: true, 500: false} {
				o := send(t, newWebhookReceiver(t, answerStatus(status, "Retry-After", text)).message())
				if honoured && o.RetryAfter != want || !honoured && o.RetryAfter != 0 {
					t.Errorf("%d with %q: %s", status, text, o.RetryAfter)
				}
			}
		}
	})
}

func senderFailures(t *testing.T, send sendFunc) {
	t.Run("what the other side fails to do is an outcome", func(t *testing.T) {
		closed := newWebhookReceiver(t, answerStatus(200))
		closed.Close()
		abort := newWebhookReceiver(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		garbage := newWebhookReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer func(c net.Conn) { _ = c.Close() }(conn)
			_, _ = io.WriteString(conn, "what?\r\n\r\n") // the sender may hang up
		})
		for claim, m := range map[string]outbound.SignedMessage{
			"nobody listens": closed.message(), "it hangs up": abort.message(), "it speaks no HTTP": garbage.message(),
			"the URL is none": {URL: "http://[::1", Body: []byte("{}")}, "its scheme is another": {URL: "ftp://127.0.0.1/", Body: []byte("{}")},
		} {
			o := send(t, m)
			if o.Status != 0 || o.Succeeded() || o.Code == "" || o.Error == "" || strings.Contains(o.Error, "hooks") {
				t.Errorf("%s: %+v", claim, o)
			}
		}
	})

	t.Run("an answer that breaks off is what its status says", func(t *testing.T) {
		for _, status := range []int{200, 500} {
			o := send(t, newWebhookReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "1000")
				w.WriteHeader(status)
				_, _ = io.WriteString(w, "begun") // the rest never comes
			}).message())
			if o.Status != status {
				t.Errorf("%d: %+v", status, o)
			}
		}
	})
}

func senderContexts(t *testing.T, open func(*testing.T) outbound.Sender) {
	t.Run("a context that is done sends nothing", func(t *testing.T) {
		why := errors.New("the process stops")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(why)
		r := newWebhookReceiver(t, answerStatus(200))
		if _, err := open(t).Send(ctx, r.message()); !errors.Is(err, why) || r.calls.Load() != 0 {
			t.Errorf("%d calls: %v", r.calls.Load(), err)
		}
	})

	t.Run("a context that becomes done ends the attempt at once", func(t *testing.T) {
		why := errors.New("the process stops")
		ctx, cancel := context.WithCancelCause(t.Context())
		release := make(chan struct{})
		r := newWebhookReceiver(t, func(http.ResponseWriter, *http.Request) { <-release })
		go func() { <-r.arrived; cancel(why) }()
		_, err := open(t).Send(ctx, r.message())
		close(release)
		if !errors.Is(err, why) {
			t.Error(err)
		}
	})
}
