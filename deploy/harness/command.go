// Package harness is what the tools below deploy share: building and running gateways and
// databases as processes of their own, calling the API, and the frame of a command.
package harness

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Exit codes, as the gateway's own.
const (
	exitFailed = 1
	exitUsage  = 2
)

// ErrUsage is wrapped by errors about the command line.
var ErrUsage = errors.New("wrong usage")

// Main runs a command until it is done or a signal ends its context, and exits.
func Main(name string, run func(ctx context.Context, args []string, stdout, stderr io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.Is(err, ErrUsage):
		_, _ = fmt.Fprintf(os.Stderr, "%s: %v\n", name, err) // nowhere else to report to
		os.Exit(exitUsage)
	default:
		_, _ = fmt.Fprintf(os.Stderr, "\n%s: FAILED: %v\n", name, err)
		os.Exit(exitFailed)
	}
}

// ParseFlags reads a command line that has only flags.
func ParseFlags(flags *flag.FlagSet, args []string) error {
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return err
	} else if err != nil {
		return fmt.Errorf("%w: %w", ErrUsage, err)
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%w: %q is not expected; every option begins with a dash", ErrUsage, flags.Arg(0))
	}
	return nil
}

// Sleep waits, and says whether ctx goes on.
func Sleep(ctx context.Context, period time.Duration) bool {
	timer := time.NewTimer(period)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}

// Output runs a program to its end and returns what it printed. The error of one that
// fails holds its standard error.
func Output(cmd *exec.Cmd) ([]byte, error) {
	var stderr strings.Builder
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s%s", strings.Join(cmd.Args, " "), err, text, stderr.String())
	}
	return text, nil
}

// Build compiles the gateway as a release is compiled, into a folder. linked are further
// variables and what they are set to, as name=value.
func Build(ctx context.Context, dir string, linked ...string) (binary string, err error) {
	return build(ctx, dir, releaseTags, linked)
}

// BuildWithTemporal compiles the gateway with the client of Temporal, into a folder.
func BuildWithTemporal(ctx context.Context, dir string) (binary string, err error) {
	return build(ctx, dir, releaseTags+",temporal", nil)
}

// BuildWithoutAccounting compiles a gateway without [run.AccountingEnabled], to measure what that costs, into a folder.
func BuildWithoutAccounting(ctx context.Context, dir string) (binary string, err error) {
	return build(ctx, dir, releaseTags+",noaccounting", nil)
}

// releaseTags are those of a release, as the Makefile has them.
const releaseTags = "nomsgpack,grpcnotrace"

func build(ctx context.Context, dir, tags string, linked []string) (binary string, err error) {
	binary = filepath.Join(dir, "sluice")
	flags := "-ldflags=-s -w -X main.version=harness"
	for _, variable := range linked {
		flags += " -X " + variable
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-tags="+tags, flags,
		"-o", binary, "github.com/sluicehq/sluice/cmd/sluice")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	_, err = Output(cmd)
	return binary, err
}
