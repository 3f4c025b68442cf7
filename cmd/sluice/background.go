package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// startBackground begins what a process of the role does besides answering requests. When
// ctx ends no new work begins, while requests may still be answered. stop returns when all
// of it has ended.
func (g gateway) startBackground(ctx context.Context, log zerolog.Logger, does role, changes outbound.Changes) (stop func()) {
	listening, stopListening := context.WithCancel(context.WithoutCancel(ctx)) // until the end: the work depends on it
	var listeners sync.WaitGroup
	listeners.Go(func() { watchChanges(listening, log, changes, g.Directory) })
	listeners.Go(func() {
		g.Signals.Run(listening, throttledLogger(log, "signals about runs were lost; the runs are found a second later"))
	})
	listeners.Go(func() { runLoop(listening, log, "keeping usage", g.Usage) })
	working, stopWorking := context.WithCancel(ctx)
	var workers sync.WaitGroup
	workers.Go(func() { runLoop(working, log, "sending mail", g.MailQueue) }) // in each process that knows a mail server
	if does.works() {
		workers.Go(func() { sweepRegularly(working, log, g.Upkeep, g.Sealer, g.Grants, g.secrets) })
		workers.Go(func() { runLoop(working, log, "sealing the audit log", g.Sealer) })
		workers.Go(func() { runLoop(working, log, "delivering webhooks", g.Dispatcher) })
		workers.Go(func() { runLoop(working, log, "firing schedules", g.Scheduler) })
		workers.Go(func() { runLoop(working, log, "moving runs on", g.Worker) })
		if g.engine != nil {
			workers.Go(func() { g.serveEngine(working, log) })
		}
		workers.Go(func() { runLoop(working, log, "working on jobs", g.JobWorker) })
	}
	return func() {
		stopWorking()
		workers.Wait()
		stopListening()
		listeners.Wait()
	}
}

// watchRetryPause is how long to wait before changes are followed again.
const watchRetryPause = time.Second

// watchChanges keeps what a directory remembers up to date until ctx ends. While it
// cannot, the directory asks the database each time.
func watchChanges(ctx context.Context, log zerolog.Logger, changes outbound.Changes, w outbound.Watcher) {
	for ctx.Err() == nil {
		if err := changes.Watch(ctx, w); err != nil {
			log.Warn().Err(err).Msg("cannot follow what other processes change; keys are looked up in the database each time")
		}
		select {
		case <-ctx.Done():
		case <-time.After(watchRetryPause):
		}
	}
}

// loop fires schedules, moves runs on, works on jobs, delivers webhooks or sends mail.
type loop interface {
	Run(ctx context.Context, failed func(error))
	Panics() int64
}

// runLoop runs a loop to its end. Every panic is logged: it is a defect.
func runLoop(ctx context.Context, log zerolog.Logger, what string, l loop) {
	warn := throttledLogger(log, what+" failed; it is tried again")
	l.Run(ctx, func(err error) {
		if thrown, panicked := errors.AsType[*inbound.Panic](err); panicked {
			log.Error().Err(err).Bytes("stack", thrown.Stack).Int64("panics", l.Panics()).Msg(what + " panicked; it continues")
			return
		}
		warn(err)
	})
}

// warnInterval bounds how often failures of a loop are logged: while the database is gone
// there is one every second.
const warnInterval = 10 * time.Second

// throttledLogger logs failures at most every [warnInterval], with how many were left out.
func throttledLogger(log zerolog.Logger, message string) func(error) {
	var logged time.Time
	var omitted int
	return func(err error) {
		if now := time.Now(); now.Sub(logged) >= warnInterval {
			log.Warn().Err(err).Int("omitted", omitted).Msg(message)
			logged, omitted = now, 0
			return
		}
		omitted++
	}
}

// sweepInterval is about how often expired records are removed. Each process waits a
// different while, so that several of them take turns.
const sweepInterval = time.Minute

// sweepRegularly removes expired records until ctx ends.
func sweepRegularly(ctx context.Context, log zerolog.Logger, upkeep inbound.Upkeep, sealer inbound.AuditSealer, grants inbound.GrantKeeper, secrets inbound.Secrets) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(sweepInterval/2 + rand.N(sweepInterval)):
		}
		sweep(ctx, log, "idempotency records", upkeep.SweepOutcomes)
		sweep(ctx, log, "fires of triggers", upkeep.SweepFires)
		sweep(ctx, log, "triggers that were left behind", upkeep.SweepLeft)
		sweep(ctx, log, "outgoing events", upkeep.SweepEvents)
		sweep(ctx, log, "finished runs", upkeep.SweepRuns)
		sweep(ctx, log, "deliveries to hooks", upkeep.SweepHookDeliveries)
		sweep(ctx, log, "keys of deliveries to hooks", upkeep.SweepHookKeys)
		sweep(ctx, log, "runs of deleted workflows", upkeep.CancelOrphans)
		sweep(ctx, log, "processes that died", upkeep.SweepProcesses)
		sweep(ctx, log, "jobs that have ended", upkeep.SweepJobs)
		sweep(ctx, log, "embed tokens that have expired", upkeep.SweepEmbedTokens)
		sweep(ctx, log, "sessions and links that have ended", upkeep.SweepSessions)
		sweep(ctx, log, "entries of the audit log", sealer.Prune)
		renewGrants(ctx, log, grants)
		encryptSecrets(ctx, log, secrets)
	}
}

// renewGrants renews what authorization servers would forget because nobody uses it.
func renewGrants(ctx context.Context, log zerolog.Logger, grants inbound.GrantKeeper) {
	renewed, err := grants.RenewUnused(ctx)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		log.Warn().Err(err).Msg("renewing unused grants of connections failed; it is tried again later")
	case renewed > 0:
		log.Debug().Int("renewed", renewed).Msg("renewed unused grants of connections")
	}
}

// encryptSecrets encrypts what is still in clear, or encrypted by a key that was replaced.
func encryptSecrets(ctx context.Context, log zerolog.Logger, secrets inbound.Secrets) {
	n, err := secrets.Complete(ctx)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		log.Warn().Err(err).Msg("encrypting secrets that were kept otherwise failed; it is tried again later")
	case n > 0:
		log.Info().Int("secrets", n).Msg("encrypted secrets that were in clear, or encrypted by a key that was replaced")
	}
}

// sweep removes expired records of one kind and logs it.
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
