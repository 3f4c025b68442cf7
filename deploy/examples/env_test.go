package examples

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/deploy/harness"
)

var binary = flag.String("binary", "", "the gateway to run (default: one that is built for the test)")

// programs are what was built for the tests.
var programs struct{ gateway, setup, service string }

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// runTests builds the programs and runs the tests with them.
func runTests(m *testing.M) (code int, err error) {
	for _, pair := range os.Environ() { // settings of whoever runs the tests must not reach the programs
		if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "SLUICE_") {
			if err := os.Unsetenv(name); err != nil {
				return 1, err
			}
		}
	}
	dir, err := os.MkdirTemp("", "sluice-examples-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if programs.gateway = *binary; programs.gateway == "" {
		if programs.gateway, err = harness.Build(context.Background(), dir); err != nil {
			return 1, err
		}
	}
	programs.setup, programs.service = filepath.Join(dir, "setup"), filepath.Join(dir, "service")
	for program, source := range map[string]string{programs.setup: "./setup", programs.service: "./go"} {
		if _, err := harness.Output(exec.CommandContext(context.Background(), "go", "build", "-o", program, source)); err != nil {
			return 1, err
		}
	}
	return m.Run(), nil
}

// env is a gateway with a tenant, an example service next to it, and the tools of the
// customer who has both.
type env struct {
	*testing.T
	address string            // where the service listens
	fixed   []string          // variables of the setup
	values  map[string]string // what setup create printed
}

// newEnv starts a gateway on a database of its own, and makes the tenant.
func newEnv(t *testing.T) *env {
	t.Helper()
	dir := t.TempDir()
	gateway, err := harness.NewGateway("gateway", programs.gateway, "sqlite:"+filepath.Join(dir, "sluice.db"), dir, "SLUICE_EGRESS_ALLOW=127.0.0.0/8")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(gateway.Stop)
	if err := gateway.StartReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	made, err := gateway.CreateTenant(t.Context(), "Acme")
	if err != nil {
		t.Fatal(err)
	}
	address, err := harness.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("a gateway runs at %s, with a tenant", gateway.URL)
	return &env{T: t, address: address, fixed: []string{
		"SLUICE_URL=" + gateway.URL, "SLUICE_API_KEY=" + made.SecretKey, "SERVICE_URL=http://" + address,
	}}
}

// setup runs a command of setup.
func (e *env) setup(args ...string) string {
	e.Helper()
	return e.logSetup(runProgram(e.T, e.environ(), false, programs.setup, args...), args)
}

// setupFails runs a command of setup that is to fail.
func (e *env) setupFails(args ...string) string {
	e.Helper()
	return e.logSetup(runProgram(e.T, e.environ(), true, programs.setup, args...), args)
}

// logSetup shows what a command printed without its secrets, and returns it.
func (e *env) logSetup(printed string, args []string) string {
	e.Helper()
	shown := printed
	for _, name := range []string{"NODE_SECRETS", "WEBHOOK_SECRETS"} {
		if secret := value(printed, name); secret != "" {
			shown = strings.ReplaceAll(shown, secret, "whsec_…")
		}
	}
	e.Logf("setup %s\n%s", strings.Join(args, " "), shown)
	return printed
}

func (e *env) environ() []string {
	all := slices.Clone(e.fixed)
	for name, v := range e.values {
		all = append(all, name+"="+v)
	}
	return all
}

// create makes what the service needs.
func (e *env) create() {
	e.Helper()
	printed := e.setup("create")
	if !strings.Contains(printed, "# The custom node is unhealthy: "+e.address+" refused the connection.") {
		e.Errorf("a service that does not run yet is not shown as such: %s", printed)
	}
	e.values = make(map[string]string)
	for _, name := range []string{"NODE_SECRETS", "WEBHOOK_SECRETS", "CUSTOM_NODE_ID", "TRIGGER_ID", "WEBHOOK_ENDPOINT_ID"} {
		if e.values[name] = value(printed, name); e.values[name] == "" {
			e.Fatalf("create printed no %s", name)
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
func (e *env) serve(l language) process {
	e.Helper()
	program, args := l.command(e.T)
	service := start(e.T, "the service in "+l.name, append(e.environ(), "LISTEN="+e.address), program, args...)
	service.await(e.T, `listening on (\S+)`)
	e.Logf("the service in %s listens on %s", l.name, e.address)
	return service
}
