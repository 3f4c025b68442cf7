package main

import (
	"context"

	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/adapters/limiter/memory"
	"github.com/sluicehq/sluice/adapters/limiter/redis"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/adapters/telemetry"
	"github.com/sluicehq/sluice/ports/outbound"
)

// openLimiter returns what counts requests: this process alone, or, where a Redis is
// configured, together with all processes that share it. close gives the places back.
func openLimiter(ctx context.Context, log zerolog.Logger, cfg config, metrics *telemetry.Metrics) (limiter outbound.Limiter, closeLimiter func() error, err error) {
	own := memory.New(system.Clock{})
	if cfg.RedisURL == "" {
		return own, func() error { return nil }, nil
	}
	shared, err := redis.New(ctx, cfg.RedisURL, own, redis.Options{
		Warn: func(reason error) {
			metrics.LimiterFallback(true)
			log.Warn().Err(reason).Msg("Redis does not answer; each process counts alone until it does")
		},
		Restored: func() {
			metrics.LimiterFallback(false)
			log.Info().Msg("Redis answers again; limits are shared by all processes")
		},
		FellBack: metrics.LimiterDecidedAlone,
	})
	if err != nil {
		return nil, nil, err
	}
	return shared, shared.Close, nil
}
