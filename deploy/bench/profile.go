package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

// profileSource is where the gateway's profiles are read: the address of its metrics
// listener. It is empty while no profiles are wanted.
type profileSource string

// newProfileSource prepares what -profile asks for.
func newProfileSource(o options) (profileSource, error) {
	if o.profiles == "" {
		return "", nil
	}
	if err := os.MkdirAll(o.profiles, 0o755); err != nil {
		return "", err
	}
	address, err := harness.FreeAddress()
	return profileSource(address), err
}

// environ makes the gateway serve profiles.
func (p profileSource) environ() []string {
	if p == "" {
		return nil
	}
	return []string{"SLUICE_METRICS_LISTEN=" + string(p)}
}

// shortestProfile gives a sampling profiler of 100 Hz enough to look at.
const shortestProfile = 5 * time.Second

// profile takes a CPU profile and what is allocated meanwhile, under the row's load.
// It has a round of its own, because being watched costs something.
func (e *env) profile(ctx context.Context, r row, o options) error {
	period := max(o.period, shortestProfile)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	taken := make(chan error, 2)
	for _, kind := range []struct{ from, name string }{{"profile", "cpu"}, {"allocs", "allocs"}} {
		address := fmt.Sprintf("http://%s/debug/pprof/%s?seconds=%d", e.profiles, kind.from, int(period.Seconds()))
		file := filepath.Join(o.profiles, r.about().name+"."+kind.name+".pprof")
		go func() { taken <- download(ctx, address, file) }()
	}
	// The load lasts a little longer than the profiles.
	_, errLoad := r.gateway(ctx, period+time.Second)
	if errLoad != nil {
		cancel()
	}
	if err := errors.Join(errLoad, <-taken, <-taken); err != nil {
		return fmt.Errorf("take profiles: %w", err)
	}
	_, _ = fmt.Fprintf(o.verbose, "%s: go tool pprof -top %s\n", r.about().name, filepath.Join(o.profiles, r.about().name+".cpu.pprof")) // progress only
	return nil
}

func download(ctx context.Context, address, file string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	resp, err := httpClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end below
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", address, resp.Status)
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, resp.Body)
	return errors.Join(err, out.Close())
}
