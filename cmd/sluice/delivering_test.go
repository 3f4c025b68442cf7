package main

import (
	"bytes"
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/adapters/telemetry"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/ports/outbound"
)

// failingDispatcher fails each second.
type failingDispatcher struct{}

func (failingDispatcher) Panics() int64 { return 0 }

func (failingDispatcher) Run(ctx context.Context, failed func(error)) {
	for ctx.Err() == nil {
		failed(errors.New("the database is gone"))
		time.Sleep(time.Second)
	}
}

func TestWhatFailsEachSecondIsLoggedNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), 25*time.Second)
		defer stop()
		var log bytes.Buffer
		keepGoing(ctx, zerolog.New(&log), "delivering webhooks", failingDispatcher{})
		if n := strings.Count(log.String(), "the database is gone"); n != 3 || !strings.Contains(log.String(), `"unsaid":9`) {
			t.Errorf("%d lines: %s", n, log.String())
		}
	})
}

// scripted is a sender that ends as it is told.
type scripted struct {
	event.Outcome
	err error
}

func (s scripted) Send(context.Context, outbound.SignedMessage) (event.Outcome, error) {
	return s.Outcome, s.err
}

func TestEachAttemptIsCountedAsWhatItWas(t *testing.T) {
	for want, s := range map[string]scripted{
		"delivered": {Outcome: event.Outcome{Status: 204}},
		"rejected":  {Outcome: event.Outcome{Status: 503, Code: "unexpected_status"}},
		"timeout":   {Outcome: event.Outcome{Code: "timeout"}},
		"blocked":   {Outcome: event.Outcome{Code: "address_refused"}},
		"failed":    {Outcome: event.Outcome{Code: "connection_failed"}},
		"aborted":   {err: errors.New("the process stops")},
	} {
		m := telemetry.New("test")
		m.LabelTenants("tenant_1")
		if o, err := (countedSender{s, m}).Send(t.Context(), outbound.SignedMessage{Tenant: "tenant_1"}); o != s.Outcome || !errors.Is(err, s.err) {
			t.Errorf("%s: the outcome became %+v, %v", want, o, err)
		}
		w := httptest.NewRecorder()
		m.Handler(zerolog.Nop()).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
		for outcome, count := range map[string]bool{"succeeded": want == "delivered", "failed": want != "delivered" && want != "aborted"} {
			line := `sluice_tenant_calls_total{call="webhook",outcome="` + outcome + `",tenant="tenant_1"} 1` + "\n"
			if strings.Contains(w.Body.String(), line) != count {
				t.Errorf("%s: counted as %s: %v", want, outcome, !count)
			}
		}
		for _, o := range telemetry.AttemptOutcomes() {
			count := "0"
			if string(o) == want {
				count = "1"
			}
			if line := `sluice_webhook_attempt_duration_seconds_count{outcome="` + string(o) + `"} ` + count + "\n"; !strings.Contains(w.Body.String(), line) {
				t.Errorf("%s: there is no %s", want, line)
			}
		}
	}
}
