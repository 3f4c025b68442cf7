// Package postgres opens a PostgreSQL database (14 or later) for package sqlstore:
// its connections, its dialect, its migrations and what its driver's errors mean.
package postgres

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"net/url"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/core"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Options tune the connections.
type Options struct {
	MaxConnections int // at most that many at the same time; 0 means 16

	// AnswerTimeout is how long the database may leave a statement without a first, or a
	// further, part of its answer before its connection is given up; 0 for ever. Migrations,
	// and the deletion of records to which many others belong, take their time.
	AnswerTimeout time.Duration
}

const (
	defaultConnections = 16
	connectionLifetime = 30 * time.Minute // so that connections spread over a database that fails over
)

var dialect = sqlstore.Dialect{
	Dialect: core.Dialect{
		ForUpdate:   " FOR NO KEY UPDATE", // leaves those alone who only refer to the record
		ClaimRows:   " FOR UPDATE SKIP LOCKED",
		PlanFreshly: planFreshly,
		Clock:       clock,
		Lateral:     true,
		Translate:   translate,
		Rows: func(parameter int, columns ...core.Column) string {
			defined := make([]string, len(columns))
			for i, c := range columns {
				kind := " text"
				switch {
				case c.Time:
					kind = " timestamptz"
				case c.JSON:
					kind = " json"
				case c.Bytes:
					kind = " bytea"
				}
				defined[i] = c.Name + kind
			}
			return fmt.Sprintf("json_to_recordset(CAST($%d AS json)) AS r(%s)", parameter, strings.Join(defined, ", "))
		},
		HasPair: func(column, key, value string) string {
			return "CAST(" + column + " AS json) ->> CAST(" + key + " AS text) = " + value
		},
	},
	Day: func(column string) string { return "to_char(" + column + " AT TIME ZONE 'UTC', 'YYYY-MM-DD')" },
	HistoryOf: `(SELECT to_char(to_timestamp(e.at / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, e.type
		FROM run_history h, readable_entries(h.entries) AS e WHERE h.tenant_id = $1 AND e.at IS NOT NULL) AS said`,
	KeepRows:       " FOR KEY SHARE OF t SKIP LOCKED",
	KeepVersions:   " FOR KEY SHARE OF v",
	Webhooks:       webhookStatements,
	ClaimSchedules: schedulesClaim,
	// The lock is held to the end of the transaction, by every unit with this key that
	// got past this statement.
	ClaimIdempotencyKey: `SELECT pg_try_advisory_xact_lock(hashtextextended(CAST($1 AS text) || '/' || $2 || '/' || $3, 0)) AS free,
			o.fingerprint, o.answer, o.in_progress_until
		FROM (SELECT 1) AS one
		LEFT JOIN outcomes o ON o.tenant_id = $1 AND o.scope = $2 AND o.key = $3 AND o.created_at > $4`,
	ClaimOperatorIdempotencyKey: `SELECT pg_try_advisory_xact_lock(hashtextextended('operator/' || CAST($1 AS text) || '/' || $2, 0)) AS free,
			o.fingerprint, o.answer
		FROM (SELECT 1) AS one
		LEFT JOIN operator_outcomes o ON o.scope = $1 AND o.key = $2 AND o.created_at > $3`,
	Bytewise:          ` COLLATE "C"`,
	Runs:              runStatements,
	InsertTriggers:    insertTriggers,
	AddedTriggers:     addedTriggers,
	ParallelInserts:   2,
	ParallelSchedules: 3,
}

// Open connects to the database that the URL names, in the form
// postgres://user:password@host:port/database?sslmode=…. It fails when the
// database does not answer before ctx ends. No error shows the URL's password.
func Open(ctx context.Context, address string, opts Options) (*sqlstore.Store, error) {
	dsn, err := dataSource(address)
	if err != nil {
		return nil, err
	}
	connector, err := pq.NewConnector(dsn)
	if err != nil {
		return nil, fmt.Errorf("open the PostgreSQL database: %w", err)
	}
	var answers *answerTimeout
	if opts.AnswerTimeout > 0 {
		answers = &answerTimeout{limit: opts.AnswerTimeout}
	}
	connector.Dialer(newDialer(answers))
	db := sqlx.NewDb(sql.OpenDB(newProbing(connector)), "postgres")
	n := opts.MaxConnections
	if n == 0 {
		n = defaultConnections
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	db.SetConnMaxLifetime(connectionLifetime)
	if err := db.PingContext(ctx); err != nil {
		_ = db.Close() // the ping's error says more
		return nil, fmt.Errorf("reach the PostgreSQL database: %w", err)
	}
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	// The lock is asked for every second for two minutes: long enough for another
	// process to finish its migrations.
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 120))
	if err != nil {
		return nil, err
	}
	migrator, err := core.NewGoose(goose.DialectPostgres, db.DB, files, goose.WithSessionLocker(&migrationLocker{SessionLocker: locker, answers: answers}))
	if err != nil {
		return nil, err
	}
	store := sqlstore.New(db, db, dialect, migrator, &notices{dsn: dsn})
	if answers != nil {
		store.AllowSlowStatements = answers.suspend
	}
	liveRuns, stop := startVacuum(db, "live_runs", countNewRuns(db))
	store.Runs.LiveRunsChanged = liveRuns.changed
	waiting, stopWaiting := startVacuum(db, "audit_waiting", func(context.Context) {})
	store.EntriesSealed = waiting.changed
	store.BeforeClose(func() { stop(); stopWaiting() })
	return store, nil
}

// dataSource completes the URL with what must not be left to the environment.
func dataSource(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", fmt.Errorf("the PostgreSQL URL does not parse; it must read postgres://user:password@host:port/database?sslmode=require")
	}
	q := u.Query()
	q.Del("binary_parameters") // arrays and documents are sent as text
	if !q.Has("sslmode") {
		q.Set("sslmode", "require")
	}
	if !q.Has("application_name") {
		q.Set("application_name", "sluice")
	}
	if !q.Has("connect_timeout") {
		q.Set("connect_timeout", "10")
	}
	// Statements here take milliseconds. Where statistics are missing, after a crash of the
	// database for one, PostgreSQL takes some for long ones and compiles them each time,
	// which takes a hundred times as long as they do, and all processors.
	if !q.Has("jit") {
		q.Set("jit", "off")
	}
	// A process that was stopped in the middle of a unit, and keeps its connection, must
	// not hold what others wait for, nor those wait longer than a unit can try again after.
	if !q.Has(idleTimeout) {
		q.Set(idleTimeout, "30s")
	}
	if !q.Has(lockTimeout) {
		q.Set(lockTimeout, "5s")
	}
	u.RawQuery = q.Encode()
	return u.String(), nil
}
