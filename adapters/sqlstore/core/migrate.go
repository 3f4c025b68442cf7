package core

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/pressly/goose/v3"
)

// Goose is the [Migrator] of both databases.
type Goose struct {
	db       *sql.DB
	provider *goose.Provider
}

var _ Migrator = (*Goose)(nil)

// NewGoose reads the migrations in files, which are named NNNNN_name.sql.
func NewGoose(dialect goose.Dialect, db *sql.DB, files fs.FS, opts ...goose.ProviderOption) (*Goose, error) {
	provider, err := goose.NewProvider(dialect, db, files, append(opts, goose.WithDisableGlobalRegistry(true))...)
	if err != nil {
		return nil, fmt.Errorf("read the migrations: %w", err)
	}
	return &Goose{db: db, provider: provider}, nil
}

// Runs of a migration that another process was faster with, and the wait between.
const (
	migrationRuns = 20
	migrationWait = 250 * time.Millisecond
)

// Up applies the pending migrations. Each is one transaction together with the
// record that it was applied, or can be carried out again. Where the database has no lock for the whole, two
// processes can begin the same migration; the slower one fails, and finds it
// applied when it looks again.
func (g *Goose) Up(ctx context.Context) ([]Migration, error) {
	if err := g.refuseUnreleased(ctx); err != nil {
		return nil, err
	}
	var applied []Migration
	for run := 1; ; run++ {
		before, err := g.Pending(ctx)
		if err == nil && len(before) == 0 {
			return applied, nil
		}
		results, err := g.provider.Up(ctx)
		for _, r := range results {
			now := time.Now().UTC()
			applied = append(applied, Migration{Version: r.Source.Version, Name: migrationName(r.Source.Path), AppliedAt: &now})
		}
		if err == nil {
			return applied, nil
		}
		after, errAfter := g.Pending(ctx)
		if run == migrationRuns || (errAfter == nil && len(after) == len(before) && run > 1) {
			return applied, fmt.Errorf("migrate the database: %w", errors.Join(err, errAfter))
		}
		select {
		case <-ctx.Done():
			return applied, ctx.Err()
		case <-time.After(migrationWait):
		}
	}
}

var errUnreleased = errors.New("the database was made by a version from before the first release, and cannot be brought up to date: use an empty one")

// refuseUnreleased returns an error for a database with migrations from before the first
// release, which have become one.
func (g *Goose) refuseUnreleased(ctx context.Context) error {
	version, err := g.provider.GetDBVersion(ctx)
	if err != nil {
		return fmt.Errorf("read the state of the migrations: %w", err)
	}
	if first := g.provider.ListSources()[0].Version; version > 0 && version < first {
		return errUnreleased
	}
	return nil
}

// Pending lists what Up would apply.
func (g *Goose) Pending(ctx context.Context) ([]Migration, error) {
	all, err := g.Status(ctx)
	if err != nil {
		return nil, err
	}
	var pending []Migration
	for _, m := range all {
		if m.AppliedAt == nil {
			pending = append(pending, m)
		}
	}
	return pending, nil
}

// Status lists every migration.
func (g *Goose) Status(ctx context.Context) ([]Migration, error) {
	statuses, err := g.provider.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the state of the migrations: %w", err)
	}
	all := make([]Migration, 0, len(statuses))
	for _, st := range statuses {
		m := Migration{Version: st.Source.Version, Name: migrationName(st.Source.Path)}
		if st.State == goose.StateApplied {
			at := st.AppliedAt.UTC()
			m.AppliedAt = &at
		}
		all = append(all, m)
	}
	return all, nil
}

func migrationName(path string) string {
	base := filepath.Base(path)
	return base[:len(base)-len(filepath.Ext(base))]
}
