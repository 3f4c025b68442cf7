package pgtest

import (
	"context"
	"database/sql"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/sluicehq/sluice/deploy/testserver"
)

// Bounds of starting and stopping a server.
const (
	startTimeout = 60 * time.Second
	stopTimeout  = 20 * time.Second
)

// start starts the server.
func start(postgres, home, data string, opts Options, owner *syscall.Credential) (*testserver.Process, error) {
	durable := "off"
	if opts.Durable {
		durable = "on"
	}
	log, buffers := "4GB", "256MB"
	if opts.InMemory {
		log, buffers = "256MB", "32MB" // who drops a database looks through them all
	}
	settings := append([]string{
		"listen_addresses=", "max_connections=300", "fsync=" + durable, "full_page_writes=" + durable, "shared_buffers=" + buffers, "max_wal_size=" + log,
	}, opts.Settings...)
	args := []string{"-D", data, "-k", home}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	cmd := exec.Command(postgres, args...) //nolint:noctx // stopped by a signal, not by a context
	cmd.Dir, cmd.SysProcAttr = home, &syscall.SysProcAttr{Credential: owner}
	return testserver.Start(cmd, filepath.Join(home, "log"), syscall.SIGQUIT)
}

// await waits until the server answers.
func await(ctx context.Context, p *testserver.Process, address string) error {
	db, err := sql.Open("postgres", address)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // nothing is pending
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return p.Await(ctx, 20*time.Millisecond, db.PingContext)
}
