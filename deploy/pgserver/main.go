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
	"os"

	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
	"github.com/sluicehq/sluice/deploy/harness"
)

func main() { harness.MainWith("pgserver", start) }

// start starts a server unless one is named.
func start(ctx context.Context) (harness.Server, error) {
	if os.Getenv(pgtest.AddressVariable) != "" {
		return harness.Server{Stop: func() {}}, nil
	}
	server, err := pgtest.Launch(ctx, pgtest.Options{})
	if err != nil {
		return harness.Server{}, err
	}
	return harness.Server{Environ: []string{pgtest.AddressVariable + "=" + server.URL}, Stop: server.Stop}, nil
}
