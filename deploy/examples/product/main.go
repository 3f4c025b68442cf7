// Command product stands in for the server of your product in the walk "Give your customers an editor of their own" in
// the README. It gives whoever is signed in a token for the automations of their own company.
//
//	product ADDRESS GATEWAY SECRET_KEY
//
// POST /automation-token takes the company from the header X-Company and the person from X-Person, where yours has a session.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// timeout bounds one request.
const timeout = 10 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 3 {
		return errors.New("usage: product ADDRESS GATEWAY SECRET_KEY")
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", args[0])
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /automation-token", giveToken(args[1], args[2]))
	server := &http.Server{Handler: mux, ReadTimeout: timeout}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// whoIs is your own session: whose customer a person is, and who.
func whoIs(r *http.Request) (company, person string) {
	return r.Header.Get("X-Company"), r.Header.Get("X-Person")
}

func giveToken(gateway, secretKey string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		company, person := whoIs(r)
		body, _ := json.Marshal(map[string]any{"subTenantId": company, "subject": person, "preset": "editor"})
		ask, _ := http.NewRequestWithContext(r.Context(), http.MethodPost, gateway+"/v1/gateway/embed-tokens", bytes.NewReader(body))
		ask.Header = http.Header{"X-Api-Key": {secretKey}, "Content-Type": {"application/json"}}
		answer, err := http.DefaultClient.Do(ask)
		if err != nil {
			http.Error(w, "Try again in a moment.", http.StatusBadGateway)
			return
		}
		defer func() { _ = answer.Body.Close() }()
		w.WriteHeader(answer.StatusCode)
		_, _ = io.Copy(w, answer.Body) // {"token": "ek_…", "expiresAt": "…"}
	}
}
