package core

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/jmoiron/sqlx"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/change"
	"github.com/sluicehq/sluice/domain/process"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/usage"
)

// Unit is one transaction, or statements that each stand for themselves, when tx is nil.
// It keeps the first failed write, after which the transaction must not commit.
type Unit struct {
	pool       *pool
	tx         *sqlx.Tx
	store      *Store
	writing    bool
	failed     error
	unprepared []string
	touched    []tenant.ID // whose keys, settings or custom nodes it changes
	raised     bool        // it has raised the required level
	eventful   bool        // there is something to tell to webhook endpoints
	audited    bool        // it has added entries to the audit log
	erased     bool        // something was removed of which nothing may be left

	followed    *tenantSet      // whose lists somebody followed when it began
	listChanges []change.Change // of lists of those
	unnoted     bool            // it may have changed lists of others

	used map[usageKey]*usage.Counts // by the unit
}

// Writes says whether statements of the unit may write.
func (u *Unit) Writes() bool { return u.writing }

// InTransaction says that the statements of the unit take effect together, or none does.
func (u *Unit) InTransaction() bool { return u.tx != nil }

// FirstFailure is the first failed write, after which the unit does not commit; nil for none.
func (u *Unit) FirstFailure() error { return u.failed }

// Level is the feature level of this process.
func (u *Unit) Level() process.Level { return u.store.Level }

// NoteEvents says that there may be something to send to webhook endpoints once the unit has committed.
func (u *Unit) NoteEvents() { u.eventful = true }

// NoteAudited says that there are entries to seal once the unit has committed.
func (u *Unit) NoteAudited() { u.audited = true }

// NoteErased says that of what was removed nothing may be left in the files of the database once the unit has committed.
func (u *Unit) NoteErased() { u.erased = true }

// publish reports what the unit has changed.
func (u *Unit) publish() {
	u.store.watchers.notify(u.touched)
	u.store.events.notify(u.eventful)
	u.store.audited.notify(u.audited)
	if u.erased && u.store.OnErased != nil {
		u.store.OnErased()
	}
	u.store.lists.publish(u.followed, u.listChanges, u.unnoted)
}

// ForUpdate is appended to the SELECT of a record that the unit may change.
func (u *Unit) ForUpdate() string {
	if u.writing {
		return u.store.dialect.ForUpdate
	}
	return ""
}

// Exec runs a statement that writes and returns how many rows it touched. what
// says for the log what was being done.
func (u *Unit) Exec(ctx context.Context, what, query string, args ...any) (int64, error) {
	if u.failed != nil {
		return 0, u.failed
	}
	result, err := u.execute(ctx, query, args)
	if err == nil {
		var n int64
		if n, err = result.RowsAffected(); err == nil {
			return n, nil
		}
	}
	return 0, u.Fail(fmt.Errorf("%s: %w", what, u.translate(ctx, err)))
}

// ExecSlow deletes a record together with all that belongs to it, which may be so much that
// it takes minutes.
func (u *Unit) ExecSlow(ctx context.Context, what, query string, args ...any) (int64, error) {
	if u.store.AllowSlowStatements != nil {
		defer u.store.AllowSlowStatements()()
	}
	return u.Exec(ctx, what, query, args...)
}

func (u *Unit) execute(ctx context.Context, query string, args []any) (sql.Result, error) {
	if u.tx == nil && !u.writing {
		return nil, errReadOnly
	}
	if st, ok := u.statement(ctx, query); ok { //nolint:sqlclosecheck // closed with the pool or the transaction
		return st.ExecContext(ctx, args...)
	}
	if u.tx == nil {
		return u.pool.db.ExecContext(ctx, query, args...)
	}
	return u.tx.ExecContext(ctx, query, args...)
}

// refuse keeps a unit that only reads from writing by a statement that returns rows:
// without a transaction no database does.
func (u *Unit) refuse(query string) error {
	if u.writing {
		return nil
	}
	for _, verb := range []string{"INSERT ", "UPDATE ", "DELETE "} {
		if strings.HasPrefix(query, verb) {
			return u.Fail(errReadOnly)
		}
	}
	return nil
}

var errReadOnly = errors.New("a write in a unit that only reads")

// Fail keeps the unit from committing and returns err.
func (u *Unit) Fail(err error) error {
	if u.failed == nil {
		u.failed = err
	}
	return err
}

// ReadRow reads one row into dest. No row is sql.ErrNoRows inside the error.
func (u *Unit) ReadRow(ctx context.Context, what string, dest any, query string, args ...any) error {
	if err := u.refuse(query); err != nil {
		return u.read(ctx, what, err)
	}
	st, ok := u.statement(ctx, query) //nolint:sqlclosecheck // closed with the pool or the transaction
	if ok {
		return u.read(ctx, what, st.GetContext(ctx, dest, args...))
	}
	return u.read(ctx, what, sqlx.GetContext(ctx, u.queryer(), dest, query, args...))
}

// ReadRowUnprepared does the same by a statement that is planned each time. PostgreSQL keeps the
// plan of a prepared one whose parameters never change until there are statistics of what has
// become of the tables, and those of a new database are empty at first: it would read all of
// them over and over.
func (u *Unit) ReadRowUnprepared(ctx context.Context, what string, dest any, query string, args ...any) error {
	if u.store.dialect.PlanFreshly == "" {
		return u.ReadRow(ctx, what, dest, query, args...)
	}
	if err := u.refuse(query); err != nil {
		return u.read(ctx, what, err)
	}
	return u.read(ctx, what, sqlx.GetContext(ctx, u.queryer(), dest, query, args...))
}

// ReadRows reads all rows into dest, a pointer to a slice.
func (u *Unit) ReadRows(ctx context.Context, what string, dest any, query string, args ...any) error {
	if err := u.refuse(query); err != nil {
		return u.read(ctx, what, err)
	}
	st, ok := u.statement(ctx, query) //nolint:sqlclosecheck // closed with the pool or the transaction
	if ok {
		return u.read(ctx, what, st.SelectContext(ctx, dest, args...))
	}
	return u.read(ctx, what, sqlx.SelectContext(ctx, u.queryer(), dest, query, args...))
}

// EachRow calls fn for each row.
func (u *Unit) EachRow(ctx context.Context, what string, fn func(*sql.Rows) error, query string, args ...any) error {
	rows, err := u.query(ctx, query, args)
	if err != nil {
		return u.read(ctx, what, err)
	}
	defer func() { _ = rows.Close() }() // Err says what went wrong
	for rows.Next() {
		if err := fn(rows); err != nil {
			return u.read(ctx, what, err)
		}
	}
	return u.read(ctx, what, rows.Err())
}

func (u *Unit) query(ctx context.Context, query string, args []any) (*sql.Rows, error) {
	if err := u.refuse(query); err != nil {
		return nil, err
	}
	if st, ok := u.statement(ctx, query); ok { //nolint:sqlclosecheck // closed with the pool or the transaction
		return st.QueryContext(ctx, args...)
	}
	return u.queryer().QueryContext(ctx, query, args...)
}

// statement returns the prepared statement of a query, or notes that there is none.
func (u *Unit) statement(ctx context.Context, query string) (*sqlx.Stmt, bool) {
	st, ok := u.pool.statement(query)
	switch {
	case !ok:
		u.unprepared = append(u.unprepared, query)
		return nil, false
	case u.tx == nil:
		return st, true
	default:
		return u.tx.StmtxContext(ctx, st), true
	}
}

func (u *Unit) queryer() sqlx.QueryerContext {
	if u.tx == nil {
		return u.pool.db
	}
	return u.tx
}

func (u *Unit) read(ctx context.Context, what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("%s: %w", what, err)
	default:
		return fmt.Errorf("%s: %w", what, u.translate(ctx, err))
	}
}

// NotFound turns the absence of a row into the NotFound of a record.
func NotFound(err error, code, message string) error {
	if errors.Is(err, sql.ErrNoRows) {
		return domain.Fail(domain.NotFound, code, "%s", message)
	}
	return err
}

// CheckUpdated checks that an UPDATE guarded by a revision touched its row, and tells the
// aggregate. Where it did not, get tells a record that is gone from one that has
// changed.
func (u *Unit) CheckUpdated(n int64, err error, saved func(), get func() error) error {
	if err != nil {
		return err
	}
	if n == 1 {
		saved()
		return nil
	}
	if err := get(); err != nil {
		return u.Fail(err)
	}
	return u.Fail(domain.Fail(domain.Conflict, "stale_revision",
		"The record was changed by somebody else in the meantime. Read it again and repeat the change."))
}

// CheckDeleted checks that a DELETE touched its row.
func (u *Unit) CheckDeleted(n int64, err error, code, message string) error {
	if err != nil || n > 0 {
		return err
	}
	return domain.Fail(domain.NotFound, code, "%s", message)
}

// SetUp runs a statement that selects a number, for what else it does.
func (u *Unit) SetUp(ctx context.Context, statement string) error {
	if statement == "" || !u.writing {
		return nil
	}
	var number int
	return u.ReadRow(ctx, "set up the unit", &number, statement)
}
