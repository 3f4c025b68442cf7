package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

const sideConnections = 16

// side is a gateway with a database and a workflow of its own.
type side struct {
	env
	workflow workflow
}

func (e *env) newSide(ctx context.Context, name, binary string) (s *side, err error) {
	address, err := e.database.CreateDatabase(ctx, "side_"+name)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("postgres", address)
	if err != nil {
		return nil, err
	}
	s = &side{env: *e}
	s.closers = nil
	s.database = &database{&harness.Postgres{Instance: e.database.Instance, DB: db}}
	if s.gateway, err = harness.NewGateway(name, binary, address, e.dir); err == nil {
		err = s.gateway.StartReady(ctx)
	}
	if err == nil {
		s.workflow, err = s.newWorkflow(ctx, "bench runs of "+name, transformNodes()...)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *side) close() {
	if s.gateway != nil {
		s.gateway.Stop()
	}
	_ = s.database.DB.Close() // nothing is pending
}

// freeze stops the process of a side until the function that it returns is called. It does so at a moment at which the
// process has nothing open: a removal that seems to take seconds would have it rest for several times as long.
func (s *side) freeze(ctx context.Context) (thaw func() error, err error) {
	p := s.gateway.Process()
	thaw = func() error { return p.Signal(syscall.SIGCONT) }
	for {
		if err := p.Signal(syscall.SIGSTOP); err != nil {
			return nil, err
		}
		var open bool
		err := s.database.DB.QueryRowContext(ctx, `SELECT EXISTS (SELECT FROM pg_stat_activity
			WHERE datname = current_database() AND backend_type = 'client backend' AND state <> 'idle' AND pid <> pg_backend_pid())`).Scan(&open)
		if err == nil && !open {
			return thaw, nil
		}
		if err := errors.Join(err, thaw()); err != nil {
			return nil, err
		}
		if !harness.Sleep(ctx, 5*time.Millisecond) {
			return nil, ctx.Err()
		}
	}
}

// sideRounds holds what was measured in each round.
type sideRounds struct{ rates, p99s []float64 }

// measureSides measures both in turn, for a row.
func measureSides(ctx context.Context, row string, first, second *side, o options) (of [2]sideRounds, err error) {
	for i := range o.rounds {
		sides := []*side{first, second}
		for turn := range sides {
			at := (i + turn) % 2 // each begins every second round
			s := sides[at]
			found, err := s.completeRunsAlone(ctx, sides[1-at], max(o.period, 5*time.Second))
			if err != nil {
				return of, err
			}
			of[at].rates, of[at].p99s = append(of[at].rates, found.perSecond), append(of[at].p99s, milliseconds(found.p99))
			_, _ = fmt.Fprintf(o.verbose, "%s, round %d of %d, %s: %.0f/s, p99 %.1f ms\n", row, i+1, o.rounds, s.gateway.Name, found.perSecond, milliseconds(found.p99)) // progress only
		}
	}
	for _, s := range []*side{first, second} {
		if _, err := s.database.countCompleted(ctx, s.workflow.ID); err != nil {
			return of, err
		}
	}
	return of, nil
}

// ratios compares what was measured one after the other.
func ratios(of, to []float64) []float64 {
	all := make([]float64, len(of))
	for i := range of {
		all[i] = of[i] / to[i]
	}
	return all
}

// completeRunsAlone is completeRuns while the other side is frozen.
func (s *side) completeRunsAlone(ctx context.Context, other *side, period time.Duration) (found load, err error) {
	thaw, err := other.freeze(ctx)
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, thaw()) }()
	return s.completeRuns(ctx, period)
}

// completeRuns starts runs, waits until the last of them has ended, and counts them by what
// was acknowledged: counting rows takes long where there are millions.
func (s *side) completeRuns(ctx context.Context, period time.Duration) (load, error) {
	began := time.Now()
	found, err := s.loadGateway(ctx, s.workflow.call, sideConnections, period)
	if err != nil {
		return load{}, err
	}
	if err := s.database.awaitEnds(ctx, s.workflow.ID); err != nil {
		return load{}, err
	}
	found.perSecond = float64(found.requests) / time.Since(began).Seconds()
	return found, nil
}
