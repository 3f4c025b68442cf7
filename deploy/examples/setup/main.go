// Command setup makes what the example services need in a tenant of a running gateway,
// and then plays the part of the customer's product: it calls the trigger and shows
// what became of the run.
//
//	setup create            make the custom node, the workflow, its trigger and the webhook endpoint
//	setup check             ask the service whether it is healthy, through the gateway
//	setup fire NAME SIZE    send the gateway a lead: a company with so many employees
//	setup review ENTITY N   send the score that a person gives the lead that waits for it
//	setup rotate SECONDS    make another node secret; the one before stays valid for so long
//
// What create prints is the environment of the service, and of the other commands.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
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
	harness.Client
	getenv func(string) string
	out    io.Writer
}

// timeout bounds one call, and how long a run is waited for.
const timeout = 30 * time.Second

// run performs one command.
func run(ctx context.Context, args []string, getenv func(string) string, out io.Writer) error {
	c := customer{harness.Client{
		URL: cmp.Or(getenv("SLUICE_URL"), "http://127.0.0.1:8080"), Key: getenv("SLUICE_API_KEY"), HTTP: &http.Client{Timeout: timeout},
	}, getenv, out}
	if c.Key == "" {
		return errors.New("SLUICE_API_KEY must hold a secret key, sk_…")
	}
	arguments := map[string]int{"create": 0, "check": 0, "fire": 2, "review": 2, "rotate": 1}
	if len(args) == 0 {
		return errUsage
	}
	if n, known := arguments[args[0]]; !known || len(args) != n+1 {
		return errUsage
	}
	number := 0
	if len(args) > 1 {
		var err error
		if number, err = strconv.Atoi(args[len(args)-1]); err != nil {
			return errUsage
		}
	}
	switch args[0] {
	case "create":
		return c.create(ctx, cmp.Or(getenv("SERVICE_URL"), "http://127.0.0.1:9090"))
	case "check":
		return c.check(ctx)
	case "fire":
		return c.fire(ctx, args[1], number)
	case "review":
		return c.review(ctx, args[1], number)
	default:
		return c.rotate(ctx, number)
	}
}

// variable reads one that create printed.
func (c customer) variable(name string) (string, error) {
	if value := c.getenv(name); value != "" {
		return value, nil
	}
	return "", fmt.Errorf("%s is not set: take it from what setup create printed", name)
}

func (c customer) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(c.out, format+"\n", args...) // nowhere else to report a failure to
}
