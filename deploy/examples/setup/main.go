// Command setup makes what the example services need in a tenant of a running gateway,
// and then plays the part of the customer's product: it fires the trigger and shows
// what became of the run.
//
//	setup create            make the custom node, the workflow, its trigger and the webhook endpoint
//	setup check             ask the service whether it lives, through the gateway
//	setup fire NAME SIZE    tell the gateway of a lead: a company with so many employees
//	setup review ENTITY N   say what a person thinks of the lead that waits for it
//	setup rotate SECONDS    make another node secret, beside which the one before is good for so long
//
// What create prints is the environment of the service, and of the other commands.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Getenv, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var errUsage = errors.New("usage: setup create | check | fire NAME SIZE | review ENTITY SCORE | rotate SECONDS")

// customer is what the commands work with.
type customer struct {
	gateway
	getenv func(string) string
	out    io.Writer
}

// run performs one command.
func run(ctx context.Context, args []string, getenv func(string) string, out io.Writer) error {
	c := customer{gateway{or(getenv("SLUICE_URL"), "http://127.0.0.1:8080"), getenv("SLUICE_API_KEY")}, getenv, out}
	if c.key == "" {
		return errors.New("SLUICE_API_KEY must hold a secret key, sk_…")
	}
	command := ""
	if len(args) > 0 {
		command = args[0]
	}
	switch {
	case command == "create" && len(args) == 1:
		return c.create(ctx, or(getenv("SERVICE_URL"), "http://127.0.0.1:9090"))
	case command == "check" && len(args) == 1:
		return c.check(ctx)
	case command == "fire" && len(args) == 3:
		employees, err := strconv.Atoi(args[2])
		if err != nil {
			return errUsage
		}
		return c.fire(ctx, args[1], employees)
	case command == "review" && len(args) == 3:
		score, err := strconv.Atoi(args[2])
		if err != nil {
			return errUsage
		}
		return c.review(ctx, args[1], score)
	case command == "rotate" && len(args) == 2:
		seconds, err := strconv.Atoi(args[1])
		if err != nil {
			return errUsage
		}
		return c.rotate(ctx, seconds)
	}
	return errUsage
}

// needs reads what create printed.
func (c customer) needs(variable string) (string, error) {
	if value := c.getenv(variable); value != "" {
		return value, nil
	}
	return "", fmt.Errorf("%s is not set: take it from what setup create printed", variable)
}

// say tells what happened.
func (c customer) say(format string, args ...any) {
	_, _ = fmt.Fprintf(c.out, format+"\n", args...) // nowhere else to report a failure to
}

func or(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}
