// Command chaos tries to break the gateway's promises: real processes on one real
// PostgreSQL under load, while processes are killed and frozen, the database is
// restarted and connections are cut. Then it compares what clients were answered, what the
// receivers of calls and events got, what the API shows and what the database keeps.
// "chaos hostile" leaves the processes alone and lets a tenant attack one of them.
// README.md says what is checked.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

func main() { harness.Main("chaos", run) }

// options is how bad a round is to be.
type options struct {
	seed        uint64
	processes   int
	tenantCount int
	runs        int           // calls that clients make
	length      time.Duration // over which the calls and the faults are spread
	settle      time.Duration // how long everything may take to finish after that
	recovery    time.Duration // within which a gateway serves again after its database is back

	kills    int // of a process, which is started again at once
	freezes  int // of a process, for longer than a lease
	restarts int // of the database
	cuts     int // of all connections to the database
	stalls   int // of the database, which then does not answer what concerns runs

	engine        string        // with which runs begin
	engineKills   int           // of Temporal, which is started again
	engineAbsence time.Duration // of Temporal, once

	binary   string // the gateway; empty to build it
	keep     string // folder that keeps the processes' logs; empty to throw them away
	progress io.Writer
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	switch {
	case len(args) > 0 && args[0] == "hostile":
		return runHostile(ctx, args[1:], stdout, stderr)
	case len(args) == 1 && args[0] == attackerCommand:
		return attackByPlan(ctx, os.Stdin, stdout)
	}
	o, err := readOptions(args, stderr)
	if err != nil {
		return err
	}
	l, err := runRound(ctx, o)
	if err != nil {
		return err
	}
	return l.report(stdout)
}

func readOptions(args []string, stderr io.Writer) (options, error) {
	o := options{recovery: 2 * time.Second, progress: stderr}
	var minutes float64
	flags := flag.NewFlagSet("chaos", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Uint64Var(&o.seed, "seed", rand.Uint64N(1_000_000), "of everything that is drawn; the default differs each time")
	flags.IntVar(&o.processes, "processes", 3, "gateways on the one database")
	flags.IntVar(&o.tenantCount, "tenants", 4, "tenants that share them")
	flags.IntVar(&o.runs, "runs", 20_000, "calls that start runs")
	flags.Float64Var(&minutes, "minutes", 10, "over which calls and disturbances are spread")
	flags.DurationVar(&o.settle, "settle", 3*time.Minute, "how long everything may take to finish after that")
	flags.IntVar(&o.kills, "kills", 100, "of a process with SIGKILL, which is started again at once")
	flags.IntVar(&o.freezes, "freezes", 10, "of a process with SIGSTOP, for longer than the lease of its runs")
	flags.IntVar(&o.restarts, "restarts", 6, "of the database, every other one without a shutdown")
	flags.IntVar(&o.cuts, "cuts", 10, "of every connection to the database")
	flags.IntVar(&o.stalls, "stalls", 6, "of the database, which answers nothing that concerns runs for seconds, as on a disk that hangs")
	flags.StringVar(&o.engine, "engine", engineTable, "with which runs begin: table, or temporal, which is a Temporal server of the round's own")
	flags.IntVar(&o.engineKills, "engine-kills", 4, "of that server with SIGKILL, which is started again on its data")
	flags.DurationVar(&o.engineAbsence, "engine-absence", time.Minute, "how long that server is away once; 0 for never")
	flags.StringVar(&o.binary, "binary", "", "gateway to try (default: build it)")
	flags.StringVar(&o.keep, "keep", "", "folder that is to keep the logs of the processes (default: they are thrown away)")
	if err := harness.ParseFlags(flags, args); err != nil {
		return o, err
	}
	o.length = time.Duration(minutes * float64(time.Minute))
	if o.engine == engineTable {
		o.engineKills, o.engineAbsence = 0, 0
	}
	switch {
	case o.engine != engineTable && o.engine != engineTemporal:
		return o, fmt.Errorf("%w: -engine must be table or temporal, not %q", harness.ErrUsage, o.engine)
	case o.engineKills < 0 || o.engineAbsence < 0 || o.engineAbsence > o.length/2:
		return o, fmt.Errorf("%w: -engine-kills must not be negative, nor -engine-absence more than half of the round", harness.ErrUsage)
	case o.processes < 2:
		return o, fmt.Errorf("%w: -processes must be at least 2, not %d: somebody has to go on", harness.ErrUsage, o.processes)
	case o.tenantCount < 2:
		return o, fmt.Errorf("%w: -tenants must be at least 2, not %d: they must not see each other", harness.ErrUsage, o.tenantCount)
	case o.runs < 1 || o.length < time.Second || o.settle < time.Second:
		return o, fmt.Errorf("%w: -runs, -minutes and -settle must be at least 1, a second and a second", harness.ErrUsage)
	case min(o.kills, o.freezes, o.restarts, o.cuts, o.stalls) < 0:
		return o, fmt.Errorf("%w: -kills, -freezes, -restarts, -cuts and -stalls must not be negative", harness.ErrUsage)
	}
	return o, nil
}
