package main

import (
	"context"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/adapters/budget"
	"github.com/sluicehq/sluice/adapters/egress"
	"github.com/sluicehq/sluice/adapters/limiter/memory"
	"github.com/sluicehq/sluice/adapters/limiter/redis"
	"github.com/sluicehq/sluice/adapters/noderunner"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/adapters/telemetry"
	"github.com/sluicehq/sluice/adapters/webhook"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/ports/outbound"
)

// outgoing is what the gateway reaches besides its database. All of it is measured.
type outgoing struct {
	limiter outbound.Limiter
	runner  outbound.NodeRunner
	code    outbound.CodeRunner // nil where code is switched off
	memory  budget.Memory
	sender  outbound.Sender
	close   func()
}

// openOutgoing connects it. Calls go only to where the configuration lets them.
func openOutgoing(ctx context.Context, log zerolog.Logger, cfg config, metrics *telemetry.Metrics) (outgoing, error) {
	limiter, closeLimiter, err := openLimiter(ctx, log, cfg, metrics)
	if err != nil {
		return outgoing{}, err
	}
	nodes, webhooks := egress.New(egress.Options{Allow: cfg.egressAllow}), egress.New(egress.Options{Allow: cfg.egressAllow})
	divided := cfg.memory()
	code, closeCode, err := openCode(cfg, divided)
	if err != nil {
		return outgoing{}, err
	}
	runner := noderunner.New(noderunner.Options{
		Code:  code,
		Clock: system.Clock{}, Follow: nodes.Client(egress.Follow), Stay: nodes.Client(egress.Stay), UserAgent: "Sluice/" + version,
	})
	return outgoing{
		limiter: limiter,
		runner:  countedRunner{runner, metrics},
		code:    code,
		memory:  divided,
		sender:  countedSender{webhook.New(webhooks.Client(egress.Stay), system.Clock{}, version), metrics},
		close: func() {
			closeCode()
			webhooks.Close()
			nodes.Close()
			_ = closeLimiter() // places that are not given back expire
		},
	}, nil
}

// openLimiter returns what counts requests: this process alone, or all processes that share
// the configured Redis.
func openLimiter(ctx context.Context, log zerolog.Logger, cfg config, metrics *telemetry.Metrics) (limiter outbound.Limiter, closeLimiter func() error, err error) {
	local := memory.New(system.Clock{})
	if cfg.RedisURL == "" {
		return local, func() error { return nil }, nil
	}
	shared, err := redis.New(ctx, cfg.RedisURL, local, redis.Options{
		OnOutage: func(reason error) {
			metrics.LimiterFallback(true)
			log.Warn().Err(reason).Msg("Redis does not answer; each process counts alone until it does")
		},
		OnRecovery: func() {
			metrics.LimiterFallback(false)
			log.Info().Msg("Redis answers again; limits are shared by all processes")
		},
		OnFallback: metrics.LimiterDecidedAlone,
	})
	if err != nil {
		return nil, nil, err
	}
	return shared, shared.Close, nil
}

// countedSender counts the attempts to send webhooks.
type countedSender struct {
	outbound.Sender
	metrics *telemetry.Metrics
}

// Send counts how it ends.
func (s countedSender) Send(ctx context.Context, m outbound.SignedMessage) (event.AttemptResult, error) {
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

func outcomeOf(o event.AttemptResult) telemetry.AttemptOutcome {
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

// countedRunner counts the attempts at nodes.
type countedRunner struct {
	outbound.NodeRunner
	metrics *telemetry.Metrics
}

// Run counts how the attempt ends.
func (r countedRunner) Run(ctx context.Context, call outbound.NodeCall) (outbound.NodeOutcome, error) {
	began := time.Now()
	o, err := r.NodeRunner.Run(ctx, call)
	kind := telemetry.NodeKindOf(call.Type)
	outcome := nodeOutcome(o, err)
	r.metrics.NodeAttempted(kind, outcome, time.Since(began))
	if kind == telemetry.NodeCustom && outcome != telemetry.NodeAborted {
		r.metrics.TenantCalled(call.Tenant, telemetry.CallCustomNode, outcome != telemetry.NodeFailed)
	}
	return o, err
}

func nodeOutcome(o outbound.NodeOutcome, err error) telemetry.NodeOutcome {
	if err != nil {
		return telemetry.NodeAborted
	}
	switch o.(type) {
	case outbound.NodeCompleted:
		return telemetry.NodeCompleted
	case outbound.NodePaused:
		return telemetry.NodePaused
	default:
		return telemetry.NodeFailed
	}
}
