package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/ports/inbound"
)

// countingUpkeep fails the first time.
type countingUpkeep struct {
	inbound.AuditSealer
	swept, fires, left, events, runs, orphans, processes, jobs, received, keys, tokens, sessions, entries, grants int
}

func (c *countingUpkeep) SweepOutcomes(context.Context) (int, error) {
	if c.swept++; c.swept == 1 {
		return 0, errors.New("the database is gone")
	}
	return 3, nil
}

func (c *countingUpkeep) SweepFires(context.Context) (int, error) {
	c.fires++
	return 0, nil
}

func (c *countingUpkeep) SweepLeft(context.Context) (int, error) {
	c.left++
	return 0, nil
}

func (c *countingUpkeep) SweepEvents(context.Context) (int, error) {
	c.events++
	return 0, nil
}

func (c *countingUpkeep) SweepRuns(context.Context) (int, error) {
	c.runs++
	return 0, nil
}

func (c *countingUpkeep) CancelOrphans(context.Context) (int, error) {
	c.orphans++
	return 0, nil
}

func (c *countingUpkeep) SweepProcesses(context.Context) (int, error) {
	c.processes++
	return 0, nil
}

func (c *countingUpkeep) SweepHookDeliveries(context.Context) (int, error) {
	c.received++
	return 0, nil
}

func (c *countingUpkeep) SweepHookKeys(context.Context) (int, error) {
	c.keys++
	return 0, nil
}

func (c *countingUpkeep) SweepEmbedTokens(context.Context) (int, error) {
	c.tokens++
	return 0, nil
}

func (c *countingUpkeep) SweepSessions(context.Context) (int, error) {
	c.sessions++
	return 0, nil
}

func (c *countingUpkeep) Prune(context.Context) (int, error) {
	c.entries++
	return 0, nil
}

func (c *countingUpkeep) SweepJobs(context.Context) (int, error) {
	c.jobs++
	return 0, nil
}

func (c *countingUpkeep) RenewUnused(context.Context) (int, error) {
	c.grants++
	return 0, nil
}

func TestExpiredRecordsAreSweptAgainAndAgainUntilTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var log bytes.Buffer
		upkeep := &countingUpkeep{}
		ended := make(chan struct{})
		go func() {
			sweepRegularly(ctx, zerolog.New(&log), upkeep, upkeep, upkeep, nothingToEncrypt{})
			close(ended)
		}()
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		stop()
		<-ended
		if upkeep.swept < 24*40 || upkeep.swept > 24*120 {
			t.Errorf("swept %d times in a day", upkeep.swept)
		}
		if upkeep.fires != upkeep.swept || upkeep.left != upkeep.swept || upkeep.events != upkeep.swept || upkeep.runs != upkeep.swept || upkeep.orphans != upkeep.swept || upkeep.processes != upkeep.swept || upkeep.jobs != upkeep.swept || upkeep.received != upkeep.swept || upkeep.keys != upkeep.swept || upkeep.tokens != upkeep.swept || upkeep.sessions != upkeep.swept || upkeep.entries != upkeep.swept || upkeep.grants != upkeep.swept {
			t.Errorf("the ledger was swept %d times, what was left behind %d times, the events %d times, the runs %d times, the orphans %d times, the processes %d times, the jobs %d times, the deliveries %d times, their keys %d times, embed tokens %d times, sessions %d times, the audit log %d times, the grants %d times", upkeep.fires, upkeep.left, upkeep.events, upkeep.runs, upkeep.orphans, upkeep.processes, upkeep.jobs, upkeep.received, upkeep.keys, upkeep.tokens, upkeep.sessions, upkeep.entries, upkeep.grants)
		}
		if !strings.Contains(log.String(), "the database is gone") || !strings.Contains(log.String(), `"removed":3`) {
			t.Errorf("the log says %s", log.String())
		}
	})
}

// nothingToEncrypt is a database whose secrets are all encrypted.
type nothingToEncrypt struct{ inbound.Secrets }

func (nothingToEncrypt) Complete(context.Context) (int, error) { return 0, nil }
