// Command hooks sends what every sender of a preset sends to a gateway that is killed again and again: genuine deliveries, and as many
// with one byte changed. Then it compares what was answered with the runs that are there. No altered delivery may be
// accepted, no genuine one refused, and each accepted one must have its runs exactly once.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/sluicehq/sluice/deploy/harness"
)

func main() { harness.Main("hooks", run) }

// options is how large a round is.
type options struct {
	seed       uint64
	deliveries int    // genuine ones of each sender, and as many altered
	kills      int    // of the gateway at most, while deliveries go on
	store      string // sqlite or postgres
	binary     string // the gateway; empty to build it
	progress   io.Writer
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o := options{progress: stderr}
	flags := flag.NewFlagSet("hooks", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Uint64Var(&o.seed, "seed", rand.Uint64(), "of what is random")
	flags.IntVar(&o.deliveries, "deliveries", 1000, "genuine ones of each sender, and as many altered")
	flags.IntVar(&o.kills, "kills", 100, "of the gateway at most, while deliveries go on")
	flags.StringVar(&o.store, "store", "postgres", "sqlite or postgres")
	flags.StringVar(&o.binary, "binary", "", "the gateway; empty to build it")
	if err := harness.ParseFlags(flags, args); err != nil {
		return err
	}
	if o.deliveries < 1 || o.kills < 0 || o.store != "sqlite" && o.store != "postgres" {
		return fmt.Errorf("%w: -deliveries is at least 1, -kills not negative, and -store sqlite or postgres", harness.ErrUsage)
	}
	l, err := runRound(ctx, o)
	if err != nil {
		return err
	}
	return l.report(stdout)
}
