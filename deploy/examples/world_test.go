package examples

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var binary = flag.String("binary", "", "the gateway to run (default: one that is built for the test)")

// programs are what was built for the tests.
var programs struct{ gateway, setup, service string }

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := built(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// built runs the tests once the programs are built.
func built(m *testing.M) (code int, err error) {
	folder, err := os.MkdirTemp("", "sluice-examples-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	if err := build(folder); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// build builds the programs into a folder.
func build(folder string) error {
	programs.gateway = *binary
	for _, b := range []struct {
		into    *string
		name    string
		program string
	}{{&programs.gateway, "sluice", "../../cmd/sluice"}, {&programs.setup, "setup", "./setup"}, {&programs.service, "service", "./go"}} {
		if *b.into != "" {
			continue
		}
		*b.into = filepath.Join(folder, b.name)
		if out, err := exec.CommandContext(context.Background(), "go", "build", "-o", *b.into, b.program).CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", b.program, err, out)
		}
	}
	return nil
}

// world is a gateway with a tenant, an example service beside it, and the tools of the
// customer who has both.
type world struct {
	*testing.T
	url     string
	key     string // secret key of the tenant
	address string // where the service listens
	given   []string
	values  map[string]string // what setup create printed
}

// newWorld starts a gateway on a database of its own, and makes the tenant.
func newWorld(t *testing.T) *world {
	t.Helper()
	environ := []string{
		"SLUICE_DATABASE_URL=sqlite:" + filepath.Join(t.TempDir(), "sluice.db"), "SLUICE_LISTEN=127.0.0.1:0",
		"SLUICE_EGRESS_ALLOW=127.0.0.0/8", "SLUICE_LOG_FORMAT=json",
	}
	gateway := start(t, "the gateway", environ, programs.gateway, "serve")
	w := &world{T: t, url: gateway.await(t, `"baseUrl":"(http://[^"]+)"`), address: free(t)}
	var made struct{ SecretKey string }
	text := perform(t, environ, false, programs.gateway, "tenant", "create", "--json", "--name", "Acme")
	if err := json.Unmarshal([]byte(text), &made); err != nil || made.SecretKey == "" {
		t.Fatalf("tenant create printed %s", text)
	}
	w.key = made.SecretKey
	w.given = []string{"SLUICE_URL=" + w.url, "SLUICE_API_KEY=" + w.key, "SERVICE_URL=http://" + w.address}
	t.Logf("a gateway runs at %s, with a tenant", w.url)
	return w
}

// free is an address that nobody listens on.
func free(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return address
}

// setup runs a command of setup.
func (w *world) setup(args ...string) string {
	w.Helper()
	return w.ran(perform(w.T, w.environ(), false, programs.setup, args...), args)
}

// cannot runs a command of setup that is to fail.
func (w *world) cannot(args ...string) string {
	w.Helper()
	return w.ran(perform(w.T, w.environ(), true, programs.setup, args...), args)
}

func (w *world) ran(printed string, args []string) string {
	w.Helper()
	shown := printed
	for _, name := range []string{"NODE_SECRETS", "WEBHOOK_SECRETS"} {
		if secret := value(printed, name); secret != "" {
			shown = strings.ReplaceAll(shown, secret, "whsec_…")
		}
	}
	w.Logf("setup %s\n%s", strings.Join(args, " "), shown)
	return printed
}

func (w *world) environ() []string {
	all := w.given
	for name, v := range w.values {
		all = append(all, name+"="+v)
	}
	return all
}

// create makes what the service needs.
func (w *world) create() {
	w.Helper()
	printed := w.setup("create")
	if !strings.Contains(printed, "# The custom node is unhealthy: "+w.address+" refused the connection.") {
		w.Errorf("a service that does not run yet is not shown as such: %s", printed)
	}
	w.values = make(map[string]string)
	for _, name := range []string{"NODE_SECRETS", "WEBHOOK_SECRETS", "CUSTOM_NODE_ID", "TRIGGER_ID", "WEBHOOK_ENDPOINT_ID"} {
		if w.values[name] = value(printed, name); w.values[name] == "" {
			w.Fatalf("create printed no %s", name)
		}
	}
}

// value is that of a variable in what was printed.
func value(printed, name string) string {
	for line := range strings.Lines(printed) {
		if v, ok := strings.CutPrefix(line, name+"="); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// language is an example service in a programming language.
type language struct {
	name    string
	command func(t *testing.T) (program string, args []string)
}

var languages = []language{
	{"Go", func(*testing.T) (string, []string) { return programs.service, nil }},
	{"Node", func(t *testing.T) (string, []string) {
		node, err := exec.LookPath("node")
		if err != nil {
			t.Fatal("there is no node in PATH: install Node 20 or later, without which nobody knows whether deploy/examples/node works")
		}
		return node, []string{"node/server.mjs"}
	}},
}

// serve starts the service with the secrets it knows by now.
func (w *world) serve(l language) *process {
	w.Helper()
	program, args := l.command(w.T)
	service := start(w.T, "the service in "+l.name, append(w.environ(), "LISTEN="+w.address), program, args...)
	service.await(w.T, `listening on (\S+)`)
	w.Logf("the service in %s listens on %s", l.name, w.address)
	return service
}
