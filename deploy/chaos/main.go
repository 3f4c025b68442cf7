// Command chaos tries to break the gateway's promises: real processes on one real
// PostgreSQL under load, while processes are killed and frozen, the database is
// restarted and connections are cut. Then it holds what clients were told, what the
// receivers of calls and events saw, what the API shows and what the database keeps
// against each other. "chaos hostile" leaves the processes alone and lets a tenant misuse
// one of them. README.md says what is checked.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Exit codes, as the gateway's own.
const (
	exitFailed = 1
	exitUsage  = 2
)

var errUsage = errors.New("wrong usage")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		_, _ = fmt.Fprintf(os.Stderr, "chaos: %v\n", err) // nowhere else to report to
		os.Exit(exitUsage)
	default:
		_, _ = fmt.Fprintf(os.Stderr, "\nchaos: FAILED: %v\n", err)
		os.Exit(exitFailed)
	}
}

// options is how bad a round is to be.
type options struct {
	seed      uint64
	processes int
	tenants   int
	runs      int           // calls that clients make
	length    time.Duration // over which the calls and the disturbances are spread
	settle    time.Duration // how long everything may take to finish after that

	kills    int // of a process, which is started again at once
	freezes  int // of a process, for longer than a lease
	restarts int // of the database
	cuts     int // of all connections to the database
	stalls   int // of the database, which then does not answer what concerns runs

	binary   string // the gateway; empty to build it
	keep     string // folder that keeps the processes' logs; empty to throw them away
	progress io.Writer
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 && args[0] == "hostile" {
		return runHostile(ctx, args[1:], stdout, stderr)
	}
	o, err := readOptions(args, stderr)
	if err != nil {
		return err
	}
	account, err := storm(ctx, o)
	if err != nil {
		return err
	}
	if err := account.print(stdout); err != nil {
		return err
	}
	return account.err()
}

func readOptions(args []string, stderr io.Writer) (options, error) {
	o := options{progress: stderr}
	var minutes float64
	flags := flag.NewFlagSet("chaos", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Uint64Var(&o.seed, "seed", rand.Uint64N(1_000_000), "of everything that is drawn; the default differs each time")
	flags.IntVar(&o.processes, "processes", 3, "gateways on the one database")
	flags.IntVar(&o.tenants, "tenants", 4, "tenants that share them")
	flags.IntVar(&o.runs, "runs", 20_000, "calls that start runs")
	flags.Float64Var(&minutes, "minutes", 10, "over which calls and disturbances are spread")
	flags.DurationVar(&o.settle, "settle", 3*time.Minute, "how long everything may take to finish after that")
	flags.IntVar(&o.kills, "kills", 100, "of a process with SIGKILL, which is started again at once")
	flags.IntVar(&o.freezes, "freezes", 10, "of a process with SIGSTOP, for longer than the lease of its runs")
	flags.IntVar(&o.restarts, "restarts", 6, "of the database, every other one without a shutdown")
	flags.IntVar(&o.cuts, "cuts", 10, "of every connection to the database")
	flags.IntVar(&o.stalls, "stalls", 6, "of the database, which answers nothing that concerns runs for seconds, as on a disk that hangs")
	flags.StringVar(&o.binary, "binary", "", "gateway to try (default: build it)")
	flags.StringVar(&o.keep, "keep", "", "folder that is to keep the logs of the processes (default: they are thrown away)")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return o, err
	} else if err != nil {
		return o, fmt.Errorf("%w: %w", errUsage, err)
	}
	o.length = time.Duration(minutes * float64(time.Minute))
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("%w: %q is not expected; every option begins with a dash", errUsage, flags.Arg(0))
	case o.processes < 2:
		return o, fmt.Errorf("%w: -processes must be at least 2, not %d: somebody has to go on", errUsage, o.processes)
	case o.tenants < 2:
		return o, fmt.Errorf("%w: -tenants must be at least 2, not %d: they must not see each other", errUsage, o.tenants)
	case o.runs < 1 || o.length < time.Second || o.settle < time.Second:
		return o, fmt.Errorf("%w: -runs, -minutes and -settle must be at least 1, a second and a second", errUsage)
	case min(o.kills, o.freezes, o.restarts, o.cuts, o.stalls) < 0:
		return o, fmt.Errorf("%w: -kills, -freezes, -restarts, -cuts and -stalls must not be negative", errUsage)
	}
	return o, nil
}
