package main

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/sluicehq/sluice/deploy/chaos/attack"
	"github.com/sluicehq/sluice/deploy/harness"
)

// hostileOptions is what a round with a hostile tenant is like.
type hostileOptions struct {
	options // seed, length, settle, binary, keep and progress

	memory    int64 // limit of the process, in bytes
	store     string
	attacks   []attack.Attack
	together  bool          // without a turn of each before
	perSecond int           // honest calls, of all tenants
	perMinute int           // requests that the hostile tenant may make
	times     float64       // how many times as long honest calls may take while the hostile tenant attacks
	least     time.Duration // what takes less alone counts as this
	size      attack.Size
}

func readHostileOptions(args []string, stderr io.Writer) (hostileOptions, error) {
	o := hostileOptions{options: options{progress: stderr, tenantCount: 3}}
	var minutes float64
	var memory, attacks string
	flags := flag.NewFlagSet("chaos hostile", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Uint64Var(&o.seed, "seed", rand.Uint64N(1_000_000), "of the calls that honest tenants make; the default differs each time")
	flags.StringVar(&memory, "memory", "512MiB", "limit of the gateway's memory, which ends it when it takes more")
	flags.Float64Var(&minutes, "minutes", 10, "how long the honest tenants are alone, then under attack")
	flags.DurationVar(&o.settle, "settle", 2*time.Minute, "how long honest runs may take to finish after that")
	flags.StringVar(&o.store, "store", "sqlite", "sqlite or postgres")
	flags.StringVar(&attacks, "attack", "", "attacks to make, separated by commas (default: all of them): "+strings.Join(attack.Names(), ", "))
	flags.BoolVar(&o.together, "together", false, "make all attacks at the same time from the beginning, and none by itself")
	flags.IntVar(&o.perSecond, "rate", 15, "calls that the honest tenants make in a second, together")
	flags.IntVar(&o.perMinute, "hostile-per-minute", 1000, "requests that the hostile tenant may make in a minute; the default is that of every tenant")
	flags.Float64Var(&o.times, "times", 5, "how many times as long as alone an honest call may take")
	flags.DurationVar(&o.least, "least", 20*time.Millisecond, "what takes less than this alone counts as this")
	flags.IntVar(&o.size.Triggers, "triggers", 280, "that wait for one event of the hostile tenant")
	flags.IntVar(&o.size.Waiting, "waiting", 5000, "runs of the hostile tenant that become due at one instant")
	flags.StringVar(&o.binary, "binary", "", "gateway to try (default: build it)")
	flags.StringVar(&o.keep, "keep", "", "folder that is to keep the log of the process (default: it is thrown away)")
	if err := harness.ParseFlags(flags, args); err != nil {
		return o, err
	}
	o.length = time.Duration(minutes * float64(time.Minute))
	var err error
	if o.attacks, err = attack.Select(attacks); err != nil {
		return o, fmt.Errorf("%w: -attack: %w", harness.ErrUsage, err)
	}
	if o.memory, err = parseBytes(memory); err != nil {
		return o, fmt.Errorf("%w: -memory: %w", harness.ErrUsage, err)
	}
	switch {
	case o.store != "sqlite" && o.store != "postgres":
		return o, fmt.Errorf("%w: -store must be sqlite or postgres, not %q", harness.ErrUsage, o.store)
	case o.length < 10*time.Second || o.settle < time.Second:
		return o, fmt.Errorf("%w: -minutes and -settle must be at least 10 and 1 seconds", harness.ErrUsage)
	case min(o.perSecond, o.perMinute, o.size.Triggers, o.size.Waiting) < 1 || o.times < 1:
		return o, fmt.Errorf("%w: -rate, -hostile-per-minute, -times, -triggers and -waiting must be at least 1", harness.ErrUsage)
	}
	return o, nil
}

var bytesSyntax = regexp.MustCompile(`^([0-9]{1,9})(MiB|GiB)$`)

// parseBytes reads an amount of memory such as 512MiB.
func parseBytes(text string) (int64, error) {
	parts := bytesSyntax.FindStringSubmatch(text)
	if parts == nil {
		return 0, fmt.Errorf("%q is no amount such as 512MiB or 1GiB", text)
	}
	n, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%q is no amount above zero", text)
	}
	if parts[2] == "GiB" {
		return n << 30, nil
	}
	return n << 20, nil
}
