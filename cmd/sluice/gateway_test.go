package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/sandbox"
	"github.com/sluicehq/sluice/adapters/sqlstore/postgres"
	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
)

// databases runs a test on each database.
func databases(t *testing.T, test func(t *testing.T, b binary)) {
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		test(t, newBinary(t, sqliteURL(t)))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		test(t, newBinary(t, postgresURL(t)))
	})
}

// postgresURL names a database without a schema.
func postgresURL(t *testing.T) string {
	t.Helper()
	return pgtest.Start(t).Database(t)
}

// The test program is what runs code as well.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == codeCommand {
		os.Exit(sandbox.Serve())
	}
	pgtest.Main(suite{m})
}

// suite are the tests, after which what they have built together is removed.
type suite struct{ *testing.M }

// Run runs the tests.
func (s suite) Run() int {
	defer func() { _ = os.RemoveAll(shared.dir) }() // the system clears up what stays
	return s.M.Run()
}

var curl = regexp.MustCompile(`(?s)curl -sS -X POST (http://\S+)(/v1/gateway/triggers/trg_\w+/webhook) .*X-API-Key: (sk_\w+)'.*-d '(\{.*\})'`)

var runID = regexp.MustCompile(`run_[0-9a-z]{26}`)

func TestANewcomersFirstMinute(t *testing.T) {
	databases(t, func(t *testing.T, b binary) {
		s := b.start("dev")
		printed, ok := s.stdout.await(`(?s)(.*-d '.*runs\?limit=1.*/console/l/.*\n)`)
		if !ok {
			t.Fatalf("dev printed %s", s.stdout)
		}
		found := curl.FindStringSubmatch(printed)
		if found == nil || found[1] != s.url {
			t.Fatalf("no request to paste to %s in %s", s.url, printed)
		}
		status, body := s.request(t, http.MethodPost, found[2], found[3], found[4])
		if status != http.StatusOK || !strings.Contains(body, `"runId":"run_`) {
			t.Errorf("the printed request got %d: %s", status, body)
		}
		ran := s.await(t, "/v1/gateway/runs?limit=1", found[3], `"status":"completed"`)
		if !strings.Contains(ran, runID.FindString(body)) {
			t.Errorf("another run was shown than that of %s: %s", body, ran)
		}
		if status, body := s.request(t, http.MethodGet, "/readyz", "", ""); status != http.StatusOK {
			t.Errorf("not ready: %s", body)
		}
		link := signedInBy(t, s, printed)
		if code := s.stop(); code != exitDone {
			t.Errorf("stopped with %d: %s", code, s.stderr)
		}
		if log := s.stderr.String(); strings.Contains(log, found[3][3:]) || strings.Contains(log, link) {
			t.Errorf("the key or the link is in the log: %s", s.stderr)
		}

		again := b.start("dev")
		if fresh, ok := again.stdout.await(`(?s)(.*/console/l/.*\n)`); !ok || strings.Contains(fresh, link) {
			t.Errorf("the second start printed %s", fresh)
		} else {
			signedInBy(t, again, fresh)
		}
		if _, ok := again.stdout.await(`(tenants in the database already)`); !ok || strings.Contains(again.stdout.String(), "sk_") {
			t.Errorf("the second start printed %s", again.stdout)
		}
		again.stop()
		if total := b.json("tenant", "list")["total"]; total != 1.0 {
			t.Errorf("there are %v tenants", total)
		}
	})
}

// signedInBy signs in to the demo tenant by the link that dev has printed, as a browser does, and returns its secret.
func signedInBy(t *testing.T, s server, printed string) (secret string) {
	t.Helper()
	_, secret, found := strings.Cut(printed, s.url+"/console/l/")
	secret, _, _ = strings.Cut(secret, "\n")
	jar, err := cookiejar.New(nil)
	if err != nil || !found {
		t.Fatalf("%v: there is no link in %s", err, printed)
	}
	browser := &http.Client{Jar: jar}
	for _, c := range []struct {
		method, path, want string
		status             int
	}{
		{http.MethodGet, "/console/l/" + secret, "demo@example.com", 200},
		{http.MethodPost, "/console/l/" + secret, `<div id="app">`, 200},
		{http.MethodGet, "/console/api/session", `"tenantName":"Demo"`, 200},
		{http.MethodGet, "/console/l/" + secret, "not valid any more", 404},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, s.url+c.path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := browser.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(answer.Body)
		if _ = answer.Body.Close(); err != nil || answer.StatusCode != c.status || !strings.Contains(string(page), c.want) {
			t.Errorf("%s: %d, %v, %s", c.method, answer.StatusCode, err, page)
		}
	}
	return secret
}

func TestTheOperatorsDay(t *testing.T) {
	databases(t, func(t *testing.T, b binary) {
		s := b.start("serve")
		made := b.json("tenant", "create", "--name", "Acme Inc", "--language", "es", "--example")
		text := func(doc map[string]any, name string) string { return fmt.Sprint(doc[name]) }
		id, secret, public := text(made, "tenantId"), text(made, "secretKey"), text(made, "publicKey")
		// A running gateway takes notice of what a command does within a second.
		within := func(step, key string, want int) {
			t.Helper()
			var status int
			end, tick := time.After(time.Second), time.Tick(50*time.Millisecond)
			for late := false; status != want && !late; {
				status, _ = s.request(t, http.MethodGet, "/v1/gateway/custom-nodes/registry", key, "")
				select {
				case <-tick:
				case <-end:
					late = true
				}
			}
			if status != want {
				t.Errorf("%s: %v, not %v", step, status, want)
			}
		}
		want := func(step string, got, want any) {
			t.Helper()
			if got != want {
				t.Errorf("%s: %v, not %v", step, got, want)
			}
		}
		body := fmt.Sprintf(`{"workflowVersionId":%q,"name":"Paid","type":"webhook","config":{}}`, text(made, "workflowVersionId"))
		status, _ := s.request(t, http.MethodPost, "/v1/gateway/triggers", secret, body)
		want("a trigger on the example", status, http.StatusCreated)

		b.ok("tenant", "suspend", id)
		within("a suspended tenant's key", secret, http.StatusUnauthorized)
		b.ok("tenant", "resume", id)
		within("a resumed tenant's key", secret, http.StatusOK)

		issued := b.json("key", "create", "--tenant", id, "--name", "deploy")
		within("a new key", text(issued, "key"), http.StatusOK)
		fresh := b.json("key", "rotate", text(issued, "id"), "--tenant", id)
		within("a rotated key", text(issued, "key"), http.StatusUnauthorized)
		within("its successor", text(fresh, "key"), http.StatusOK)
		b.ok("key", "revoke", text(fresh, "id"), "--tenant", id)
		within("a revoked key", text(fresh, "key"), http.StatusUnauthorized)

		keys := b.json("key", "list", "--tenant", id)
		if listed, err := json.Marshal(keys); err != nil || strings.Contains(string(listed), secret[3:]) || keys["total"] != 4.0 {
			t.Errorf("the list of keys is %s, %v", listed, err)
		}
		first := secretKeyID(t, keys, secret)
		code, _, stderr := b.run("key", "revoke", first, "--tenant", id)
		if code != exitFailed || !strings.Contains(stderr, "sluice key rotate "+first) {
			t.Errorf("revoking the last secret key: %d, %s", code, stderr)
		}

		b.ok("tenant", "update", id, "--name", "Acme", "--public-per-minute", "1")
		shown := b.json("tenant", "show", id)
		want("the name", shown["name"], "Acme")
		within("more than one read with the public key", public, http.StatusTooManyRequests)

		b.ok("tenant", "delete", id, "--yes")
		within("a deleted tenant's key", secret, http.StatusUnauthorized)
		code, _, stderr = b.run("tenant", "show", id)
		if code != exitFailed || !strings.Contains(stderr, "no such tenant") {
			t.Errorf("showing a deleted tenant: %d, %s", code, stderr)
		}
	})
}

func secretKeyID(t *testing.T, keys map[string]any, secret string) string {
	t.Helper()
	items, _ := keys["items"].([]any)
	for _, item := range items {
		if k, _ := item.(map[string]any); k["lastFour"] == secret[len(secret)-4:] && k["type"] == "secret" {
			return fmt.Sprint(k["id"])
		}
	}
	t.Fatalf("the key is not among %v", items)
	return ""
}

func TestTheSchemaIsBroughtUpToDateOrTheStartRefused(t *testing.T) {
	databases(t, func(t *testing.T, b binary) {
		code, _, stderr := b.run("serve", "--no-migrate")
		if code != exitFailed || !strings.Contains(stderr, "sluice migrate up") {
			t.Errorf("serving without a schema: %d, %s", code, stderr)
		}
		if code, _, stderr := b.run("tenant", "list"); code != exitFailed || !strings.Contains(stderr, "sluice migrate up") {
			t.Errorf("listing tenants without a schema: %d, %s", code, stderr)
		}
		if out := b.ok("migrate", "status"); !strings.Contains(out, "pending") {
			t.Errorf("the state is %s", out)
		}
		b.ok("migrate", "up")
		if out := b.ok("migrate", "up"); !strings.Contains(out, "nothing to do") {
			t.Errorf("applying again printed %s", out)
		}
		if out := b.ok("migrate", "status"); strings.Contains(out, "pending") {
			t.Errorf("the state is %s", out)
		}
		if code := b.start("serve", "--no-migrate").stop(); code != exitDone {
			t.Errorf("serving with the schema ended with %d", code)
		}
	})
}

func TestADatabaseThatCannotBeReachedStopsTheStartWithoutItsPassword(t *testing.T) {
	b := newBinary(t, "postgres://sluice:hunter2@127.0.0.1:1/sluice?sslmode=disable")
	code, _, stderr := b.run("serve")
	if code != exitFailed || strings.Contains(stderr, "hunter2") || !strings.Contains(stderr, "PostgreSQL") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if _, err := postgres.Open(t.Context(), "postgres://a:hunter2@[::1/x", postgres.Options{}); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error is %v", err)
	}
}

func TestAnAddressThatIsTakenStopsTheStart(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	b := newBinary(t, sqliteURL(t))
	b.environ = append(b.environ, "SLUICE_LISTEN="+taken.Addr().String())
	if code, _, stderr := b.run("serve"); code != exitFailed || !strings.Contains(stderr, "SLUICE_LISTEN") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
