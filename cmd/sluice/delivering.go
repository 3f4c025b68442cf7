package main

import (
	"context"
	"strings"
	"time"

	"github.com/sluicehq/sluice/adapters/egress"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/adapters/telemetry"
	"github.com/sluicehq/sluice/adapters/webhook"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/ports/outbound"
)

// complainEvery bounds how often failures of what goes on are logged: while the database
// is gone there is one every second.
const complainEvery = 10 * time.Second

// sender returns what sends webhooks, only to where the configuration lets it, and
// counts them; and what closes it.
func (w *watching) sender(cfg config) (sender outbound.Sender, closeSender func()) {
	guard := egress.New(egress.Options{Allow: cfg.egressAllow})
	return countedSender{webhook.New(guard.Client(egress.Stay), system.Clock{}, version), w.metrics}, guard.Close
}

// countedSender counts what is sent.
type countedSender struct {
	outbound.Sender
	metrics *telemetry.Metrics
}

// Send counts how it ends.
func (s countedSender) Send(ctx context.Context, m outbound.SignedMessage) (event.Outcome, error) {
	began := time.Now()
	o, err := s.Sender.Send(ctx, m)
	if err != nil {
		s.metrics.WebhookAttempted(telemetry.AttemptAborted, time.Since(began))
		return o, err
	}
	s.metrics.WebhookAttempted(outcomeOf(o), o.Duration)
	s.metrics.TenantCalled(m.Tenant, telemetry.CallWebhook, o.Succeeded())
	return o, nil
}

func outcomeOf(o event.Outcome) telemetry.AttemptOutcome {
	switch {
	case o.Succeeded():
		return telemetry.AttemptDelivered
	case o.Status != 0:
		return telemetry.AttemptRejected
	case o.Code == "timeout":
		return telemetry.AttemptTimeout
	case strings.HasSuffix(o.Code, "_refused"):
		return telemetry.AttemptBlocked
	default:
		return telemetry.AttemptFailed
	}
}
