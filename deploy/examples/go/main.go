// Command go is an example of a customer's service: it runs the custom node score_lead
// for the gateway, and receives the gateway's webhooks. It trusts nothing that is not
// signed with a secret it knows.
//
// Take verify.go and once.go as they are; replace what leads.go and webhooks.go do.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	log.SetFlags(0)
	log.SetOutput(os.Stdout)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Getenv)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run serves until ctx ends.
func run(ctx context.Context, getenv func(string) string) error {
	nodes, err := newVerifier(split(getenv("NODE_SECRETS")))
	if err != nil {
		return fmt.Errorf("NODE_SECRETS: %w", err)
	}
	webhooks, err := newVerifier(split(getenv("WEBHOOK_SECRETS")))
	if err != nil {
		return fmt.Errorf("WEBHOOK_SECRETS: %w", err)
	}
	address := getenv("LISTEN")
	if address == "" {
		address = "127.0.0.1:9090"
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("POST /nodes", &leads{verify: nodes, done: newOnce()})
	mux.Handle("POST /webhooks", &receiver{verify: webhooks, seen: newOnce()})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second}
	log.Printf("listening on %s", listener.Addr())
	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		stopped <- server.Shutdown(ending)
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-stopped
}

// split reads secrets separated by commas: while one rotates, two are good.
func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}
