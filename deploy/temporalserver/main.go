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
	"os"

	"github.com/sluicehq/sluice/deploy/harness"
)

func main() { harness.MainWith("temporalserver", start) }

// start starts a server that keeps its data in a folder of its own.
func start(ctx context.Context) (harness.Server, error) {
	dir, err := os.MkdirTemp("", "sluice-temporal-")
	if err != nil {
		return harness.Server{}, err
	}
	clearUp := func() { _ = os.RemoveAll(dir) } // it is in the system's folder for such things
	server, err := harness.StartTemporal(ctx, dir)
	if err != nil {
		clearUp()
		return harness.Server{}, err
	}
	return harness.Server{Environ: []string{"SLUICE_TEST_ENGINE=temporal", "SLUICE_TEST_TEMPORAL=" + server.Address}, Stop: func() {
		server.Kill()
		clearUp()
	}}, nil
}
