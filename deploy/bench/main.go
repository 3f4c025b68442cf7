// Command bench measures the gateway against what the same machine can do without
// it: each figure is compared with a baseline taken in the same run, and the ratio of
// the two is what counts. README.md says how to read it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

func main() { harness.Main("bench", run) }

// options is what the command line chooses.
type options struct {
	rounds  int
	period  time.Duration // length of one measurement
	runs    int           // finished ones that runs-sustained keeps
	only    *regexp.Regexp
	json    string // file that receives the figures; empty for none
	dir     string // where the database and the logs are kept while measuring
	binary  string // the gateway; empty to build it
	verbose io.Writer

	profiles string // directory that receives the gateway's profiles; empty for none
	into     string // Markdown file whose table is replaced; empty for none
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 {
		switch args[0] {
		case bareCommand:
			return serveBare(ctx, args[1:], stdout)
		case insertsCommand:
			return serveInserts(ctx, args[1:], stdout)
		}
	}
	o, err := readOptions(args, stderr)
	if err != nil {
		return err
	}
	rows := slices.DeleteFunc(allRows(), func(r row) bool { return !o.only.MatchString(r.about().name) })
	gauges := slices.DeleteFunc(allGauges(), func(g gauge) bool { return !o.only.MatchString(g.name()) })
	if len(rows)+len(gauges) == 0 {
		return fmt.Errorf("%w: nothing is named like -only %s; there are %s", harness.ErrUsage, o.only, names())
	}
	rep, err := bench(ctx, o, rows, gauges)
	if err != nil {
		return err
	}
	if o.json != "" {
		if err := rep.save(o.json); err != nil {
			return err
		}
	}
	if o.into != "" {
		if err := rep.writeInto(o.into); err != nil {
			return err
		}
	}
	return rep.print(stdout)
}

func readOptions(args []string, stderr io.Writer) (options, error) {
	o := options{verbose: stderr}
	var only string
	var seconds int
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.rounds, "rounds", 5, "how often baseline and gateway are measured in turn")
	flags.IntVar(&seconds, "seconds", 3, "how long one measurement takes")
	flags.IntVar(&o.runs, "runs", 300_000, "how many finished runs runs-sustained keeps")
	flags.StringVar(&only, "only", "", "measure only what has a name that matches this regular expression: "+names())
	flags.StringVar(&o.json, "json", "", "also write the figures to this file")
	flags.StringVar(&o.into, "into", "", "also write the tables into this Markdown file, between its lines "+beginTables+" and "+endTables)
	flags.StringVar(&o.profiles, "profile", "", "also take CPU and allocation profiles of the gateway under each row's load, into this directory")
	flags.StringVar(&o.dir, "dir", "", "directory for the database and the logs, on the disk to measure (default: the system's for temporary files)")
	flags.StringVar(&o.binary, "binary", "", "gateway to measure (default: build it)")
	if err := harness.ParseFlags(flags, args); err != nil {
		return o, err
	}
	o.period = time.Duration(seconds) * time.Second
	pattern, err := regexp.Compile(only)
	switch {
	case o.rounds < 1:
		return o, fmt.Errorf("%w: -rounds must be at least 1, not %d", harness.ErrUsage, o.rounds)
	case o.runs < 1:
		return o, fmt.Errorf("%w: -runs must be at least 1, not %d", harness.ErrUsage, o.runs)
	case seconds < 1:
		return o, fmt.Errorf("%w: -seconds must be at least 1, not %d", harness.ErrUsage, seconds)
	case err != nil:
		return o, fmt.Errorf("%w: -only: %w", harness.ErrUsage, err)
	}
	o.only = pattern
	return o, nil
}

// bench measures everything in one environment.
func bench(ctx context.Context, o options, rows []row, gauges []gauge) (report, error) {
	rep := report{Machine: describeMachine(), Rounds: o.rounds, Seconds: o.period.Seconds(), Taken: time.Now().UTC()}
	e, err := newEnv(ctx, o)
	if err != nil {
		return rep, err
	}
	defer e.close()
	if rep.Machine.PostgreSQL, err = e.database.version(ctx); err != nil {
		return rep, err
	}
	for _, r := range rows {
		if err := e.database.vacuum(ctx); err != nil {
			return rep, err
		}
		res, err := measureRow(ctx, e, r, o)
		if err != nil {
			return rep, fmt.Errorf("%s: %w", r.about().name, err)
		}
		rep.Rows = append(rep.Rows, res)
	}
	rep.Figures = append(sameAtEverySize(rep.Rows), tailOfTriggers(rep.Rows)...)
	for _, g := range gauges {
		_, _ = fmt.Fprintf(o.verbose, "%s\n", g.name()) // progress only
		if err := e.database.vacuum(ctx); err != nil {
			return rep, err
		}
		found, err := g.measure(ctx, e, o)
		if errors.Is(err, harness.ErrNeedsLinux) {
			_, _ = fmt.Fprintf(o.verbose, "%s: left out: %v\n", g.name(), err)
			continue
		}
		if err != nil {
			return rep, fmt.Errorf("%s: %w", g.name(), err)
		}
		rep.Figures = append(rep.Figures, found...)
	}
	return rep, nil
}
