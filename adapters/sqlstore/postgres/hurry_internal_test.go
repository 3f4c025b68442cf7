package postgres

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/lib/pq"
	"github.com/pressly/goose/v3/lock"

	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/ports/outbound"
)

// hurriedDatabase is a database whose one connection has to answer within 400 ms.
func hurriedDatabase(t *testing.T) (*sql.DB, *hurry) {
	t.Helper()
	dsn, err := dataSource(pgtest.Start(t).Database(t))
	if err != nil {
		t.Fatal(err)
	}
	connector, err := pq.NewConnector(dsn)
	if err != nil {
		t.Fatal(err)
	}
	h := &hurry{patience: 400 * time.Millisecond}
	connector.Dialer(newDialer(h))
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return db, h
}

func backend(t *testing.T, db *sql.DB) (pid int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), `SELECT pg_backend_pid()`).Scan(&pid); err != nil {
		t.Fatal(err)
	}
	return pid
}

func TestADatabaseThatDoesNotAnswerInTimeIsGivenUp(t *testing.T) {
	t.Parallel()
	db, _ := hurriedDatabase(t)
	before := backend(t, db)
	began := time.Now()
	_, err := db.ExecContext(t.Context(), `SELECT pg_sleep(20)`)
	if took := time.Since(began); err == nil || took > 15*time.Second {
		t.Fatalf("after %s: %v", took, err)
	}
	if kind := domain.KindOf(translate(err)); kind != domain.Unavailable {
		t.Errorf("it is %v: %v", kind, err)
	}
	if after := backend(t, db); after == before {
		t.Error("the connection is used on")
	}
}

func TestAConnectionThatNobodyAsksMayBeSilent(t *testing.T) {
	t.Parallel()
	db, h := hurriedDatabase(t)
	before := backend(t, db)
	time.Sleep(h.patience + 100*time.Millisecond) // what is tested is that this time has passed
	if after := backend(t, db); after != before {
		t.Error("the connection was given up")
	}
}

func TestAnAnswerThatComesInPartsMayTakeLonger(t *testing.T) {
	t.Parallel()
	db, _ := hurriedDatabase(t)
	// Each row is larger than what the server gathers before it sends.
	rows, err := db.QueryContext(t.Context(), `SELECT repeat('x', 20000), pg_sleep(0.1) FROM generate_series(1, 8)`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	n := 0
	for rows.Next() {
		n++
	}
	if err := rows.Err(); err != nil || n != 8 {
		t.Errorf("%d rows, %v", n, err)
	}
}

func TestMigrationsTakeTheirTime(t *testing.T) {
	t.Parallel()
	db, h := hurriedDatabase(t)
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		t.Fatal(err)
	}
	patient := &patientLocker{SessionLocker: locker, hurried: h}
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := patient.SessionLock(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(t.Context(), `SELECT pg_sleep(0.8)`); err != nil {
		t.Error(err)
	}
	if err := patient.SessionUnlock(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(t.Context(), `SELECT pg_sleep(20)`); err == nil {
		t.Error("afterwards it waits for ever")
	}
}

func TestADeadlineOfTheDriverComesFirst(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	conn, err := newDialer(&hurry{patience: time.Hour}).DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("a")); err != nil {
		t.Fatal(err)
	}
	var timeout net.Error
	if _, err := conn.Read(make([]byte, 1)); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("%v", err)
	}
}

func TestADeletionTakesItsTime(t *testing.T) {
	t.Parallel()
	address := pgtest.Start(t).Database(t)
	db, provider := migrating(t, address)
	if _, err := provider.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	store, err := Open(t.Context(), address, Options{Patience: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	owner := storedVersion(t, store).Tenant()
	// Much that belongs to a tenant is stood for by a statement that takes long.
	if _, err := db.ExecContext(t.Context(), `CREATE FUNCTION linger() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(1); RETURN OLD; END';
		CREATE TRIGGER linger BEFORE DELETE ON tenants FOR EACH ROW EXECUTE FUNCTION linger()`); err != nil {
		t.Fatal(err)
	}
	remove := func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Delete(ctx, owner) }
	if err := store.Do(t.Context(), remove); err != nil {
		t.Error(err)
	}
}
