package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/adapters/budget"
	"github.com/sluicehq/sluice/adapters/console"
	"github.com/sluicehq/sluice/adapters/directory"
	"github.com/sluicehq/sluice/adapters/httpapi"
	"github.com/sluicehq/sluice/adapters/httpapi/operator"
	"github.com/sluicehq/sluice/adapters/httpapi/stream"
	"github.com/sluicehq/sluice/adapters/httpserver"
	"github.com/sluicehq/sluice/adapters/passwords"
	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/adapters/telemetry"
	"github.com/sluicehq/sluice/application/audit"
	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/application/hooks"
	"github.com/sluicehq/sluice/application/members"
	"github.com/sluicehq/sluice/application/worker"
	"github.com/sluicehq/sluice/domain/event"
	domainprocess "github.com/sluicehq/sluice/domain/process"
	domainrun "github.com/sluicehq/sluice/domain/run"
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
	if err := opts.role.check(cfg.DatabaseURL); err != nil {
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
	self := describeProcess(opts.role)
	secrets, err := cfg.prepare(ctx, log, store, self, opts.noMigrate)
	if err != nil {
		return err
	}
	watch, err := newObservability(ctx, log, cfg, store)
	if err != nil {
		return err
	}
	defer watch.close()
	out, err := openOutgoing(ctx, log, cfg, watch.metrics)
	if err != nil {
		return err
	}
	defer out.close()
	streams, endStreams := context.WithCancel(context.WithoutCancel(ctx))
	defer endStreams()
	server, err := cfg.server(log, endStreams)
	if err != nil {
		return err
	}
	addresses := new(hooksURL)
	tokens := cfg.operatorTokens()
	g, err := cfg.assemble(ctx, opts.role, assembly{log, store, watch, out, server.Draining, streams, self, addresses, tokens})
	if err != nil {
		return err
	}
	defer cfg.followOperatorTokens(ctx, log, opts.role, tokens)()
	g.secrets, g.places, server.Handler = secrets, cfg.WorkerRuns, g.API
	return serveGateway(ctx, cfg, opts.role, log, store, g, server, self, func(baseURL string) { addresses.set(cfg, baseURL) }, begin)
}

// serveGateway listens, and serves until ctx ends. Before it serves, listening learns where clients reach the gateway.
func serveGateway(ctx context.Context, cfg config, does role, log zerolog.Logger, store *sqlstore.Store, g gateway, server httpserver.Server, self domainprocess.Process,
	listening func(baseURL string), begin started,
) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	leave, err := keepHeartbeat(ctx, log, g.Processes, self, end)
	if err != nil {
		return err
	}
	defer leave()
	listener, baseURL, err := cfg.listen(ctx, log)
	if err != nil {
		return err
	}
	listening(baseURL)
	if err := begin.at(ctx, store, baseURL); err != nil {
		_ = listener.Close() // the first error says more
		return err
	}
	err = serveUntilDone(ctx, log, server, listener, cfg.WorkerDrain, g.startBackground(ctx, log, does, store))
	if cause := context.Cause(ctx); isOutdated(cause) {
		return cause
	}
	return err
}

// server is what answers requests; its handler comes later.
func (c config) server(log zerolog.Logger, endStreams context.CancelFunc) (httpserver.Server, error) {
	limit, err := httpserver.ConnectionLimit(log, c.MaxConnections, c.DatabasePool)
	return httpserver.Server{
		Log: log, MaxConnections: limit,
		HeaderTimeout: c.HeaderTimeout, BodyTimeout: c.BodyTimeout, AnswerTimeout: c.AnswerTimeout, IdleTimeout: c.IdleTimeout,
		DrainDelay: c.DrainDelay, ShutdownTimeout: c.ShutdownTimeout, Draining: new(httpserver.Draining), EndStreams: endStreams,
	}, err
}

// assembly is what the gateway is made of.
type assembly struct {
	log      zerolog.Logger
	store    *sqlstore.Store
	watch    *observability
	out      outgoing
	draining *httpserver.Draining
	streams  context.Context //nolint:containedctx // see httpapi.Options
	self     domainprocess.Process
	hooksURL *hooksURL
	tokens   *operator.Tokens // nil where there is no operator's API
}

// hooksURL is where the addresses of hooks are, and where people reach the gateway. It is known once the gateway
// listens, before it serves.
type hooksURL struct{ origin, public string }

func (u *hooksURL) get() string { return u.origin }

func (u *hooksURL) publicly() string { return u.public }

// set takes what the configuration says, else where clients reach the gateway.
func (u *hooksURL) set(c config, baseURL string) {
	u.public = strings.TrimSuffix(cmp.Or(c.PublicURL, baseURL), "/")
	u.origin = strings.TrimSuffix(cmp.Or(c.HooksURL, u.public), "/")
}

// assemble makes the gateway and connects what measures it.
func (c config) assemble(ctx context.Context, does role, a assembly) (gateway, error) {
	if !domainrun.AccountingEnabled {
		a.log.Warn().Msg("this build accounts for nothing that tenants take (tag noaccounting): it is only for measurements")
	}
	key, err := runKey(ctx, a.log, a.store)
	if err != nil {
		return gateway{}, err
	}
	memory := a.out.memory
	measured := telemetry.LogFailedRuns(a.watch.metrics.UnitOfWork(a.watch.tracing.UnitOfWork(a.store)), a.log)
	work := audit.NewWork(measured, system.Clock{}, system.Random{})
	inserter := audit.NewInserter(a.watch.tracing.TriggerInserter(sqlstore.NewTriggerInserter(a.store)), system.Random{})
	g, err := newGateway(a.store, work, inserter, a.out.limiter, a.out.runner, a.out.code, a.out.tally, a.out.sender, a.out.engine, a.out.tokens, a.hooksURL.publicly, key, memory.OfRuns(), memory.Lists, audit.Retention(c.AuditRetention), c.workerOptions(memory, a.self), a.hooksURL.get, members.Letters{Mailer: c.mailer(), Public: a.hooksURL.publicly}, hashing(memory), c.identityProvider(a.hooksURL.publicly), httpapi.Options{
		Log: a.log, MaxBody: c.MaxBody, AllowedOrigins: c.CORSOrigins, TrustedProxies: c.TrustedProxies, BodyTimeout: c.BodyTimeout,
		Observers: a.watch.observers(), Now: system.Clock{}.Now, NewID: system.Random{}.ID, Ready: a.draining.Unless(ready(canServe(a.store))),
		PublicURL: a.hooksURL.publicly, Pages: console.New(a.hooksURL.publicly), Streams: a.streams, HealthOnly: !does.serves(), OperatorTokens: a.tokens,
		Memory: stream.Memory{Intake: memory.Intake, Pages: memory.Pages, Simulations: memory.Simulations, SimulationBytes: int(min(64<<20, memory.Intake.Max()))},
	})
	if err != nil {
		return gateway{}, err
	}
	if g.engine = a.out.engine; g.engine != nil {
		g.engine.KeepWith(a.store.Cipher, outbound.KeysetsOf(a.store))
	}
	a.watch.connect(g, memory)
	a.store.OnEvents(g.Dispatcher.Wake)
	a.store.OnAudited(g.Sealer.Wake)
	return g, nil
}

// hashing checks and makes passwords in memory of their own, so that whoever signs in takes none from tenants' requests.
func hashing(memory budget.Memory) *passwords.Passwords { return passwords.New(memory.Passwords) }

// runKey returns the key of the runs' secrets, which the first process to ask makes. Where it cannot be kept or
// decrypted there is none, and runs that begin to wait for an answer get no token for it.
func runKey(ctx context.Context, log zerolog.Logger, store *sqlstore.Store) (domainrun.Key, error) {
	var fresh domainrun.Key
	system.Random{}.Fill(fresh[:])
	key, err := store.RunKey(ctx, fresh)
	switch {
	case errors.Is(err, outbound.ErrKeyMissing): // which the start has said, and what needs it says
		return domainrun.Key{}, nil
	case errors.Is(err, outbound.ErrWrongKey) || outbound.IsUnreadableSecret(err):
		log.Error().Err(err).Msg("the key of resume tokens cannot be decrypted: none are given out until the right SLUICE_ENCRYPTION_KEY is back")
		return domainrun.Key{}, nil
	}
	return key, err
}

// workerOptions is how much the configuration lets this process do at the same time.
func (c config) workerOptions(memory budget.Memory, self domainprocess.Process) worker.Options {
	return worker.Options{
		Name: string(self.ID), Concurrency: c.WorkerRuns, PerTenant: c.TenantRuns, Memory: cmp.Or(c.WorkerMemory, memory.Runs), Drain: c.WorkerDrain,
	}
}

// serveUntilDone answers requests until ctx ends, and then ends the background work, whose
// calls may take the time to drain.
func serveUntilDone(ctx context.Context, log zerolog.Logger, server httpserver.Server, listener net.Listener, drain time.Duration, stopBackground func()) error {
	releaseStartupMemory()
	addThreads()
	err := server.Serve(ctx, listener)
	waiting := time.AfterFunc(quietStop, func() {
		log.Info().Dur("atMostMs", max(drain, event.SendTimeout)).Msg("waiting for calls of nodes and webhooks to end")
	})
	stopBackground()
	waiting.Stop()
	if err == nil {
		log.Info().Msg("stopped")
	}
	return err
}

// quietStop is how long the background work may take to end before the log says so.
const quietStop = 100 * time.Millisecond

// listen binds the address and logs it.
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
	baseURL = c.baseURL(address)
	log.Info().Str("version", version).Str("address", address).Str("baseUrl", baseURL).Stringer("database", db).Msg("the gateway is ready")
	return baseURL, nil
}

// baseURL is where clients reach a gateway that listens on an address.
func (c config) baseURL(address string) string {
	if c.BaseURL != "" {
		return c.BaseURL
	}
	return "http://" + reachable(address)
}

// gateway is what sluice serve runs.
type gateway struct {
	API        *httpapi.API
	Upkeep     inbound.Upkeep
	Directory  *directory.Directory
	Dispatcher inbound.Dispatcher
	Processes  inbound.Processes
	Scheduler  inbound.Scheduler
	JobWorker  inbound.JobWorker
	Sealer     inbound.AuditSealer
	Usage      inbound.UsageKeeper
	MailQueue  inbound.MailQueue
	Hooks      *hooks.Figures
	Grants     inbound.GrantKeeper
	Selections *execution.Selections
	Worker     inbound.Worker
	Signals    *sqlstore.RunSignals
	secrets    inbound.Secrets `wire:"-"` // set before it serves
	engine     engine          `wire:"-"` // nil where there is only the table
	places     int             `wire:"-"` // for runs that an engine brings
}

// prepare brings the store up to date and has it encrypt secrets.
func (c config) prepare(ctx context.Context, log zerolog.Logger, store *sqlstore.Store, self domainprocess.Process, noMigrate bool) (inbound.Secrets, error) {
	store.Level = self.Level
	c.useEngine(store)
	if err := migrate(ctx, log, store, noMigrate); err != nil {
		return nil, err
	}
	secrets, err := c.openSecrets(ctx, store)
	if err == nil {
		warnOfSecrets(ctx, log, store, secrets)
	}
	return secrets, err
}

// migrate brings the schema up to date, or checks that it is.
func migrate(ctx context.Context, log zerolog.Logger, store *sqlstore.Store, noMigrate bool) error {
	if noMigrate {
		return upToDate(ctx, store)
	}
	applied, err := store.Migrator().Up(ctx)
	if n := len(applied); n > 0 {
		log.Info().Int("migrations", n).Str("last", applied[n-1].Name).Msg("brought the schema up to date")
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
