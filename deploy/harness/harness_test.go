package harness

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestThisProcessHasMemoryAndUsesTheProcessor(t *testing.T) {
	before, err := ProcessorTime(os.Getpid())
	if errors.Is(err, ErrNeedsLinux) {
		return // the claim is Linux's
	}
	if err != nil {
		t.Fatal(err)
	}
	after := before
	for sum := 0; after == before; sum++ { // ends with the next tick
		if after, err = ProcessorTime(os.Getpid()); err != nil {
			t.Fatal(err)
		}
	}
	now, peak, err := Memory(os.Getpid())
	if err != nil || now < 1<<20 || peak < now || peak > 1<<40 {
		t.Errorf("%d bytes now, %d at the peak, %v", now, peak, err)
	}
}

func TestAGatewayThatEndsIsNotAwaited(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(binary, []byte("#!/bin/sh\necho no database at $SLUICE_DATABASE_URL; exit 1\n"), 0o700); err != nil { //nolint:gosec // it is to be run
		t.Fatal(err)
	}
	g, err := NewGateway("broken", binary, "sqlite:x.db", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	g.Stop() // nothing was started
	if err := g.StartReady(t.Context()); err == nil || !strings.Contains(err.Error(), "exit code 1") || !strings.Contains(err.Error(), "no database at sqlite:x.db") {
		t.Errorf("the error does not say why: %v", err)
	}
}

func TestAddressesAreFreeAndDiffer(t *testing.T) {
	seen := make(map[string]bool)
	for range 500 {
		address, err := FreeAddress()
		if err != nil {
			t.Fatal(err)
		}
		if seen[address] {
			t.Fatalf("%s is returned twice", address)
		}
		seen[address] = true
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
	}
}

// echo answers with what it was asked, as status 404 for the path /missing.
func echo(t *testing.T) Client {
	t.Helper()
	url, stop, err := Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if r.URL.Path == APIPath+"/missing" {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = fmt.Fprintf(w, `{"method":%q,"path":%q,"key":%q,"once":%q,"body":%q,"code":"code"}`, // the client checks
			r.Method, r.URL.Path, r.Header.Get("X-API-Key"), r.Header.Get("X-Idempotency-Key"), body)
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return Client{URL: url, Key: "sk_x", HTTP: http.DefaultClient}
}

type echoed struct{ Method, Path, Key, Once, Body string }

func TestAClientSendsBodiesOfEveryKind(t *testing.T) {
	c := echo(t)
	for claim, body := range map[string]struct {
		body any
		want string
	}{
		"nothing":  {nil, ""},
		"a text":   {`{"a": 1}`, `{"a": 1}`},
		"bytes":    {[]byte(`{"a": 1}`), `{"a": 1}`},
		"a reader": {strings.NewReader(`{"a": 1}`), `{"a": 1}`},
		"a value":  {map[string]int{"a": 1}, `{"a":1}`},
	} {
		got, err := c.Do(t.Context(), Request{Method: http.MethodPost, Path: "/x", Body: body.body, IdempotencyKey: "once"})
		if err != nil {
			t.Fatal(err)
		}
		var read echoed
		if err := got.JSON(&read); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(echoed{"POST", "/v1/gateway/x", "sk_x", "once", body.want}, read); diff != "" {
			t.Errorf("%s: %s", claim, diff)
		}
	}
}

func TestAnAnswerWithoutSuccessIsAnError(t *testing.T) {
	c := echo(t)
	got, err := c.Do(t.Context(), Request{Method: http.MethodGet, Path: "/missing"})
	if err != nil || got.Status != http.StatusNotFound || got.Code() != "code" {
		t.Errorf("%+v, %v", got, err)
	}
	for _, err := range []error{c.Post(t.Context(), "/missing", nil, nil), c.Get(t.Context(), "/missing", nil)} {
		if err == nil || !strings.Contains(err.Error(), "/missing answered 404") || !strings.Contains(err.Error(), `"code":"code"`) {
			t.Errorf("got %v", err)
		}
	}
}

func TestAListIsReadToItsEnd(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("offset") == "0" {
			_, _ = io.WriteString(w, `{"items":["a","b"],"total":3,"hasMore":true}`) // the client checks
		} else {
			_, _ = io.WriteString(w, `{"items":["c"],"total":3,"hasMore":false}`)
		}
	}))
	defer server.Close()
	items, total, err := List[string](t.Context(), Client{URL: server.URL, HTTP: server.Client()}.Get, "/x")
	if err != nil || total != 3 || !slices.Equal(items, []string{"a", "b", "c"}) {
		t.Errorf("%v of %d, %v", items, total, err)
	}
}

func TestAProgramThatFailsShowsWhatItPrinted(t *testing.T) {
	text, err := Output(exec.CommandContext(t.Context(), "sh", "-c", "echo out; echo why >&2"))
	if err != nil || string(text) != "out\n" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := Output(exec.CommandContext(t.Context(), "sh", "-c", "echo why >&2; exit 1")); err == nil || !strings.Contains(err.Error(), "why") {
		t.Errorf("got %v", err)
	}
}

func TestACommandLineHoldsOnlyFlags(t *testing.T) {
	for claim, c := range map[string]struct {
		args []string
		want error
	}{
		"a flag":          {[]string{"-n", "1"}, nil},
		"an unknown flag": {[]string{"-x"}, ErrUsage},
		"an argument":     {[]string{"x"}, ErrUsage},
		"a cry for help":  {[]string{"-h"}, flag.ErrHelp},
	} {
		flags := flag.NewFlagSet("test", flag.ContinueOnError)
		flags.SetOutput(&bytes.Buffer{})
		flags.Int("n", 0, "a number")
		if err := ParseFlags(flags, c.args); !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s: %v", claim, err)
		}
	}
}

func TestSleepSaysWhetherTheContextGoesOn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	if !Sleep(ctx, time.Millisecond) {
		t.Error("it was interrupted")
	}
	cancel()
	if Sleep(ctx, time.Hour) || Sleep(ctx, 0) {
		t.Error("it goes on after the end of its context")
	}
}
