package httpapi_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/adapters/httpapi"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/inbound"
)

// oneTrigger creates nothing and always answers with the same trigger.
type oneTrigger struct {
	inbound.Triggers
	made *trigger.Trigger
}

func (o oneTrigger) Create(context.Context, tenant.Caller, domain.IdempotencyKey, trigger.Draft) (*trigger.Trigger, error) {
	return o.made, nil
}

// BenchmarkCreateTrigger measures what POST /triggers costs next to the use case: admission,
// the body, what of it is ignored, the answer.
func BenchmarkCreateTrigger(b *testing.B) {
	const body = `{"workflowVersionId":"wfv_01jd2vqk3mfx8s9t0v5w7y1z2a","name":"Order paid","type":"webhook","isActive":true,` +
		`"config":{"webhookConfig":{"event":"order.paid"},"rateLimit":{"maxRequests":100,"windowMs":60000},"timeoutMs":60000}}`
	made := trigger.Restore(trigger.State{ID: "trg_01jd2vqk3mfx8s9t0v5w7y1z2a", Tenant: "tenant_a", Version: "wfv_01jd2vqk3mfx8s9t0v5w7y1z2a",
		Name: "Order paid", Type: trigger.Webhook, Active: true, CreatedAt: noon, UpdatedAt: noon, Revision: 1})
	api, err := httpapi.New(httpapi.Ports{Admission: &fakeAdmission{}, Triggers: oneTrigger{made: made}}, httpapi.Budgeted(httpapi.Options{
		Log: zerolog.Nop(), MaxBody: 1 << 20, Now: time.Now, NewID: func(prefix string) string { return prefix + "_1" },
	}))
	if err != nil {
		b.Fatal(err)
	}
	for name, text := range map[string]string{"known members": body, "one ignored": strings.Replace(body, `"isActive"`, `"enabled"`, 1)} {
		b.Run(name, func(b *testing.B) {
			asked := httptest.NewRequest(http.MethodPost, triggersPath, nil)
			asked.ContentLength = int64(len(text))
			b.ReportAllocs()
			for b.Loop() {
				asked.Body = io.NopCloser(strings.NewReader(text))
				api.ServeHTTP(discarded{make(http.Header, 8)}, asked)
			}
		})
	}
}
