package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/adapters/directory"
	"github.com/sluicehq/sluice/adapters/httpapi"
	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

func (p *program) serveCommand() *cobra.Command {
	var noMigrate bool
	does := string(roleAll)
	cmd := &cobra.Command{
		Use: "serve", Short: "Start the gateway", Args: exactly(),
		Long: "Starts the gateway on the configured database, after applying pending migrations.\n\n" +
			"One process does everything. With PostgreSQL the work can be split: processes with --role api answer\n" +
			"requests, those with --role worker fire schedules, run workflows and deliver webhooks, and answer\n" +
			"/healthz and /readyz only. There has to be at least one of each.\n\n" +
			"SIGTERM makes it say that it is not ready any more, serve on for SLUICE_DRAIN_DELAY, finish the\n" +
			"requests that run, and leave. A second one stops it at once.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := readConfig(p.environ)
			if err != nil {
				return err
			}
			return p.serve(cmd.Context(), cfg, serveOptions{noMigrate: noMigrate, role: role(does)}, nil)
		},
	}
	cmd.Flags().BoolVar(&noMigrate, "no-migrate", false, "refuse to start while migrations are pending, instead of applying them")
	cmd.Flags().StringVar(&does, "role", does, "what this process does: all, api or worker")
	return cmd
}

// serveOptions is what the command line says besides the configuration.
type serveOptions struct {
	noMigrate bool
	role      role
}

// started is called once the gateway listens, with the address that clients use; nil
// does nothing.
type started func(ctx context.Context, store *sqlstore.Store, baseURL string) error

func (s started) at(ctx context.Context, store *sqlstore.Store, baseURL string) error {
	if s == nil {
		return nil
	}
	return s(ctx, store, baseURL)
}

// serve runs the gateway until ctx ends, and then until its requests are done.
func (p *program) serve(ctx context.Context, cfg config, opts serveOptions, begin started) error {
	if err := opts.role.checkOn(cfg.DatabaseURL); err != nil {
		return err
	}
	tuneCollector(p.environ)
	log, flush := newLogger(p.stderr, cfg)
	defer flush()
	warnOfUnknown(log, p.environ)
	store, closer, err := cfg.openToServe(ctx)
	if err != nil {
		return err
	}
	defer closing(closer, p.stderr)
	if err := prepare(ctx, log, store, opts.noMigrate); err != nil {
		return err
	}
	watch, err := newWatching(ctx, log, cfg, store)
	if err != nil {
		return err
	}
	defer watch.close()
	out, err := watch.outside(ctx, cfg)
	if err != nil {
		return err
	}
	defer out.close()
	leaving := new(going)
	streams, endStreams := context.WithCancel(context.WithoutCancel(ctx))
	defer endStreams()
	key, err := runKey(ctx, store)
	if err != nil {
		return err
	}
	memory := cfg.memory()
	g, err := newGateway(store, countedWork{watch.tracing.UnitOfWork(store), watch.metrics}, out.limiter, out.runner, out.sender, key, memory.OfRuns(), tenant.StorageQuota(cfg.TenantStorage), cfg.workerOptions(memory), httpapi.Options{
		Log: log, MaxBody: cfg.MaxBody, AllowedOrigins: cfg.CORSOrigins, TrustedProxies: cfg.TrustedProxies,
		Observers: watch.observers(), Now: system.Clock{}.Now, NewID: system.Random{}.ID, Ready: leaving.unlessGoing(ready(canServe(store))),
		Streams: streams, HealthOnly: !opts.role.serves(), OperatorToken: httpapi.NewOperatorToken(cfg.OperatorToken),
		Intake: memory.Intake, Pages: memory.Pages, Simulations: memory.Simulations, SimulationBytes: int(min(64<<20, memory.Intake.Most())), BodyTimeout: cfg.BodyTimeout,
	})
	if err != nil {
		return err
	}
	watch.gateway(g, memory)
	store.OnEvents(g.Dispatcher.Wake)
	front, err := newServing(log, cfg, g.API, leaving, endStreams)
	if err != nil {
		return err
	}
	listener, baseURL, err := cfg.listen(ctx, log)
	if err != nil {
		return err
	}
	if err := begin.at(ctx, store, baseURL); err != nil {
		_ = listener.Close() // the first error says more
		return err
	}
	return attend(ctx, log, front, listener, cfg.WorkerDrain, g.beside(ctx, log, opts.role, store))
}

// attend answers requests until ctx ends, and ends what goes on beside them, whose calls
// may take the time to drain from then on.
func attend(ctx context.Context, log zerolog.Logger, front serving, listener net.Listener, drain time.Duration, end func()) error {
	forgetTheStart()
	addThreads()
	err := front.until(ctx, listener)
	waiting := time.AfterFunc(shortly, func() {
		log.Info().Dur("atMostMs", max(drain, event.SendTimeout)).Msg("waiting for calls of nodes and webhooks to end")
	})
	end()
	waiting.Stop()
	if err == nil {
		log.Info().Msg("stopped")
	}
	return err
}

// shortly is how long the end of what goes on beside requests may take without a word.
const shortly = 100 * time.Millisecond

// listen takes the address and says so.
func (c config) listen(ctx context.Context, log zerolog.Logger) (l net.Listener, baseURL string, err error) {
	if l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", c.Listen); err != nil {
		return nil, "", fmt.Errorf("listen on %s (SLUICE_LISTEN): %w", c.Listen, err)
	}
	if baseURL, err = c.announce(log, l.Addr().String()); err != nil {
		_ = l.Close() // the first error says more
		return nil, "", err
	}
	return l, baseURL, nil
}

// announce logs that the gateway listens on an address, and returns where clients
// reach it.
func (c config) announce(log zerolog.Logger, address string) (baseURL string, err error) {
	db, err := databaseOf(c.DatabaseURL)
	if err != nil {
		return "", err
	}
	if baseURL = c.BaseURL; baseURL == "" {
		baseURL = "http://" + reachable(address)
	}
	log.Info().Str("version", version).Str("address", address).Str("baseUrl", baseURL).Stringer("database", db).Msg("the gateway is ready")
	return baseURL, nil
}

// gateway is what sluice serve runs.
type gateway struct {
	API        *httpapi.API
	Upkeep     inbound.Upkeep
	Directory  *directory.Directory
	Dispatcher inbound.Dispatcher
	Scheduler  inbound.Scheduler
	Worker     inbound.Worker
	Signals    *sqlstore.RunSignals
}

// beside begins what goes on beside requests in a process of the role. When ctx ends no
// new work is begun, while requests may still be answered. stop returns when all of it
// has ended.
func (g gateway) beside(ctx context.Context, log zerolog.Logger, does role, changes outbound.Changes) (stop func()) {
	listening, deaf := context.WithCancel(context.WithoutCancel(ctx)) // to the last, since the rest depends on it
	var heard sync.WaitGroup
	heard.Go(func() { followChanges(listening, log, changes, g.Directory) })
	heard.Go(func() {
		g.Signals.Run(listening, sparingly(log, "word of runs was lost; they are found a second later"))
	})
	working, rest := context.WithCancel(ctx)
	var done sync.WaitGroup
	if does.works() {
		done.Go(func() { keepUp(working, log, g.Upkeep) })
		done.Go(func() { keepGoing(working, log, "delivering webhooks", g.Dispatcher) })
		done.Go(func() { keepGoing(working, log, "firing schedules", g.Scheduler) })
		done.Go(func() { keepGoing(working, log, "moving runs on", g.Worker) })
	}
	return func() {
		rest()
		done.Wait()
		deaf()
		heard.Wait()
	}
}

// refollow is how long to wait before changes are followed again.
const refollow = time.Second

// followChanges keeps what a directory remembers up to date until ctx ends. While it
// cannot, the directory asks the database each time.
func followChanges(ctx context.Context, log zerolog.Logger, changes outbound.Changes, w outbound.Watcher) {
	for ctx.Err() == nil {
		if err := changes.Follow(ctx, w); err != nil {
			log.Warn().Err(err).Msg("cannot follow what other processes change; keys are looked up in the database each time")
		}
		select {
		case <-ctx.Done():
		case <-time.After(refollow):
		}
	}
}

// prepare brings the schema up to date, or checks that it is.
func prepare(ctx context.Context, log zerolog.Logger, store *sqlstore.Store, noMigrate bool) error {
	if noMigrate {
		return upToDate(ctx, store)
	}
	applied, err := store.Migrator().Up(ctx)
	for _, m := range applied {
		log.Info().Str("migration", m.Name).Msg("applied a migration")
	}
	return err
}

// reachable turns an address that means every interface into one that a client on
// this machine can use.
func reachable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// closing closes a store at the end of a command.
func closing(store io.Closer, stderr io.Writer) {
	if err := store.Close(); err != nil {
		_, _ = fmt.Fprintf(stderr, "sluice: close the database: %v\n", err) // nowhere else to report a failure to
	}
}
