package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/domain"
	domainprocess "github.com/sluicehq/sluice/domain/process"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// linkedLevel is set by tests that build a binary of another feature level.
var linkedLevel string

// featureLevel is that of this binary.
func featureLevel() domainprocess.Level {
	if n, err := strconv.Atoi(linkedLevel); err == nil {
		return domainprocess.Level(n)
	}
	return domainprocess.Latest
}

// describeProcess is this process as the others see it.
func describeProcess(does role) domainprocess.Process {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	id := fmt.Sprintf("%s/%d/%s", host, os.Getpid(), system.Random{}.ID("start")) // a container's process has the same number each time
	return domainprocess.Process{ID: domainprocess.ID(id), Version: version, Level: featureLevel(), Role: string(does)}
}

const (
	heartbeatTimeout = 5 * time.Second
	heartbeatRetry   = time.Second
)

// keepHeartbeat makes the process known to the others, which may refuse it, until leave is
// called. outdated is called when it has to end.
func keepHeartbeat(ctx context.Context, log zerolog.Logger, all inbound.Processes, self domainprocess.Process, outdated func(error)) (leave func(), err error) {
	if err := sendHeartbeat(ctx, all, self); err != nil {
		return nil, err
	}
	beating, stop := context.WithCancel(context.WithoutCancel(ctx))
	var done sync.WaitGroup
	done.Go(func() { sendHeartbeats(beating, log, all, self, outdated) })
	return func() {
		stop()
		done.Wait()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), heartbeatTimeout)
		defer cancel()
		if err := all.Remove(ctx, self.ID); err != nil {
			log.Warn().Err(err).Msg("other processes take this one for alive for some time")
		}
	}, nil
}

func sendHeartbeat(ctx context.Context, all inbound.Processes, self domainprocess.Process) error {
	ctx, cancel := context.WithTimeout(ctx, heartbeatTimeout)
	defer cancel()
	return all.Heartbeat(ctx, self)
}

func sendHeartbeats(ctx context.Context, log zerolog.Logger, all inbound.Processes, self domainprocess.Process, outdated func(error)) {
	warn := throttledLogger(log, "the heartbeat failed; it is tried again")
	for wait := domainprocess.HeartbeatInterval; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		wait = domainprocess.HeartbeatInterval
		switch err := sendHeartbeat(ctx, all, self); {
		case err == nil || ctx.Err() != nil:
		case isOutdated(err):
			log.Error().Err(err).Msg("this process is too old for what others use meanwhile; it stops")
			outdated(err)
			return
		default:
			warn(err)
			wait = heartbeatRetry
		}
	}
}

func isOutdated(err error) bool { return domain.KindOf(err) == domain.Conflict }

// supportsDatabase refuses a command of a version that is too old for what the database is
// used for.
func supportsDatabase(ctx context.Context, store *sqlstore.Store) error {
	return store.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		required, err := st.Processes.Required(ctx)
		if err == nil && required > featureLevel() {
			return fmt.Errorf("the database is in use at feature level %d, and this version has %d; use the version that the gateway runs", required, featureLevel())
		}
		return err
	})
}
