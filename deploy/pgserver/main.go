// Command pgserver runs a program beside a PostgreSQL server of its own, which the
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
	"syscall"

	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
)

// Exit codes, as the gateway's own; the others are the program's.
const (
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	// An interrupt reaches the program too, which ends in its own way; then the server
	// is stopped.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	code, err := run(context.WithoutCancel(ctx), os.Args[1:], os.Stdout, os.Stderr)
	if err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "pgserver: %v\n", err) // nowhere else to report to
	}
	os.Exit(code)
}
