package main

import (
	"database/sql"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// A database that became read-only: requests that write are told so, and balancers too, but
// nobody restarts the process for it.
func TestAGatewayWhoseDatabaseRefusesWritesIsNotReady(t *testing.T) {
	t.Parallel()
	address := postgresURL(t)
	b := newBinary(t, address)
	s := b.start("serve")
	made := b.json("tenant", "create", "--name", "Acme Inc", "--example")
	secret := fmt.Sprint(made["secretKey"])
	body := fmt.Sprintf(`{"workflowVersionId":%q,"name":"Paid","type":"webhook","config":{}}`, made["workflowVersionId"])
	want := func(method, path, key, body string, status int, contains string) {
		t.Helper()
		if got, answer := s.request(t, method, path, key, body); got != status || !strings.Contains(answer, contains) {
			t.Errorf("%s %s got %d: %s", method, path, got, answer)
		}
	}
	want(http.MethodPost, "/v1/gateway/triggers", secret, body, http.StatusCreated, `"id"`)
	want(http.MethodGet, "/readyz", "", "", http.StatusOK, `"ready"`)

	db, err := sql.Open("postgres", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	for _, statement := range []string{
		`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$`,
		`SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`,
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	s.await(t, "/v1/gateway/workflows", secret, `"items"`) // connected again
	want(http.MethodPost, "/v1/gateway/triggers", secret, body, http.StatusServiceUnavailable, `"code":"database_read_only"`)
	want(http.MethodGet, "/readyz", "", "", http.StatusServiceUnavailable, `"code":"database_read_only"`)
	want(http.MethodGet, "/healthz", "", "", http.StatusOK, `"ok"`)
	want(http.MethodGet, "/v1/gateway/triggers", secret, "", http.StatusOK, `"total":`)
}
