package harness

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sluicehq/sluice/deploy/testserver"
)

// temporalVersion is that of the server's program, as deploy/tools/temporal/go.mod has it.
const temporalVersion = "v1.5.1"

// temporalTimeout is how long the server may take to answer.
const temporalTimeout = time.Minute

// Temporal is a Temporal server that keeps its data in a file and ends with this process.
type Temporal struct {
	Address string // host and port

	binary, dir string
	mu          sync.Mutex
	process     *testserver.Process
}

// StartTemporal starts a server whose data and log are in a folder. The first time it builds the server's
// program, which takes minutes; that is kept in the cache folder of the account.
func StartTemporal(ctx context.Context, dir string) (*Temporal, error) {
	binary, err := buildTemporal(ctx)
	if err != nil {
		return nil, err
	}
	address, err := FreeAddress()
	if err != nil {
		return nil, err
	}
	t := &Temporal{Address: address, binary: binary, dir: dir}
	return t, t.Start(ctx)
}

// Start starts the server once more, on the data that it had, and waits until it answers.
func (t *Temporal) Start(ctx context.Context) error {
	host, port, err := net.SplitHostPort(t.Address)
	if err != nil {
		return err
	}
	cmd := exec.Command(t.binary, "server", "start-dev", "--headless", "--ip", host, "--port", port, //nolint:noctx // it ends with this process
		"--db-filename", filepath.Join(t.dir, "temporal.db"), "--log-level", "error")
	p, err := testserver.Start(cmd, filepath.Join(t.dir, "temporal.log"), syscall.SIGKILL)
	if err != nil {
		return err
	}
	t.mu.Lock()
	t.process = p
	t.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, temporalTimeout)
	defer cancel()
	err = p.Await(ctx, 100*time.Millisecond, func(ctx context.Context) error {
		connection, err := new(net.Dialer).DialContext(ctx, "tcp", t.Address)
		if err != nil {
			return err
		}
		return connection.Close()
	})
	if err != nil {
		p.Kill()
	}
	return err
}

// PID is that of the process that was started last.
func (t *Temporal) PID() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.process.PID()
}

// Kill ends the server at once. Its data stay.
func (t *Temporal) Kill() {
	t.mu.Lock()
	p := t.process
	t.mu.Unlock()
	p.Kill()
}

// buildTemporal returns the server's program, and makes it where the cache does not have it.
func buildTemporal(ctx context.Context) (binary string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	binary = filepath.Join(cache, "sluice", "temporal-"+temporalVersion)
	err = testserver.Exclusively("temporal", func() error {
		if _, err := os.Stat(binary); err == nil {
			return nil
		}
		_, _ = fmt.Fprintf(os.Stderr, "building a Temporal server, which takes minutes\n") // progress only
		root, err := Output(exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/sluicehq/sluice"))
		if err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, "go", "build", "-o", binary, "github.com/temporalio/cli/cmd/temporal")
		cmd.Dir = filepath.Join(strings.TrimSpace(string(root)), "deploy", "tools", "temporal")
		_, err = Output(cmd)
		return err
	})
	return binary, err
}
