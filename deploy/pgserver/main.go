// Command pgserver runs a program with a PostgreSQL server of its own, which the
// program finds in TEST_DATABASE_URL and which ends with it:
//
//	go run ./deploy/pgserver go test -count=20 ./adapters/sqlstore/...
//
// All the tests below then share one server. A server that TEST_DATABASE_URL names
// already is used as it is. The exit code is the program's.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"

	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
)

// Exit codes, as the gateway's own; the others are the program's.
const (
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	code, err := run(context.Background(), os.Args[1:], os.Stdout, os.Stderr)
	if err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "pgserver: %v\n", err) // nowhere else to report to
	}
	os.Exit(code)
}

// run returns the exit code, and an error where it is not the program that failed.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (int, error) {
	if len(args) == 0 {
		return exitUsage, errors.New("which program? Say pgserver PROGRAM [ARGUMENT...]")
	}
	// The terminal sends an interrupt to the program as well, and the program decides.
	// This process has to outlive it, to stop the server.
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)

	program := exec.CommandContext(ctx, args[0], args[1:]...)
	program.Stdin, program.Stdout, program.Stderr = os.Stdin, stdout, stderr
	program.Env = os.Environ()
	if os.Getenv(pgtest.AddressVariable) == "" {
		server, err := pgtest.Launch(ctx, pgtest.Options{})
		if err != nil {
			return exitFailed, err
		}
		defer server.Stop()
		program.Env = append(program.Env, pgtest.AddressVariable+"="+server.URL)
	}
	err := program.Run()
	if ended, ok := errors.AsType[*exec.ExitError](err); ok && ended.ExitCode() > 0 {
		return ended.ExitCode(), nil
	}
	if err != nil {
		return exitFailed, err
	}
	return 0, nil
}
