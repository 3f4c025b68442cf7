package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/adapters/budget"
	"github.com/sluicehq/sluice/adapters/egress"
	"github.com/sluicehq/sluice/adapters/noderunner"
	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/adapters/telemetry"
	"github.com/sluicehq/sluice/application/runs"
	domainrun "github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// role is what a process of the gateway does. With SQLite there is one process, which
// does everything.
type role string

// The roles.
const (
	roleAll    role = "all"
	roleAPI    role = "api"    // answers requests
	roleWorker role = "worker" // fires schedules, moves runs on, delivers webhooks, sweeps; and says how it is
)

var errRole = errors.New("the role")

// check refuses a role that does not exist, and one that would leave half of the work
// to a process that cannot be there.
func (r role) check(db database) error {
	switch {
	case r == roleAll:
		return nil
	case r != roleAPI && r != roleWorker:
		return fmt.Errorf("%w: %w must be all, api or worker, not %q", errConfiguration, errRole, string(r))
	case db.sqliteFile != "":
		return fmt.Errorf("%w: %w %s shares its database with processes of the other role, which takes PostgreSQL; with SQLite one process does everything",
			errConfiguration, errRole, r)
	default:
		return nil
	}
}

// checkOn does the same with the address of the database.
func (r role) checkOn(address string) error {
	db, err := databaseOf(address)
	if err != nil {
		return err
	}
	return r.check(db)
}

// serves says whether processes of the role answer the API.
func (r role) serves() bool { return r != roleWorker }

// works says whether processes of the role do what nobody asks for over the API.
func (r role) works() bool { return r != roleAPI }

// runKey returns the key of the runs' secrets, which the first process to ask makes.
func runKey(ctx context.Context, store *sqlstore.Store) (domainrun.Key, error) {
	var fresh domainrun.Key
	system.Random{}.Fill(fresh[:])
	return store.RunKey(ctx, fresh)
}

// workerOptions is how much the configuration lets this process do at the same time.
func (c config) workerOptions(memory budget.Memory) runs.WorkerOptions {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return runs.WorkerOptions{
		Name:        fmt.Sprintf("%s/%d/%s", host, os.Getpid(), system.Random{}.ID("start")), // a container's process has the same number each time
		Concurrency: c.WorkerRuns, PerTenant: c.TenantRuns, Memory: cmp.Or(c.WorkerMemory, memory.Runs), Drain: c.WorkerDrain, Processors: processors,
	}
}

// sparingly logs failures of something that goes on, so that they do not fill the log
// while the database is gone.
func sparingly(log zerolog.Logger, message string) func(error) {
	var complained time.Time
	var silent int
	return func(err error) {
		if now := time.Now(); now.Sub(complained) >= complainEvery {
			log.Warn().Err(err).Int("unsaid", silent).Msg(message)
			complained, silent = now, 0
			return
		}
		silent++
	}
}

// loop goes on beside requests: it fires schedules, moves runs on or delivers webhooks.
type loop interface {
	Run(ctx context.Context, failed func(error))
	Panics() int64
}

// keepGoing lets a loop run to its end. A panic is a defect, and one that is left out of
// the log is not found.
func keepGoing(ctx context.Context, log zerolog.Logger, what string, l loop) {
	complain := sparingly(log, what+" failed; it is tried again")
	l.Run(ctx, func(err error) {
		if thrown, panicked := errors.AsType[*inbound.Panic](err); panicked {
			log.Error().Err(err).Bytes("stack", thrown.Stack).Int64("panics", l.Panics()).Msg(what + " panicked; it goes on")
			return
		}
		complain(err)
	})
}

// outside is what the gateway reaches besides its database.
type outside struct {
	limiter      outbound.Limiter
	closeLimiter func() error
	runner       outbound.NodeRunner
	closeRunner  func()
	sender       outbound.Sender
	closeSender  func()
}

// outside connects it; all of it is measured.
func (w *watching) outside(ctx context.Context, cfg config) (o outside, err error) {
	if o.limiter, o.closeLimiter, err = openLimiter(ctx, w.log, cfg, w.metrics); err != nil {
		return o, err
	}
	o.runner, o.closeRunner = w.runner(cfg)
	o.sender, o.closeSender = w.sender(cfg)
	return o, nil
}

func (o outside) close() {
	o.closeSender()
	o.closeRunner()
	_ = o.closeLimiter() // places that are not given back run out
}

// runner returns what makes the calls of nodes, only to where the configuration lets
// them go, and counts them; and what closes it.
func (w *watching) runner(cfg config) (runner outbound.NodeRunner, closeRunner func()) {
	guard := egress.New(egress.Options{Allow: cfg.egressAllow})
	runner = noderunner.New(noderunner.Options{
		Clock: system.Clock{}, Follow: guard.Client(egress.Follow), Stay: guard.Client(egress.Stay), UserAgent: "Sluice/" + version,
	})
	return countedRunner{runner, w.metrics}, guard.Close
}

// countedRunner counts the attempts at nodes.
type countedRunner struct {
	outbound.NodeRunner
	metrics *telemetry.Metrics
}

// Run counts how the attempt ends.
func (r countedRunner) Run(ctx context.Context, call outbound.NodeCall) (outbound.NodeOutcome, error) {
	began := time.Now()
	o, err := r.NodeRunner.Run(ctx, call)
	kind := telemetry.NodeKindOf(call.Type)
	outcome := nodeOutcome(o, err)
	r.metrics.NodeAttempted(kind, outcome, time.Since(began))
	if kind == telemetry.NodeCustom && outcome != telemetry.NodeAborted {
		r.metrics.TenantCalled(call.Tenant, telemetry.CallCustomNode, outcome != telemetry.NodeFailed)
	}
	return o, err
}

func nodeOutcome(o outbound.NodeOutcome, err error) telemetry.NodeOutcome {
	if err != nil {
		return telemetry.NodeAborted
	}
	switch o.(type) {
	case outbound.NodeCompleted:
		return telemetry.NodeCompleted
	case outbound.NodePaused:
		return telemetry.NodePaused
	default:
		return telemetry.NodeFailed
	}
}
