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

// openLimiter returns the limiter of this process, or, where a Redis is configured, one
// that all processes share. closeLimiter releases its places.
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
