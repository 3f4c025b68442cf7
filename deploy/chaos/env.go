package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

// env is everything that takes part in a round.
type env struct {
	options
	began      time.Time
	dir        string
	binary     string
	database   *database
	temporal   *temporal // nil where the engine is the table
	gateways   []*gateway
	clients    *clients
	receiver   *receiver
	listener   *listener
	callsTo    string // URL of the receiver and the listener
	stopServer func()
	scenarios  []*scenario
	tenants    []*tenant
	found      *findings
	random     *randomSource // of what clients do
	faults     *faultLog
	verified   [][2]string // commands, and what they printed

	inFlight chan struct{} // bounds the calls that are not acknowledged yet
	accepted atomic.Int64

	supervisors     sync.WaitGroup
	stopSupervising context.CancelFunc
	schedules       *rewinder
	publisher       publisher
}

// maxInFlight is how many clients wait for an acknowledgement at the same time.
const maxInFlight = 48

// prepareEnv makes the folder and the binary.
func prepareEnv(ctx context.Context, o options) (*env, error) {
	e := &env{
		options: o, began: time.Now(), found: newFindings(), random: newRandom(o.seed), binary: o.binary, dir: o.keep,
		faults: &faultLog{frozen: make(map[string][]span)}, inFlight: make(chan struct{}, maxInFlight), stopServer: func() {},
	}
	var err error
	if o.keep != "" {
		err = os.MkdirAll(o.keep, 0o755)
	} else {
		e.dir, err = os.MkdirTemp("", "sluice-chaos-")
	}
	if err == nil && e.binary == "" {
		e.logf("building the gateway")
		build := harness.BuildWithTemporal
		if e.engine != engineTemporal {
			build = func(ctx context.Context, dir string) (string, error) { return harness.Build(ctx, dir) }
		}
		e.binary, err = build(ctx, e.dir)
	}
	return e, err
}

// newEnv starts everything, with a workflow of each scenario for every tenant.
func newEnv(ctx context.Context, o options) (e *env, err error) {
	if e, err = prepareEnv(ctx, o); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			e.close()
		}
	}()
	if e.database, err = startPostgres(ctx); err != nil {
		return nil, err
	}
	others := newRandom(o.seed + 1)
	e.receiver, e.listener = newReceiver(others, e.found), newListener(others, e.found)
	if err = e.serve(); err != nil {
		return nil, err
	}
	e.scenarios = scenarios(e.callsTo + "/calls")
	if err = e.startGateways(ctx); err != nil {
		return nil, err
	}
	e.clients = newClients(e.gateways, e.found, newRandom(o.seed+2))
	if err = e.newTenants(ctx, "t"); err != nil {
		return nil, err
	}
	e.schedules = newRewinder(e.tenants)
	e.publisher.random = newRandom(o.seed + 3)
	return e, nil
}

// serve starts the receiver and the listener, on one address.
func (e *env) serve() (err error) {
	mux := http.NewServeMux()
	mux.Handle("/calls/", e.receiver)
	mux.Handle("/events/", e.listener)
	e.callsTo, e.stopServer, err = harness.Serve(mux)
	return err
}

func (e *env) startGateways(ctx context.Context) error {
	environ, err := e.startEngine(ctx)
	if err != nil {
		return err
	}
	for i := range e.processes {
		g, err := newGateway(fmt.Sprintf("g%d", i), e.binary, e.database.url, e.dir, environ...)
		if err != nil {
			return err
		}
		if i == 0 {
			if _, err := g.Command(ctx, "migrate", "up"); err != nil {
				return err
			}
		}
		if err := g.start(); err != nil {
			return err
		}
		e.gateways = append(e.gateways, g)
	}
	starting, cancel := context.WithTimeout(ctx, harness.ReadyTimeout)
	defer cancel()
	for _, g := range e.gateways {
		if err := g.AwaitReady(starting, readyInterval); err != nil {
			return err
		}
	}
	supervising, stop := context.WithCancel(ctx)
	e.stopSupervising = stop
	for _, g := range e.gateways {
		e.supervisors.Go(func() { g.restartOnExit(supervising, e.found) })
	}
	return nil
}

func (e *env) newTenants(ctx context.Context, prefix string) error {
	for i := range e.tenantCount {
		t, err := e.newTenant(ctx, fmt.Sprint(prefix, i))
		if err != nil {
			return err
		}
		e.tenants = append(e.tenants, t)
	}
	return nil
}

// close stops what was started.
func (e *env) close() {
	if e.stopSupervising != nil {
		e.stopSupervising()
	}
	for _, g := range e.gateways {
		g.close()
	}
	e.supervisors.Wait()
	e.stopServer()
	if e.temporal != nil {
		e.temporal.Kill()
	}
	if e.database != nil {
		e.database.close()
	}
	if e.keep == "" {
		_ = os.RemoveAll(e.dir) // it is in a folder for temporary files
	}
}

// logf shows progress.
func (e *env) logf(format string, args ...any) {
	args = append([]any{time.Since(e.began).Truncate(time.Second)}, args...)
	_, _ = fmt.Fprintf(e.progress, "chaos: %s: "+format+"\n", args...) // progress only
}
