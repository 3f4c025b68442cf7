package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pressly/goose/v3/lock"

	"github.com/sluicehq/sluice/domain"
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

func TestADatabaseThatHangsMakesTheGatewayNotReadyInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		thawed := make(chan struct{})
		ask := ready(func(context.Context) error { // as the driver, it does not look at the context
			asked.Add(1)
			<-thawed
			return nil
		})
		began := time.Now()
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				for range 3 {
					if err := ask(t.Context()); !errors.Is(err, domain.Unavailable) || !strings.Contains(err.Error(), "not_ready") {
						t.Errorf("while it hangs: %v", err)
					}
				}
			})
		}
		all.Wait()
		if took := time.Since(began); took > 3*readyTimeout {
			t.Errorf("three answers took %s", took)
		}
		if n := asked.Load(); n != 3 {
			t.Errorf("the database was asked %d times, not by five at once each time", n)
		}
		close(thawed)
		synctest.Wait()
		if err := ask(t.Context()); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

func TestAGatewayStaysReadyWhileAnotherOneMigrates(t *testing.T) {
	b := newBinary(t, postgresURL(t))
	s := b.start("serve")
	address, _ := strings.CutPrefix(b.environ[0], "SLUICE_DATABASE_URL=")
	db, err := sql.Open("postgres", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1) // the lock belongs to a connection
	if _, err := db.ExecContext(t.Context(), `SELECT pg_advisory_lock($1)`, lock.DefaultLockID); err != nil {
		t.Fatal(err)
	}
	if status, body := s.request(t, http.MethodGet, "/readyz", "", ""); status != http.StatusOK {
		t.Errorf("not ready: %d %s", status, body)
	}
}
