package main

import (
	"context"
	"net"

	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	domainrun "github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// engine is one besides the table. Its client is twice as large as the rest of the gateway, so only
// binaries with the build tag temporal have it.
type engine interface {
	outbound.Engine

	// Serve moves runs on that the engine brings, as many at a time, until ctx ends.
	Serve(ctx context.Context, mover inbound.Worker, concurrency int, failed func(error))

	// KeepWith has the engine keep what runs have done, sealed by a cipher.
	KeepWith(cipher outbound.Cipher, keysets outbound.Keysets)

	// Failed returns how often the engine did not take a run since the start.
	Failed() int64
	Close()
}

// checkEngine checks what is said of the engine of runs.
func (c config) checkEngine(check func(ok bool, name, message string)) {
	begins := domainrun.Engine(c.Engine)
	check(begins == domainrun.EngineTable || begins == domainrun.EngineTemporal, "ENGINE", "must be table or temporal")
	check(begins != domainrun.EngineTemporal || c.TemporalAddress != "", "TEMPORAL_ADDRESS", "must be set with SLUICE_ENGINE=temporal, such as temporal.internal:7233")
	if c.TemporalAddress == "" {
		return
	}
	host, _, err := net.SplitHostPort(c.TemporalAddress)
	check(err == nil && host != "", "TEMPORAL_ADDRESS", "must be a host and a port, such as temporal.internal:7233")
	check(hasTemporal, "TEMPORAL_ADDRESS", "needs a binary that was built with the tag temporal")
	check(c.TemporalSpace != "", "TEMPORAL_NAMESPACE", "must not be empty")
	check(c.TemporalQueue != "", "TEMPORAL_TASK_QUEUE", "must not be empty")
	check((c.TemporalCert == "") == (c.TemporalKey == ""), "TEMPORAL_TLS_CERT", "and SLUICE_TEMPORAL_TLS_KEY go together; set both or none")
	if err := c.checkTemporal(); err != nil {
		check(false, "TEMPORAL_TLS_CERT", "and what belongs to it: "+err.Error())
	}
}

// useEngine says with which engine runs begin that this process starts, and which it serves.
func (c config) useEngine(store *sqlstore.Store) {
	store.Runs.Begins, store.Runs.ServesTemporal = domainrun.Engine(c.Engine), c.TemporalAddress != ""
}

// openEngine returns nil where there is only the table.
func (c config) openEngine() (engine, error) {
	if c.TemporalAddress == "" {
		return nil, nil //nolint:nilnil // none is no mistake
	}
	return c.newTemporal()
}

// serveEngine moves on what the engine brings.
func (g gateway) serveEngine(ctx context.Context, log zerolog.Logger) {
	g.engine.Serve(ctx, g.Worker, g.places, throttledLogger(log, "Temporal cannot be reached; its runs wait until it can"))
}
