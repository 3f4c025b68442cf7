package postgres

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pressly/goose/v3/lock"

	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/ports/outbound"
)

const answerLimitInTests = time.Second

// connected runs a test on a connection whose peer answers each question with as many bytes
// as the question's first byte says, each a pause after the one before.
func connected(t *testing.T, pause time.Duration, test func(t *testing.T, conn net.Conn, answers *answerTimeout)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		var peer sync.WaitGroup
		defer peer.Wait()
		defer func() { _ = here.Close() }()
		peer.Go(func() {
			defer func() { _ = there.Close() }()
			question := make([]byte, 1)
			for {
				if _, err := there.Read(question); err != nil {
					return
				}
				for range question[0] {
					time.Sleep(pause)
					if _, err := there.Write([]byte{1}); err != nil {
						return
					}
				}
			}
		})
		answers := &answerTimeout{limit: answerLimitInTests}
		test(t, &timeoutConn{Conn: here, answers: answers}, answers)
	})
}

// ask sends a question and reads all parts of its answer.
func ask(conn net.Conn, parts byte) error {
	if _, err := conn.Write([]byte{parts}); err != nil {
		return err
	}
	for range parts {
		if _, err := conn.Read(make([]byte, 1)); err != nil {
			return err
		}
	}
	return nil
}

func TestAnAnswerHasToComeInTime(t *testing.T) {
	connected(t, 2*answerLimitInTests, func(t *testing.T, conn net.Conn, _ *answerTimeout) {
		began := time.Now()
		if err := ask(conn, 1); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != answerLimitInTests {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}

func TestAConnectionThatNobodyAsksMayBeSilent(t *testing.T) {
	connected(t, 0, func(t *testing.T, conn net.Conn, _ *answerTimeout) {
		for range 2 {
			if err := ask(conn, 1); err != nil {
				t.Error(err)
			}
			time.Sleep(2 * answerLimitInTests)
		}
	})
}

func TestAnAnswerThatComesInPartsMayTakeLonger(t *testing.T) {
	connected(t, answerLimitInTests/2, func(t *testing.T, conn net.Conn, _ *answerTimeout) {
		if err := ask(conn, 8); err != nil {
			t.Error(err)
		}
	})
}

func TestAnAnswerMayTakeLongerWhileTheTimeoutIsSuspended(t *testing.T) {
	connected(t, 2*answerLimitInTests, func(t *testing.T, conn net.Conn, answers *answerTimeout) {
		resume, resumeOther := answers.suspend(), answers.suspend()
		resumeOther()
		if err := ask(conn, 1); err != nil {
			t.Error(err)
		}
		resume()
		if err := ask(conn, 1); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("afterwards: %v", err)
		}
	})
}

func TestADeadlineOfTheDriverComesFirst(t *testing.T) {
	connected(t, 2*answerLimitInTests, func(t *testing.T, conn net.Conn, _ *answerTimeout) {
		began := time.Now()
		if err := conn.SetDeadline(began.Add(answerLimitInTests / 2)); err != nil {
			t.Fatal(err)
		}
		if err := ask(conn, 1); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != answerLimitInTests/2 {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}

func TestADatabaseThatDoesNotAnswerInTimeIsUnavailable(t *testing.T) {
	t.Parallel()
	address := pgtest.Start(t).Database(t)
	db, provider := migrating(t, address)
	if _, err := provider.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	store, err := Open(t.Context(), address, Options{AnswerTimeout: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	owner := storedVersion(t, store).Tenant()
	if _, err := db.ExecContext(t.Context(), `CREATE FUNCTION linger() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(20); RETURN NEW; END';
		CREATE TRIGGER linger BEFORE INSERT ON outcomes FOR EACH ROW EXECUTE FUNCTION linger()`); err != nil {
		t.Fatal(err)
	}
	err = store.Do(t.Context(), func(ctx context.Context, st outbound.Stores) error {
		idempotency := domain.IdempotencyKey{Scope: "s", Key: "k", Fingerprint: "f", Answer: func(any) ([]byte, error) { return nil, nil }}
		return st.Idempotency.Record(ctx, owner, idempotency, nil, time.Now())
	})
	if !errors.Is(err, domain.Unavailable) {
		t.Error(err)
	}
}

func TestMigrationsSuspendTheTimeout(t *testing.T) {
	t.Parallel()
	db, _ := migrating(t, pgtest.Start(t).Database(t))
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	answers := &answerTimeout{limit: time.Second}
	session := &migrationLocker{SessionLocker: locker, answers: answers}
	if err := session.SessionLock(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	if !answers.deadline().IsZero() {
		t.Error("an answer is expected in time while migrations run")
	}
	if err := session.SessionUnlock(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	if answers.deadline().IsZero() {
		t.Error("afterwards no answer is expected in time")
	}
}

func TestADeletionSuspendsTheTimeout(t *testing.T) {
	t.Parallel()
	address := pgtest.Start(t).Database(t)
	_, provider := migrating(t, address)
	if _, err := provider.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	store, err := Open(t.Context(), address, Options{AnswerTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	var calls []string
	suspend := store.AllowSlowStatements
	store.AllowSlowStatements = func() func() {
		calls = append(calls, "suspended")
		resume := suspend()
		return func() {
			calls = append(calls, "resumed")
			resume()
		}
	}
	owner := storedVersion(t, store).Tenant()
	err = store.Do(t.Context(), func(ctx context.Context, st outbound.Stores) error {
		if len(calls) > 0 {
			t.Error("what is no deletion suspended it")
		}
		return st.Tenants.Delete(ctx, owner)
	})
	if err != nil || len(calls) != 2 || calls[0] != "suspended" || calls[1] != "resumed" {
		t.Errorf("%v, %v", calls, err)
	}
}
