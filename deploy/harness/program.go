package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
)

// Server is what a program is run with.
type Server struct {
	Environ []string // by which the program finds it
	Stop    func()
}

// RunWith runs a program with a server that is started for it, and ends the server afterwards. It returns the program's
// exit code, and an error where it is not the program that failed.
func RunWith(ctx context.Context, args []string, stdout, stderr io.Writer, start func(context.Context) (Server, error)) (int, error) {
	if len(args) == 0 {
		return exitUsage, errors.New("which program? Say PROGRAM [ARGUMENT...]")
	}
	// The terminal sends an interrupt to the program as well, and the program decides.
	// This process has to outlive it, to stop the server.
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	server, err := start(ctx)
	if err != nil {
		return exitFailed, err
	}
	defer server.Stop()
	program := exec.CommandContext(ctx, args[0], args[1:]...)
	program.Stdin, program.Stdout, program.Stderr = os.Stdin, stdout, stderr
	program.Env = append(os.Environ(), server.Environ...)
	err = program.Run()
	if ended, ok := errors.AsType[*exec.ExitError](err); ok && ended.ExitCode() > 0 {
		return ended.ExitCode(), nil
	}
	if err != nil {
		return exitFailed, err
	}
	return 0, nil
}

// MainWith is the command line of a tool that does nothing but [RunWith].
func MainWith(name string, start func(context.Context) (Server, error)) {
	code, err := RunWith(context.Background(), os.Args[1:], os.Stdout, os.Stderr, start)
	if err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "%s: %v\n", name, err) // nowhere else to report to
	}
	os.Exit(code)
}
