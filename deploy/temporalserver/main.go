// Command temporalserver runs a program with a Temporal server of its own, on which the tests of
// runs then run, and which ends with it:
//
//	go run ./deploy/temporalserver go test -tags temporal ./application/worker
//
// The first time it builds the server, which takes minutes; that is kept in the cache folder of
// the account. The exit code is the program's.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
	"github.com/sluicehq/sluice/deploy/testserver"
)

// Exit codes, as the gateway's own; the others are the program's.
const (
	exitFailed = 1
	exitUsage  = 2
)

// startTimeout is how long the server may take to answer.
const startTimeout = time.Minute

func main() {
	code, err := run(context.Background(), os.Args[1:], os.Stdout, os.Stderr)
	if err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "temporalserver: %v\n", err) // nowhere else to report to
	}
	os.Exit(code)
}

// run returns the exit code, and an error where it is not the program that failed.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (int, error) {
	if len(args) == 0 {
		return exitUsage, errors.New("which program? Say temporalserver PROGRAM [ARGUMENT...]")
	}
	interrupts := make(chan os.Signal, 1) // the program gets them as well, and decides
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	dir, err := os.MkdirTemp("", "sluice-temporal-")
	if err != nil {
		return exitFailed, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // it is in the system's folder for such things
	address, stop, err := start(ctx, dir)
	if err != nil {
		return exitFailed, err
	}
	defer stop()
	program := exec.CommandContext(ctx, args[0], args[1:]...)
	program.Stdin, program.Stdout, program.Stderr = os.Stdin, stdout, stderr
	program.Env = append(os.Environ(), "SLUICE_TEST_ENGINE=temporal", "SLUICE_TEST_TEMPORAL="+address)
	err = program.Run()
	if ended, ok := errors.AsType[*exec.ExitError](err); ok && ended.ExitCode() > 0 {
		return ended.ExitCode(), nil
	}
	if err != nil {
		return exitFailed, err
	}
	return 0, nil
}

// start starts a server that keeps its data in a folder.
func start(ctx context.Context, dir string) (address string, stop func(), err error) {
	binary, err := build(ctx)
	if err != nil {
		return "", nil, err
	}
	address, err = harness.FreeAddress()
	if err != nil {
		return "", nil, err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", nil, err
	}
	cmd := exec.Command(binary, "server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", port, //nolint:noctx // it ends with this process
		"--db-filename", filepath.Join(dir, "temporal.db"), "--log-level", "error")
	server, err := testserver.Start(cmd, filepath.Join(dir, "temporal.log"), syscall.SIGKILL)
	if err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = cmd.Process.Kill() // it may have ended
		<-server.Ended()
	}
	for deadline := time.Now().Add(startTimeout); ; {
		connection, err := net.DialTimeout("tcp", address, time.Second) //nolint:noctx // bounded by itself
		if err == nil {
			return address, stop, connection.Close()
		}
		select {
		case <-server.Ended():
			text, _ := os.ReadFile(server.Log)
			return "", nil, fmt.Errorf("the server ended:\n%s", text)
		case <-time.After(100 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			stop()
			return "", nil, err
		}
	}
}

// version is that of the server's program, as deploy/tools/temporal/go.mod has it.
const version = "v1.5.1"

// build returns the server's program, and makes it where the cache does not have it.
func build(ctx context.Context) (binary string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	binary = filepath.Join(cache, "sluice", "temporal-"+version)
	err = testserver.Exclusively("temporal", func() error {
		if _, err := os.Stat(binary); err == nil {
			return nil
		}
		_, _ = fmt.Fprintf(os.Stderr, "building a Temporal server, which takes minutes\n")
		cmd := exec.CommandContext(ctx, "go", "build", "-o", binary, "github.com/temporalio/cli/cmd/temporal")
		cmd.Dir = filepath.Join("deploy", "tools", "temporal")
		_, err := harness.Output(cmd)
		return err
	})
	return binary, err
}
