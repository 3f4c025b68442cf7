package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// stage is what all rows are measured on: one PostgreSQL and one gateway.
type stage struct {
	dir      string // holds everything; thrown away at the end
	database *postgresServer
	gateway  *gateway
	profiles profileSource
	wrk      string // the load generator
	closers  []func()
}

// setStage starts everything. It fails early where something is not installed.
func setStage(ctx context.Context, o options) (st *stage, err error) {
	wrk, err := findWrk(ctx, o.verbose)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(o.dir, "sluice-bench-")
	if err != nil {
		return nil, err
	}
	st = &stage{dir: dir, wrk: wrk}
	defer func() {
		if err != nil {
			st.close()
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
		if binary, err = build(ctx, dir); err != nil {
			return nil, err
		}
	}
	if st.database, err = startPostgres(ctx, dir); err != nil {
		return nil, err
	}
	if st.profiles, err = profiled(ctx, o); err != nil {
		return nil, err
	}
	environ := append(st.profiles.environ(), "SLUICE_EGRESS_ALLOW=127.0.0.0/8") // runs call a server of the bench
	st.gateway, err = startGateway(ctx, binary, st.database.URL, filepath.Join(dir, "gateway.log"), environ...)
	return st, err
}

// build compiles the gateway as a release is compiled.
func build(ctx context.Context, dir string) (string, error) {
	binary := filepath.Join(dir, "sluice")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-tags=nomsgpack,grpcnotrace", "-ldflags=-s -w -X main.version=bench",
		"-o", binary, "github.com/sluicehq/sluice/cmd/sluice")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	_, err := output(cmd)
	return binary, err
}

// atClose adds something that a row started to what ends with the stage.
func (st *stage) atClose(stop func()) { st.closers = append(st.closers, stop) }

// close stops what was started, in the reverse order.
func (st *stage) close() {
	for _, stop := range slices.Backward(st.closers) {
		stop()
	}
	if st.gateway != nil {
		st.gateway.stop()
	}
	if st.database != nil {
		st.database.stop()
	}
	_ = os.RemoveAll(st.dir) // rubbish in a directory for temporary files
}
