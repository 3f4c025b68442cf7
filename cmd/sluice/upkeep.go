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
		sweep(ctx, log, "idempotency records", upkeep.SweepOutcomes)
		sweep(ctx, log, "fires of triggers", upkeep.SweepFires)
		sweep(ctx, log, "outgoing events", upkeep.SweepEvents)
		sweep(ctx, log, "finished runs", upkeep.SweepRuns)
		sweep(ctx, log, "runs of deleted workflows", upkeep.CancelOrphans)
	}
}

// sweep removes expired records of one sort and says so in the log.
func sweep(ctx context.Context, log zerolog.Logger, what string, remove func(context.Context) (int, error)) {
	removed, err := remove(ctx)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		log.Warn().Err(err).Str("records", what).Msg("sweeping expired records failed; it is tried again later")
	case removed > 0:
		log.Debug().Int("removed", removed).Str("records", what).Msg("swept expired records")
	}
}
