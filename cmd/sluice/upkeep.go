package main

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/ports/inbound"
)

// sweepEvery is about how often expired records are removed. Each process waits a
// different while, so that several of them take turns.
const sweepEvery = 10 * time.Minute

// keepUp does the gateway's upkeep until ctx ends.
func keepUp(ctx context.Context, log zerolog.Logger, upkeep inbound.Upkeep) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(sweepEvery/2 + rand.N(sweepEvery)):
		}
		removed, err := upkeep.SweepOutcomes(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			log.Warn().Err(err).Msg("sweeping expired idempotency records failed; it is tried again later")
		case removed > 0:
			log.Debug().Int("removed", removed).Msg("swept expired idempotency records")
		}
	}
}
