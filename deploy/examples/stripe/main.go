// Command stripe stands in for both ends of the walk "From a Stripe event to your API" in the README.
//
//	stripe shop ADDRESS TOKEN     your API: takes POST with that bearer token, and prints the bodies
//	stripe send URL SECRET ID     Stripe: sends the event of that id, signed as Stripe signs
package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// timeout bounds one request.
const timeout = 10 * time.Second

func run(ctx context.Context, args []string, out io.Writer) error {
	switch {
	case len(args) == 3 && args[0] == "shop":
		return serve(ctx, args[1], args[2], out)
	case len(args) == 4 && args[0] == "send":
		return send(ctx, args[1], args[2], args[3], out)
	default:
		return errors.New("usage: stripe shop ADDRESS TOKEN | stripe send URL SECRET ID")
	}
}

// serve is an API that only who bears the token may call.
func serve(ctx context.Context, address, token string, out io.Writer) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{ReadTimeout: timeout, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+token)) != 1 {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		fmt.Fprintf(out, "your API got %s\n", body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"thanks":true}`) // a caller that is gone needs none
	})}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })() // it ends with the program
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// send sends an event with the header of https://docs.stripe.com/webhooks#verify-manually: the time, and the
// HMAC-SHA256 of time, dot and body.
func send(ctx context.Context, url, secret, id string, out io.Writer) error {
	body := []byte(`{"id": "` + id + `", "object": "event", "type": "invoice.paid", "data": {"object": {"id": "in_1", "customer": "cus_42", "amount_paid": 1250}}}`)
	at := strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(at + "."))
	mac.Write(body)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	req.Header.Set("Stripe-Signature", "t="+at+",v1="+hex.EncodeToString(mac.Sum(nil)))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }() // it is not read
	_, err = fmt.Fprintln(out, "the hook answered", res.Status)
	return err
}
