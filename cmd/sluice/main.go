// Command sluice is the workflow automation gateway: the server, and the operator's
// commands.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	_ "time/tzdata" // schedules need every zone, also in a container without a zone database

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/adapters/sandbox"
	"github.com/sluicehq/sluice/domain"
)

// The exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2   // wrong usage or configuration
	exitSignal = 130 // a second signal, in place of the end by a signal
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == codeCommand {
		os.Exit(sandbox.Serve())
	}
	ctx, cancel := context.WithCancel(context.Background())
	endBy(cancel, os.Interrupt, syscall.SIGTERM)
	os.Exit(run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}

// endBy calls cancel at the first of the signals. A second one ends the process at once:
// by the default handling, which is back before anybody learns of the first, or by
// itself where the process was started with the signal ignored, as a shell without job
// control starts background commands.
func endBy(cancel func(), stops ...os.Signal) {
	var ignored, others []os.Signal
	for _, s := range stops {
		if signal.Ignored(s) {
			ignored = append(ignored, s)
		} else {
			others = append(others, s)
		}
	}
	signals := make(chan os.Signal, len(stops))
	signal.Notify(signals, stops...)
	go func() {
		<-signals
		if len(others) > 0 { // without arguments, Reset is for every signal
			signal.Reset(others...)
		}
		cancel()
		if len(ignored) > 0 {
			<-signals
			os.Exit(exitSignal)
		}
	}()
}

// errUsage marks a command line that is not understood.
var errUsage = errors.New("wrong usage")

// run carries out one command line and returns the exit code. environ is a list of
// NAME=value.
func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) int {
	p := &program{environ: environ, stdout: stdout, stderr: stderr}
	root := p.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errDiffers):
		return exitFailed
	case errors.Is(err, errConfiguration):
		_, _ = fmt.Fprintf(stderr, "sluice: %v\n\nAll settings: sluice --help\n", err) // nowhere to report a failure to
		return exitUsage
	case errors.Is(err, errUsage):
		_, _ = fmt.Fprintf(stderr, "sluice: %v\n\nHelp: sluice --help\n", err)
		return exitUsage
	case errors.Is(err, domain.Invalid), errors.As(err, new(notCompared)): // what an option or a name was given; diff ends with 2, too
		_, _ = fmt.Fprintf(stderr, "sluice: %v\n", explain(err))
		return exitUsage
	default:
		_, _ = fmt.Fprintf(stderr, "sluice: %v\n", explain(err))
		return exitFailed
	}
}

// program is what every command needs.
type program struct {
	environ        []string
	stdout, stderr io.Writer
	json           bool // results are printed as one JSON document
}

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "sluice",
		Short: "The workflow automation gateway",
		Long: "Sluice is a workflow automation gateway: your customers' applications create and manage\n" +
			"automations over its API, and it runs them durably.\n\n" +
			"To try it: sluice dev",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          unknownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.PersistentPreRun = recordCommand
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return fmt.Errorf("%w: %w", errUsage, err) })
	usage := root.UsageFunc()
	root.SetUsageFunc(func(cmd *cobra.Command) error { // a template would cost the binary 16 MB, see TestTheLinkerLeavesOutWhatNothingCalls
		err := usage(cmd)
		_, failed := fmt.Fprint(cmd.OutOrStderr(), settingsBelow(cmd))
		return cmp.Or(err, failed)
	})
	printing := []*cobra.Command{p.migrateCommand(), p.tenantCommand(), p.keyCommand(), p.auditCommand(), p.usageCommand(), p.runCommand(), p.userCommand(), p.memberCommand(), p.secretsCommand(), p.versionCommand()}
	for _, cmd := range printing {
		cmd.PersistentFlags().BoolVar(&p.json, "json", false, "print one JSON document")
	}
	root.AddCommand(append(printing, p.serveCommand(), p.devCommand(), p.healthcheckCommand(), p.workflowCommand())...)
	return root
}

// unknownCommand refuses words that are no command.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s has no command %q", errUsage, cmd.CommandPath(), args[0])
}

// group is a command that only holds others.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(commands...)
	return cmd
}

// exactly asks for that many arguments and names what is missing.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return fmt.Errorf("%w: %s needs %s", errUsage, cmd.CommandPath(), names[len(args)])
		case len(args) > len(names):
			return fmt.Errorf("%w: %s does not take %q", errUsage, cmd.CommandPath(), args[len(names)])
		default:
			return nil
		}
	}
}

// settingsBelow is what stands below the help of a command: the settings, or where they are found.
func settingsBelow(cmd *cobra.Command) string {
	if cmd.HasParent() && cmd.Name() != "serve" && cmd.Name() != "dev" {
		return "\nSettings: sluice --help\n"
	}
	text := "\nSettings (environment variables):\n"
	for _, s := range settings() {
		text += fmt.Sprintf("  %-34s %s", s.name, s.help)
		if s.fallback != "" {
			text += fmt.Sprintf(" (default: %s)", s.fallback)
		}
		text += "\n"
	}
	return text
}
