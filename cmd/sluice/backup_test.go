package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
	"github.com/sluicehq/sluice/deploy/rolling"
)

// The commands below are those of the operator's handbook.

func TestADumpOfALiveGatewayRestoresEveryRecord(t *testing.T) {
	skipUnderRace(t)
	server, err := pgtest.Launch(t.Context(), pgtest.Options{Programs: []string{"pg_dump", "pg_restore", "createdb"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	address := func(name string) string {
		u, err := url.Parse(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		u.Path = "/" + name
		return u.String()
	}
	run := func(program string, args ...string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), filepath.Join(server.Programs, program), args...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", program, err, out)
		}
	}
	run("createdb", "--maintenance-db="+server.URL, "sluice")
	dump := filepath.Join(t.TempDir(), "sluice.dump")
	restoresEveryRecord(t, address("sluice"), func() string {
		run("pg_dump", "--format=custom", "--file="+dump, address("sluice"))
		run("createdb", "--maintenance-db="+server.URL, "restored")
		run("pg_restore", "--no-owner", "--exit-on-error", "--dbname="+address("restored"), dump)
		return address("restored")
	})
}

func TestASQLiteBackupOfALiveGatewayRestoresEveryRecord(t *testing.T) {
	skipUnderRace(t)
	live := sqliteURL(t)
	copied := filepath.Join(t.TempDir(), "copy.db")
	restoresEveryRecord(t, live, func() string {
		db, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(live, "sqlite:")+"?_pragma=busy_timeout(5000)")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		if _, err := db.ExecContext(t.Context(), `VACUUM INTO ?`, copied); err != nil {
			t.Fatal(err)
		}
		key, err := os.ReadFile(strings.TrimPrefix(live, "sqlite:") + ".key")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(copied+".key", key, 0o600); err != nil {
			t.Fatal(err)
		}
		return "sqlite:" + copied
	})
}

// restoresEveryRecord runs a gateway, takes a backup of its database while one tenant
// writes and another one rests, and starts a second gateway on the restored copy.
func restoresEveryRecord(t *testing.T, live string, backUpAndRestore func() string) {
	t.Helper()
	b := newBinary(t, live)
	first := b.start("serve")
	resting := newTenantWithOneOfEach(t, b, first)
	busy := b.json("tenant", "create", "--name", "Busy", "--example")
	b.ok("tenant", "update", fmt.Sprint(busy["tenantId"]), "--secret-per-minute", "1000000", "--secret-concurrent", "100000")
	first.withoutExample(t, busy)
	load := rolling.Load{URL: first.url, Key: fmt.Sprint(busy["secretKey"]), WorkflowVersionID: fmt.Sprint(busy["workflowVersionId"]), Writers: 2}

	// What the gateway acknowledged before the backup begins has to be in it.
	before, stopBefore := context.WithCancel(t.Context())
	var earlier, later *rolling.Ledger
	var writing sync.WaitGroup
	writing.Go(func() { earlier = load.Run(before) })
	awaitTriggers(t, first, load.Key, 20)
	stopBefore()
	writing.Wait()
	during, stopDuring := context.WithCancel(t.Context())
	other := load
	other.Suffix = " during the backup"
	writing.Go(func() { later = other.Run(during) })
	restored := backUpAndRestore()
	stopDuring()
	writing.Wait()
	if err := later.Err(); err != nil {
		t.Errorf("the backup disturbed the gateway: %v", err)
	}

	second := newBinary(t, restored).start("serve", "--no-migrate")
	for path, want := range resting.answers {
		if status, got := second.request(t, http.MethodGet, path, resting.key, ""); status != http.StatusOK || got != want {
			t.Errorf("%s: %d\n%s", path, status, cmp.Diff(want, got))
		}
	}
	load.URL = second.url
	names, err := load.Triggers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	account := earlier.Balance(withoutSuffix(names, other.Suffix))
	if err := account.Err(); err != nil || account.Acknowledged < 20 {
		t.Errorf("%s: %v", account, err)
	}
	t.Logf("%d triggers in the copy, %d of them made while it was taken", len(names), len(names)-account.Acknowledged)
	if got := totalOf(t, second, load.Key); got != len(names) {
		t.Errorf("the total of the copy is %d, but it lists %d triggers", got, len(names))
	}
	body := fmt.Sprintf(`{"workflowVersionId":%q,"name":"after","type":"webhook","config":{}}`, load.WorkflowVersionID)
	if status, got := second.request(t, http.MethodPost, "/v1/gateway/triggers", load.Key, body); status != http.StatusCreated {
		t.Errorf("writing to the copy: %d %s", status, got)
	}
}

// restingTenant is a tenant of which nothing changes, and what is answered about it.
type restingTenant struct {
	key     string
	answers map[string]string
}

func newTenantWithOneOfEach(t *testing.T, b binary, s server) restingTenant {
	t.Helper()
	made := b.json("tenant", "create", "--name", "Resting", "--language", "es", "--example")
	r := restingTenant{fmt.Sprint(made["secretKey"]), make(map[string]string)}
	for path, body := range map[string]string{
		"/sub-tenants":  `{"subTenantId":"north","name":"North"}`,
		"/custom-nodes": `{"type":"enrich","name":"Enrich","version":"1.0.0","endpoint":"https://example.com","inputSchema":{},"outputSchema":{},"configSchema":{}}`,
		"/triggers":     fmt.Sprintf(`{"workflowVersionId":%q,"name":"Paid","type":"webhook","config":{"z":1,"a":{"é":[1.50]}}}`, made["workflowVersionId"]),
		"/api-keys":     `{"type":"public","name":"Web"}`,
		"/workflows":    `{"name":"Second"}`,
	} {
		if status, text := s.request(t, http.MethodPost, "/v1/gateway"+path, r.key, body); status != http.StatusCreated {
			t.Fatalf("POST %s: %d %s", path, status, text)
		}
	}
	for _, path := range []string{
		"/workflows", "/workflow-versions/" + fmt.Sprint(made["workflowVersionId"]), "/triggers", "/sub-tenants", "/custom-nodes", "/settings",
	} {
		status, text := s.request(t, http.MethodGet, "/v1/gateway"+path, r.key, "")
		if status != http.StatusOK {
			t.Fatalf("GET %s: %d %s", path, status, text)
		}
		r.answers["/v1/gateway"+path] = text
	}
	return r
}

func totalOf(t *testing.T, s server, key string) int {
	t.Helper()
	status, text := s.request(t, http.MethodGet, "/v1/gateway/triggers?limit=1", key, "")
	var page struct{ Total int }
	if err := json.NewDecoder(bytes.NewReader([]byte(text))).Decode(&page); err != nil || status != http.StatusOK {
		t.Fatalf("list the triggers: %d %s, %v", status, text, err)
	}
	return page.Total
}

func awaitTriggers(t *testing.T, s server, key string, n int) {
	t.Helper()
	for totalOf(t, s, key) < n {
		if t.Context().Err() != nil {
			t.Fatal("too few triggers were created")
		}
	}
}

func withoutSuffix(names []string, suffix string) (kept []string) {
	for _, name := range names {
		if !strings.HasSuffix(name, suffix) {
			kept = append(kept, name)
		}
	}
	return kept
}
