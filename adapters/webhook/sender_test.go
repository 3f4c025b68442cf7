package webhook_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/sluicehq/sluice/adapters/webhook"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

// wall is the clock of the machine, or of the test's bubble.
type wall struct{}

func (wall) Now() time.Time { return time.Now().UTC() }

func TestTheSenderKeepsItsContract(t *testing.T) {
	portstest.Sender(t, func(t *testing.T) outbound.Sender {
		client := &http.Client{Transport: &http.Transport{Proxy: nil}}
		t.Cleanup(client.CloseIdleConnections)
		return webhook.New(client, wall{}, "1.2.3")
	})
}

// transport answers in place of the network.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// send sends a message through the transport.
func send(ctx context.Context, f transport) (event.AttemptResult, error) {
	body := []byte(`{"id":"evt_1"}`)
	m := outbound.SignedMessage{URL: "https://example.com/secret", Body: body, Signature: domain.Sign(nil, "msg_1", time.Now(), body)}
	return webhook.New(&http.Client{Transport: f}, wall{}, "1.2.3").Send(ctx, m)
}

func answer(status int, body io.Reader) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(body)}
}

func TestAnEndpointHasFifteenSecondsToAnswer(t *testing.T) {
	for claim, c := range map[string]struct {
		takes time.Duration
		want  event.AttemptResult
	}{
		"just in time": {15*time.Second - time.Millisecond, event.AttemptResult{Status: 200, Duration: 15*time.Second - time.Millisecond}},
		"too late": {15*time.Second + time.Millisecond, event.AttemptResult{
			Duration: 15 * time.Second, Code: "timeout", Error: "example.com did not answer within 15 seconds.",
		}},
		"never": {time.Hour, event.AttemptResult{Duration: 15 * time.Second, Code: "timeout", Error: "example.com did not answer within 15 seconds."}},
	} {
		t.Run(claim, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o, err := send(t.Context(), func(req *http.Request) (*http.Response, error) {
					select {
					case <-time.After(c.takes):
						return answer(200, strings.NewReader("")), nil
					case <-req.Context().Done():
						return nil, req.Context().Err()
					}
				})
				if diff := cmp.Diff(c.want, o); diff != "" || err != nil {
					t.Errorf("%v: %s", err, diff)
				}
			})
		})
	}
}

// dripping gives a byte every two seconds, as long as the call may last.
type dripping struct {
	ctx  context.Context
	read int
}

func (d *dripping) Read(p []byte) (int, error) {
	select {
	case <-time.After(2 * time.Second):
		d.read++
		p[0] = 'x'
		return 1, nil
	case <-d.ctx.Done():
		return 0, d.ctx.Err()
	}
}

// The status decides, and came in time; what follows is not waited for any longer.
func TestAnAnswerThatDripsHoldsNobodyUp(t *testing.T) {
	for status, c := range map[int]struct {
		want  event.AttemptResult
		after time.Duration
	}{
		200: {event.AttemptResult{Status: 200}, time.Second},
		500: {event.AttemptResult{
			Status: 500, Code: "unexpected_status", Error: "example.com answered 500 Internal Server Error.", Excerpt: strings.Repeat("x", 7),
		}, event.SendTimeout},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			o, err := send(t.Context(), func(req *http.Request) (*http.Response, error) {
				return answer(status, &dripping{ctx: req.Context()}), nil
			})
			if diff := cmp.Diff(c.want, o); diff != "" || err != nil || time.Since(began) != c.after {
				t.Errorf("after %s, %v: %s", time.Since(began), err, diff)
			}
		})
	}
}

// endless counts what is read of it.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	e.read += len(p)
	return len(p), nil
}

func TestNoMoreOfAnAnswerIsReadThanPermitted(t *testing.T) {
	for _, status := range []int{200, 500} {
		var body endless
		if _, err := send(t.Context(), func(*http.Request) (*http.Response, error) { return answer(status, &body), nil }); err != nil || body.read > 64<<10 {
			t.Errorf("%d: %d bytes were read: %v", status, body.read, err)
		}
	}
}

// slowError is what net/http says when a client's own time is over.
type slowError struct{}

func (slowError) Error() string   { return "10.0.0.1: i/o timeout" }
func (slowError) Timeout() bool   { return true }
func (slowError) Temporary() bool { return true }

func TestAFailureToCallTellsNothingOfTheNetwork(t *testing.T) {
	for claim, c := range map[string]struct {
		err  error
		want event.AttemptResult
	}{
		"what the client refuses is passed on": {
			domain.Fail(domain.Forbidden, "address_refused", "The address of example.com is not one that calls may go to.").Because(errors.New("10.0.0.1")),
			event.AttemptResult{Code: "address_refused", Error: "The address of example.com is not one that calls may go to."},
		},
		"anything else is not": {errors.New("dial 10.0.0.1: no route"), event.AttemptResult{Code: "connection_failed", Error: "example.com could not be reached, or gave no answer that can be read."}},
		"the client is slow":   {slowError{}, event.AttemptResult{Code: "timeout", Error: "example.com did not answer in time."}},
	} {
		synctest.Test(t, func(t *testing.T) {
			o, err := send(t.Context(), func(*http.Request) (*http.Response, error) { return nil, c.err })
			if diff := cmp.Diff(c.want, o); diff != "" || err != nil {
				t.Errorf("%s: %v: %s", claim, err, diff)
			}
		})
	}
}

func TestAMessageSaysWhoSendsItAndIsVerifiedByTheStandardsOwnLibrary(t *testing.T) {
	secret := domain.NewSigningSecret([domain.SecretEntropy]byte{1, 2, 3})
	receiver, err := standardwebhooks.NewWebhook(secret.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err == nil {
			err = receiver.Verify(body, req.Header) // the time of the attempt, too
		}
		if agent := req.UserAgent(); err != nil || agent != "Sluice-Webhook/1.2.3" {
			t.Errorf("%s: %v", agent, err)
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(server.Close)
	body := []byte(`{"id":"evt_1","type":"run.failed"}`)
	m := outbound.SignedMessage{URL: server.URL, Body: body, Signature: domain.Sign([]domain.SigningSecret{domain.NewSigningSecret([domain.SecretEntropy]byte{}), secret}, "msg_1", time.Now(), body)}
	o, err := webhook.New(server.Client(), wall{}, "1.2.3").Send(t.Context(), m)
	if err != nil || o.Status != http.StatusNoContent {
		t.Errorf("%+v, %v", o, err)
	}
}

// What the client does with redirects is not the sender's business, and stays as it was.
func TestTheClientIsNotChanged(t *testing.T) {
	client := &http.Client{}
	if webhook.New(client, wall{}, "1"); client.CheckRedirect != nil {
		t.Error("the client was changed")
	}
}
