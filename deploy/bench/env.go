package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"github.com/sluicehq/sluice/deploy/harness"
)

// env is what all rows are measured on: one PostgreSQL and one gateway.
type env struct {
	dir      string // holds everything; removed at the end
	database *database
	gateway  *harness.Gateway
	profiles profileSource
	wrk      string // the load generator
	closers  []func()
}

// newEnv starts everything. It fails early where something is not installed.
func newEnv(ctx context.Context, o options) (e *env, err error) {
	wrk, err := findWrk(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(o.dir, "sluice-bench-")
	if err != nil {
		return nil, err
	}
	e = &env{dir: dir, wrk: wrk}
	begun := e // e is nil where an error is returned
	defer func() {
		if err != nil {
			begun.close()
		}
	}()
	// PostgreSQL may run as another user and has to pass through; the files in here
	// stay readable for their owners only.
	if err = os.Chmod(dir, 0o711); err != nil {
		return nil, err
	}
	binary := o.binary
	if binary == "" {
		_, _ = fmt.Fprintln(o.verbose, "building the gateway") // progress only
		if binary, err = harness.Build(ctx, dir); err != nil {
			return nil, err
		}
	}
	if e.database, err = startDatabase(ctx, dir); err != nil {
		return nil, err
	}
	if e.profiles, err = newProfileSource(o); err != nil {
		return nil, err
	}
	environ := append(e.profiles.environ(), "SLUICE_EGRESS_ALLOW=127.0.0.0/8") // runs call a server of the bench
	e.gateway, err = harness.NewGateway("gateway", binary, e.database.URL, dir, environ...)
	if err != nil {
		return nil, err
	}
	return e, e.gateway.StartReady(ctx)
}

// newTenant makes a tenant with an example workflow and limits that the load does not reach.
func (e *env) newTenant(ctx context.Context, name string) (harness.Tenant, error) {
	ten, err := e.gateway.CreateTenant(ctx, name, "--example")
	if err != nil {
		return ten, err
	}
	return ten, e.gateway.LiftLimits(ctx, ten.ID)
}

// httpClient keeps enough connections for the busiest load that the bench makes itself.
var httpClient = &http.Client{
	Transport: &http.Transport{MaxIdleConnsPerHost: busyRate, MaxConnsPerHost: busyRate},
	Timeout:   answerTimeout,
}

// client calls the gateway as a tenant.
func (e *env) client(key string) harness.Client {
	return harness.Client{URL: e.gateway.URL, Key: key, HTTP: httpClient}
}

// writeFile writes a file of the environment and returns its path.
func (e *env) writeFile(name string, text []byte) (string, error) {
	file := filepath.Join(e.dir, name)
	return file, os.WriteFile(file, text, 0o600)
}

// folder makes a folder in that of the environment and returns its path.
func (e *env) folder(name string) (string, error) {
	dir := filepath.Join(e.dir, name)
	return dir, os.Mkdir(dir, 0o700)
}

// atClose adds something that a row started to what ends with the environment.
func (e *env) atClose(stop func()) { e.closers = append(e.closers, stop) }

// close stops what was started, in the reverse order.
func (e *env) close() {
	for _, stop := range slices.Backward(e.closers) {
		stop()
	}
	if e.gateway != nil {
		e.gateway.Stop()
	}
	if e.database != nil {
		e.database.Stop()
	}
	_ = os.RemoveAll(e.dir) // it is in a folder for temporary files
}
