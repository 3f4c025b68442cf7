package main

import (
	"context"
	"net/http"

	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/adapters/budget"
	"github.com/sluicehq/sluice/adapters/egress"
	"github.com/sluicehq/sluice/adapters/limiter/memory"
	"github.com/sluicehq/sluice/adapters/limiter/redis"
	"github.com/sluicehq/sluice/adapters/noderunner"
	"github.com/sluicehq/sluice/adapters/oauth"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/adapters/telemetry"
	"github.com/sluicehq/sluice/adapters/webhook"
	"github.com/sluicehq/sluice/application/usage"
	"github.com/sluicehq/sluice/domain/connection"
	domainusage "github.com/sluicehq/sluice/domain/usage"
	"github.com/sluicehq/sluice/ports/outbound"
)

// outgoing is what the gateway reaches besides its database. All of it is measured.
type outgoing struct {
	limiter outbound.Limiter
	runner  outbound.NodeRunner
	code    outbound.CodeRunner // nil where code is switched off
	tally   *domainusage.Tally
	memory  budget.Memory
	sender  outbound.Sender
	tokens  outbound.TokenEndpoint
	engine  engine // nil for none
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
	engine, err := cfg.openEngine()
	if err != nil {
		return outgoing{}, err
	}
	tally := domainusage.NewTally()
	if code != nil {
		code = usage.NewCodeRunner(code, tally)
	}
	runner := noderunner.New(noderunner.Options{
		Code:  code,
		Clock: system.Clock{}, Follow: nodes.Client(egress.Follow), Stay: nodes.Client(egress.Stay), UserAgent: "Sluice/" + version,
		Bearing: func(c connection.Credential, follow bool) noderunner.Caller {
			return nodes.Bearing(c, egress.Redirects(follow))
		},
	})
	return outgoing{
		limiter: limiter,
		runner:  metrics.NodeRunner(runner),
		code:    code,
		tally:   tally,
		memory:  divided,
		engine:  engine,
		sender: metrics.Sender(webhook.New(webhooks.Client(egress.Stay), system.Clock{}, version).
			Bearing(func(c connection.Credential) *http.Client { return webhooks.Bearing(c, egress.Stay) })),
		tokens: metrics.TokenEndpoint(oauth.New(nodes.Client(egress.Stay))),
		close: func() {
			closeCode()
			if engine != nil {
				engine.Close()
			}
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
