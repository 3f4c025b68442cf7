// Package sqlite opens an embedded SQLite database for package sqlstore: its
// connections, its dialect, its migrations and what its driver's errors mean.
package sqlite

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jmoiron/sqlx"
	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // the driver

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/core"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Options tune the database.
type Options struct {
	// Volatile gives up on surviving a power cut for the sake of tests.
	Volatile bool
}

// busyTimeout is how many milliseconds a statement waits for others.
const busyTimeout = 5000

// readers is how many units may read at the same time.
const readers = 8

var dialect = sqlstore.Dialect{
	Dialect: core.Dialect{
		Clock:     clock,
		Translate: translate,
		Rows: func(parameter int, columns ...core.Column) string {
			selected := make([]string, len(columns))
			for i, c := range columns {
				value := "value ->> '" + c.Name + "'"
				if c.Bytes {
					value = "unhex(substr(" + value + ", 3))"
				}
				selected[i] = value + " AS " + c.Name
			}
			// Without MATERIALIZED each column would have the object written as text, and read again.
			return fmt.Sprintf("(WITH objects AS MATERIALIZED (SELECT value FROM jsonb_each($%d)) SELECT %s FROM objects) AS r", parameter, strings.Join(selected, ", "))
		},
		HasPair: func(column, key, value string) string {
			return "EXISTS (SELECT 1 FROM json_each(" + column + ") AS pair WHERE pair.key = " + key + " AND pair.value = " + value + ")"
		},
	},
	Day: func(column string) string { return "substr(" + column + ", 1, 10)" },
	HistoryOf: `(SELECT date(CAST(e.value ->> 'at' AS integer) / 1000, 'unixepoch') AS day, e.value ->> 'type' AS type
		FROM run_history h, json_each(CASE WHEN json_valid(h.entries) THEN h.entries ELSE '[]' END) AS e WHERE h.tenant_id = $1 AND e.type = 'object' AND e.value ->> 'at' IS NOT NULL) AS said`,
	// Writing units run one after another, so nobody else can hold the key.
	ClaimIdempotencyKey: `SELECT 1 AS free, o.fingerprint, o.answer, o.in_progress_until
		FROM (SELECT 1) AS one
		LEFT JOIN outcomes o ON o.tenant_id = $1 AND o.scope = $2 AND o.key = $3 AND o.created_at > $4`,
	ClaimOperatorIdempotencyKey: `SELECT 1 AS free, o.fingerprint, o.answer
		FROM (SELECT 1) AS one
		LEFT JOIN operator_outcomes o ON o.scope = $1 AND o.key = $2 AND o.created_at > $3`,
	KeepsNotices: true,
	Runs:         runStatements,
	Webhooks:     webhookStatements,
}

// Open opens the database in the file, making it and its folder (readable by the
// owner only) when they are missing. Several processes of one machine may have it
// open.
func Open(ctx context.Context, file string, opts Options) (*sqlstore.Store, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the SQLite database: %w", err)
	}
	writer, err := connect(ctx, file, opts, 1, fmt.Sprintf("_txlock=immediate&_pragma=wal_autocheckpoint(%d)", commitPages))
	if err != nil {
		return nil, err
	}
	reader, err := connect(ctx, file, opts, readers, "_pragma=query_only(1)")
	if err != nil {
		_ = writer.Close() // the error of the reader says more
		return nil, err
	}
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	migrator, err := core.NewGoose(goose.DialectSQLite3, writer.DB, files)
	if err != nil {
		return nil, err
	}
	store := sqlstore.New(writer, reader, dialect, migrator, &notices{db: reader})
	if !opts.Volatile { // tests let days pass in a bubble of testing/synctest, in which a ticker never rests
		stop, overwrite := checkpoints(file, reader)
		store.OnErased = overwrite
		store.BeforeClose(stop)
	}
	return store, nil
}

func connect(ctx context.Context, file string, opts Options, connections int, option string) (*sqlx.DB, error) {
	synchronous := "FULL"
	if opts.Volatile {
		synchronous = "OFF"
	}
	dsn := (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: file}).EscapedPath()}).String() +
		"?_pragma=busy_timeout(" + strconv.Itoa(busyTimeout) + ")&_pragma=journal_mode(WAL)&_pragma=foreign_keys(1)&_pragma=secure_delete(1)&_time_format=sqlite" +
		"&_pragma=synchronous(" + synchronous + ")&" + option
	db, err := sqlx.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("open the SQLite database %s: %w", file, err)
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	if err := db.PingContext(ctx); err != nil {
		_ = db.Close() // the ping's error says more
		return nil, fmt.Errorf("open the SQLite database %s: %w", file, err)
	}
	return db, nil
}
