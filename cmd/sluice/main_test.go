package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/secrets"
)

// binary is the program as a person runs it, in a folder of its own.
type binary struct {
	*testing.T
	environ []string
	program string // its file; empty for this test binary
}

func newBinary(t *testing.T, database string) binary {
	t.Helper()
	b := binary{T: t, environ: []string{"SLUICE_DATABASE_URL=" + database, "SLUICE_LISTEN=127.0.0.1:0"}}
	b.environ = append(b.environ, engineEnviron()...)
	if !strings.HasPrefix(database, "sqlite:") {
		b.environ = append(b.environ, "SLUICE_ENCRYPTION_KEY="+testKey)
	}
	return b
}

// testKey encrypts the secrets of all databases on PostgreSQL.
var testKey = secrets.GenerateKey()

// skipUnderRace leaves out, where the race detector runs (make race is -short), what sends one request or command after another, or is about
// several processes: it has nothing to race for that the tests of a gateway with many clients do not have. make test runs all of it.
func skipUnderRace(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it has nothing to race for")
	}
}

func sqliteURL(t *testing.T) string {
	t.Helper()
	return "sqlite:" + filepath.Join(t.TempDir(), "data", "sluice.db")
}

// run runs one command to its end.
func (b binary) run(args ...string) (code int, stdout, stderr string) {
	b.Helper()
	var out, err bytes.Buffer
	code = run(b.Context(), args, b.environ, &out, &err)
	holdsNoSecret(b, err.String())
	return code, out.String(), err.String()
}

// ok runs a command that must succeed and returns what it printed.
func (b binary) ok(args ...string) string {
	b.Helper()
	code, stdout, stderr := b.run(args...)
	if code != exitDone {
		b.Fatalf("sluice %s: exit code %d: %s", strings.Join(args, " "), code, stderr)
	}
	return stdout
}

// json runs a command that prints one JSON document.
func (b binary) json(args ...string) map[string]any {
	b.Helper()
	text := b.ok(append(args, "--json")...)
	var doc map[string]any
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		b.Fatalf("sluice %s printed %q: %v", strings.Join(args, " "), text, err)
	}
	return doc
}

// server is a gateway that runs.
type server struct {
	url            string
	stdout, stderr *output
	stop           func() int // stops it and returns its exit code
}

// start starts a command that serves, and waits until it does.
func (b binary) start(args ...string) server {
	b.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.Context()))
	s := server{stdout: newOutput(), stderr: newOutput()}
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, args, b.environ, s.stdout, s.stderr)
		s.stderr.end()
	}()
	s.stop = sync.OnceValue(func() int {
		cancel()
		return <-code
	})
	b.Cleanup(func() {
		s.stop()
		holdsNoSecret(b, s.stderr.String())
	})
	line, ok := s.stderr.await(`"baseUrl":"(http://[^"]+)"`)
	if !ok {
		b.Fatalf("sluice %s did not start: %s", strings.Join(args, " "), s.stderr)
	}
	s.url = line
	return s
}

// request makes a request and returns its status and body.
func (s server) request(t *testing.T, method, path, key, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-API-Key", key)
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// withoutExample removes the trigger of a tenant's example, for tests that count all
// triggers there are.
func (s server) withoutExample(t *testing.T, made map[string]any) {
	t.Helper()
	path := fmt.Sprintf("/v1/gateway/triggers/%s", made["triggerId"])
	if status, body := s.request(t, http.MethodDelete, path, fmt.Sprint(made["secretKey"]), ""); status != http.StatusNoContent {
		t.Fatalf("deleting the example's trigger got %d: %s", status, body)
	}
}

// await asks again and again until the answer holds a text, and returns the answer.
func (s server) await(t *testing.T, path, key, wanted string) string {
	t.Helper()
	for deadline := time.Now().Add(testTimeout); ; time.Sleep(20 * time.Millisecond) {
		_, body := s.request(t, http.MethodGet, path, key, "")
		if strings.Contains(body, wanted) {
			return body
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s never answered %s but %s", path, wanted, body)
		}
	}
}

// output is what a program writes while it runs.
type output struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{}
	ended   bool
}

func newOutput() *output { return &output{changed: make(chan struct{})} }

// Write keeps what is written and wakes those who wait for it.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.changed)
	o.changed = make(chan struct{})
	return o.text.Write(p)
}

func (o *output) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	close(o.changed)
	o.changed = make(chan struct{})
}

// String returns what was written so far.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// await waits until what was written fits the pattern, and returns its first group.
func (o *output) await(pattern string) (string, bool) {
	expr := regexp.MustCompile(pattern)
	deadline := time.After(time.Minute)
	for {
		o.mu.Lock()
		found, ended, changed := expr.FindStringSubmatch(o.text.String()), o.ended, o.changed
		o.mu.Unlock()
		switch {
		case found != nil:
			return found[1], true
		case ended:
			return "", false
		}
		select {
		case <-changed:
		case <-deadline:
			return "", false
		}
	}
}

func TestAWrongCommandLineIsAUsageErrorThatHelps(t *testing.T) {
	b := newBinary(t, sqliteURL(t))
	for line, want := range map[string]string{
		"serv":                        `no command "serv"`,
		"serve now":                   `does not take "now"`,
		"tenant show":                 "needs the id of a tenant",
		"tenant crate":                `no command "crate"`,
		"serve --fast":                "unknown flag: --fast",
		"key list":                    "needs --tenant",
		"tenant list --limit 0":       "limit must be at least 1",
		"tenant delete tenant_1":      "--yes",
		"key create --valid-for -1h":  "must not be negative",
		"key create --valid-for soon": "invalid argument",
	} {
		code, stdout, stderr := b.run(strings.Fields(line)...)
		if code != exitUsage || !strings.Contains(stderr, want) || stdout != "" {
			t.Errorf("sluice %s: exit code %d, %q, %q", line, code, stdout, stderr)
		}
	}
}

func TestHelpListsEverySetting(t *testing.T) {
	help := newBinary(t, sqliteURL(t)).ok("--help")
	for _, s := range settings() {
		if !strings.Contains(help, s.name) || s.help == "" {
			t.Errorf("%s is not explained", s.name)
		}
	}
	for _, name := range []string{"serve", "dev", "migrate", "tenant", "key", "version"} {
		if !strings.Contains(help, "\n  "+name+" ") {
			t.Errorf("%s is not listed", name)
		}
	}
}

func TestAMistakeIsNamedWithoutWhatOnlyFollowsFromIt(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	b := binary{T: t, environ: []string{
		"SLUICE_MAX_BODY_BYTES=1MB", "SLUICE_SHUTDOWN_TIMEOUT=5", "SLUICE_WORKER_CONCURRENCY=many", "SLUICE_DATABASE_URL_FILE=" + missing,
		"SLUICE_EGRESS_ALLOW=intranet,10.1.2.3/8", "SLUICE_LISTN=:9", "OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318", "OTEL_TRACES_SAMPLER=sometimes",
	}}
	_, _, stderr := b.run("serve")
	_, named, _ := strings.Cut(stderr, ":\n")
	named, _, _ = strings.Cut(named, "\n\n")
	want := []string{
		"OTEL_TRACES_SAMPLER must be one of always_on, always_off, traceidratio, parentbased_always_on, parentbased_always_off, parentbased_traceidratio",
		"SLUICE_DATABASE_URL_FILE names a file that cannot be read: no such file or directory",
		`SLUICE_EGRESS_ALLOW holds "10.1.2.3/8", which must be one address, 10.1.2.3, or the whole range, 10.0.0.0/8`,
		`SLUICE_EGRESS_ALLOW holds "intranet", which must be an address or a range, such as 10.1.2.3 or 10.0.0.0/8`,
		"SLUICE_LISTN looks like a setting, but there is none of that name",
		"SLUICE_MAX_BODY_BYTES is not a whole number",
		"SLUICE_SHUTDOWN_TIMEOUT is not a duration such as 30s or 2m",
		"SLUICE_WORKER_CONCURRENCY is not a whole number",
	}
	got := strings.Split(named, "\n")
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestACommandThatReadsMakesNoDatabase(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mistyped.db")
	b := binary{T: t, environ: []string{"SLUICE_DATABASE_URL=sqlite:" + file}}
	code, _, stderr := b.run("tenant", "list")
	if want := "sluice: there is no database at " + file; code != exitFailed || !strings.HasPrefix(stderr, want) {
		t.Errorf("%d: %s", code, stderr)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Error("there is one now")
	}
}

func TestWhatAnOptionMayNotHoldIsWrongUsage(t *testing.T) {
	b := newBinary(t, sqliteURL(t))
	if code, _, stderr := b.run("migrate", "up"); code != exitDone {
		t.Fatal(stderr)
	}
	code, _, stderr := b.run("tenant", "create", "--name", "")
	if code != exitUsage || !strings.Contains(stderr, "name must") {
		t.Errorf("%d: %s", code, stderr)
	}
}

func TestSettingsAreListedWhereTheyMatter(t *testing.T) {
	b := binary{T: t}
	for command, listed := range map[string]bool{"serve": true, "dev": true, "version": false, "tenant": false} {
		if _, help, _ := b.run(command, "--help"); strings.Contains(help, "SLUICE_LISTEN") != listed || strings.Contains(help, "Settings: sluice --help") == listed {
			t.Errorf("%s: %s", command, help)
		}
	}
}

func TestAllMistakesInTheSettingsAreNamedAtOnceAndNoValueIsShown(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	b := binary{T: t, environ: []string{
		"SLUICE_DATABASE_URL=mysql://root:hunter2@db/x", "SLUICE_LISTEN=8080", "SLUICE_LOG_LEVEL=loud", "SLUICE_LOG_FORMAT=xml",
		"SLUICE_CORS_ORIGINS=https://a.example/path,*", "SLUICE_TRUSTED_PROXIES=10.0.0.0/99", "SLUICE_EGRESS_ALLOW=10.0.0.0/8,intranet,10.1.2.3/8",
		"SLUICE_MAX_BODY_BYTES=many",
		"SLUICE_SHUTDOWN_TIMEOUT=-1s", "SLUICE_METRICS_LISTEN=9090", "SLUICE_METRICS_TENANTS=tenant_1,Acme", "SLUICE_BASE_URL=gateway", "SLUICE_DATABASE_MAX_CONNECTIONS=1", "SLUICE_DATABASE_URL_FILE=" + missing, "SLUICE_OPERATOR_TOKEN=hunter2",
	}}
	code, _, stderr := b.run("serve")
	if code != exitUsage || strings.Contains(stderr, "hunter2") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	for _, name := range []string{
		"DATABASE_URL ", "LISTEN", "LOG_LEVEL", "LOG_FORMAT", "CORS_ORIGINS", "TRUSTED_PROXIES", `EGRESS_ALLOW holds "intranet"`, `EGRESS_ALLOW holds "10.1.2.3/8"`, "MAX_BODY_BYTES",
		"SHUTDOWN_TIMEOUT", "METRICS_LISTEN", `METRICS_TENANTS holds "Acme"`, "BASE_URL", "DATABASE_MAX_CONNECTIONS", "DATABASE_URL_FILE", "OPERATOR_TOKEN must be 32 to 1024",
	} {
		if !strings.Contains(stderr, "SLUICE_"+name) {
			t.Errorf("SLUICE_%s is not named in: %s", name, stderr)
		}
	}
}

func TestTheDatabaseURLMayStandInAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "url")
	if err := os.WriteFile(file, []byte(sqliteURL(t)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := binary{T: t, environ: []string{"SLUICE_DATABASE_URL_FILE=" + file}}
	if out := b.ok("migrate", "up"); !strings.Contains(out, "applied 00026") {
		t.Errorf("printed %q", out)
	}
}

func TestAMisspelledSettingIsPointedOut(t *testing.T) {
	b := newBinary(t, sqliteURL(t))
	b.environ = append(b.environ, "SLUICE_LISTEN_ADDRESS=:80")
	s := b.start("serve")
	s.stop()
	if log := s.stderr.String(); !strings.Contains(log, `"variable":"SLUICE_LISTEN_ADDRESS"`) || strings.Contains(log, `"variable":"SLUICE_LISTEN"`) {
		t.Errorf("the log says %s", log)
	}
}

func TestVersion(t *testing.T) {
	b := newBinary(t, sqliteURL(t))
	if out := b.ok("version"); !strings.HasPrefix(out, "sluice ") {
		t.Errorf("printed %q", out)
	}
	if doc := b.json("version"); doc["version"] == "" || doc["go"] == "" {
		t.Errorf("printed %v", doc)
	}
}
