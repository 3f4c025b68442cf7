package telemetry_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/adapters/telemetry"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/ports/outbound"
)

// scripted is a sender that ends as it is told.
type scripted struct {
	event.AttemptResult
	err error
}

func (s scripted) Send(context.Context, outbound.SignedMessage) (event.AttemptResult, error) {
	return s.AttemptResult, s.err
}

func TestEachAttemptIsCountedAsWhatItWas(t *testing.T) {
	for want, s := range map[string]scripted{
		"delivered": {AttemptResult: event.AttemptResult{Status: 204}},
		"rejected":  {AttemptResult: event.AttemptResult{Status: 503, Code: "unexpected_status"}},
		"timeout":   {AttemptResult: event.AttemptResult{Code: "timeout"}},
		"blocked":   {AttemptResult: event.AttemptResult{Code: "address_refused"}},
		"failed":    {AttemptResult: event.AttemptResult{Code: "connection_failed"}},
		"aborted":   {err: errors.New("the process stops")},
	} {
		m := telemetry.New("test")
		m.LabelTenants("tenant_1")
		if o, err := m.Sender(s).Send(t.Context(), outbound.SignedMessage{Tenant: "tenant_1"}); o != s.AttemptResult || !errors.Is(err, s.err) {
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
		for _, o := range []string{"delivered", "rejected", "timeout", "blocked", "failed", "aborted"} {
			count := "0"
			if o == want {
				count = "1"
			}
			if line := `sluice_webhook_attempt_duration_seconds_count{outcome="` + o + `"} ` + count + "\n"; !strings.Contains(w.Body.String(), line) {
				t.Errorf("%s: there is no %s", want, line)
			}
		}
	}
}
