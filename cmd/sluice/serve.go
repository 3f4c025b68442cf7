package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/adapters/httpapi"
	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/ports/inbound"
)

// Bounds of a connection, against clients that are slow on purpose.
const (
	headerTimeout = 10 * time.Second
	bodyTimeout   = 60 * time.Second
	answerTimeout = 120 * time.Second
	idleTimeout   = 120 * time.Second
	maxHeader     = 32 << 10 // bytes
)

func (p *program) serveCommand() *cobra.Command {
	var noMigrate bool
	cmd := &cobra.Command{
		Use: "serve", Short: "Start the gateway", Args: exactly(),
		Long: "Starts the gateway on the configured database, after applying pending migrations.\n" +
			"SIGTERM makes it finish the requests that run, and leave.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := readConfig(p.environ)
			if err != nil {
				return err
			}
			return p.serve(cmd.Context(), cfg, noMigrate, nil)
		},
	}
	cmd.Flags().BoolVar(&noMigrate, "no-migrate", false, "refuse to start while migrations are pending, instead of applying them")
	return cmd
}

// started is called once the gateway listens, with the address that clients use.
type started func(ctx context.Context, store *sqlstore.Store, baseURL string) error

// serve runs the gateway until ctx ends, and then until its requests are done.
func (p *program) serve(ctx context.Context, cfg config, noMigrate bool, begin started) error {
	log := newLogger(p.stderr, cfg)
	for _, name := range unknownSettings(p.environ) {
		log.Warn().Str("variable", name).Msg("this variable looks like a setting, but there is none of that name; see sluice --help")
	}
	store, err := cfg.open(ctx)
	if err != nil {
		return err
	}
	defer closing(store, p.stderr)
	if err := prepare(ctx, log, store, noMigrate); err != nil {
		return err
	}
	g, err := newGateway(store, httpapi.Options{
		Log: log, MaxBody: cfg.MaxBody, AllowedOrigins: cfg.CORSOrigins, TrustedProxies: cfg.TrustedProxies,
		Now: system.Clock{}.Now, NewID: system.Random{}.ID, Ready: ready(store),
	})
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.Listen)
	if err != nil {
		return fmt.Errorf("listen on %s (SLUICE_LISTEN): %w", cfg.Listen, err)
	}
	baseURL := cfg.BaseURL
	if baseURL == "" {
		baseURL = "http://" + reachable(listener.Addr().String())
	}
	db, err := databaseOf(cfg.DatabaseURL)
	if err != nil {
		return err
	}
	log.Info().Str("version", version).Str("address", listener.Addr().String()).Str("baseUrl", baseURL).
		Stringer("database", db).Msg("the gateway is ready")
	if begin != nil {
		if err := begin(ctx, store, baseURL); err != nil {
			_ = listener.Close() // the first error says more
			return err
		}
	}
	var background sync.WaitGroup
	defer background.Wait() // before the store is closed
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	background.Go(func() { keepUp(ctx, log, g.Upkeep) })
	return serveUntil(ctx, log, listener, g.API, cfg.ShutdownTimeout)
}

// gateway is what sluice serve runs.
type gateway struct {
	API    *httpapi.API
	Upkeep inbound.Upkeep
}

// serveUntil answers requests until ctx ends. Then it refuses new ones and waits
// for those that run.
func serveUntil(ctx context.Context, log zerolog.Logger, listener net.Listener, handler http.Handler, grace time.Duration) error {
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       bodyTimeout,
		WriteTimeout:      answerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	log.Info().Msg("finishing the requests that run, then stopping")
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := server.Shutdown(ending); err != nil {
		return errors.Join(fmt.Errorf("some requests did not finish within %s: %w", grace, err), server.Close())
	}
	log.Info().Msg("stopped")
	return nil
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
