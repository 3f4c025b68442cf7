package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/jmoiron/sqlx"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// unit is one transaction, or, when tx is nil, statements that each stand for themselves.
// It keeps the first failed write, after which the transaction must not commit.
type unit struct {
	pool       *pool
	tx         *sqlx.Tx
	store      *Store
	writing    bool
	failed     error
	unprepared []string
	touched    []tenant.ID // whose keys, settings or custom nodes it changes
	eventful   bool        // there is something to tell to webhook endpoints
}

// forUpdate is appended to the SELECT of a record that the unit may change.
func (u *unit) forUpdate() string {
	if u.writing {
		return u.store.dialect.ForUpdate
	}
	return ""
}

func (u *unit) stores() outbound.Stores {
	return outbound.Stores{
		Tenants:     tenants{u},
		APIKeys:     apiKeys{u},
		Credentials: credentials{u},
		Workflows:   workflows{u},
		Versions:    versions{u},
		Triggers:    triggers{u},
		Firing:      firing{u},
		Schedules:   schedules{u},
		Fires:       fires{u},
		SubTenants:  subTenants{u},
		SeenIn:      directory{u},
		CustomNodes: customNodes{u},
		NodeHealth:  nodeHealth{u},
		NodeSecrets: nodeSecrets{u},
		Outcomes:    outcomes{u},
		Operator:    operatorOutcomes{u},
		Processes:   processes{u},
		Runs:        outbound.RunStores{Runs: runs{u}, Shared: sharedPayloads{runs{u}}, Queue: runQueue{runs{u}}, Live: runOverview{u}, Origins: runOrigins{u}},
		Webhooks: outbound.WebhookStores{
			Endpoints: webhookEndpoints{u}, Events: webhookEvents{u}, Deliveries: webhookDeliveries{u}, Queue: webhookQueue{u},
		},
	}
}

// exec runs a statement that writes and returns how many rows it touched. what
// says for the log what was being done.
func (u *unit) exec(ctx context.Context, what, query string, args ...any) (int64, error) {
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
	return 0, u.fail(fmt.Errorf("%s: %w", what, u.translate(ctx, err)))
}

// remove deletes a record together with all that belongs to it, which may be so much that
// it takes minutes.
func (u *unit) remove(ctx context.Context, what, query string, args ...any) (int64, error) {
	if u.store.AllowSlowStatements != nil {
		defer u.store.AllowSlowStatements()()
	}
	return u.exec(ctx, what, query, args...)
}

func (u *unit) execute(ctx context.Context, query string, args []any) (sql.Result, error) {
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
func (u *unit) refuse(query string) error {
	if u.writing {
		return nil
	}
	for _, verb := range []string{"INSERT ", "UPDATE ", "DELETE "} {
		if strings.HasPrefix(query, verb) {
			return u.fail(errReadOnly)
		}
	}
	return nil
}

var errReadOnly = errors.New("a write in a unit that only reads")

// fail keeps the unit from committing and returns err.
func (u *unit) fail(err error) error {
	if u.failed == nil {
		u.failed = err
	}
	return err
}

// get reads one row into dest. No row is sql.ErrNoRows inside the error.
func (u *unit) get(ctx context.Context, what string, dest any, query string, args ...any) error {
	if err := u.refuse(query); err != nil {
		return u.read(ctx, what, err)
	}
	st, ok := u.statement(ctx, query) //nolint:sqlclosecheck // closed with the pool or the transaction
	if ok {
		return u.read(ctx, what, st.GetContext(ctx, dest, args...))
	}
	return u.read(ctx, what, sqlx.GetContext(ctx, u.queryer(), dest, query, args...))
}

// getUnprepared does the same by a statement that is planned each time. PostgreSQL keeps the
// plan of a prepared one whose parameters never change until there are statistics of what has
// become of the tables, and those of a new database are empty at first: it would read all of
// them over and over.
func (u *unit) getUnprepared(ctx context.Context, what string, dest any, query string, args ...any) error {
	if u.store.dialect.PlanFreshly == "" {
		return u.get(ctx, what, dest, query, args...)
	}
	if err := u.refuse(query); err != nil {
		return u.read(ctx, what, err)
	}
	return u.read(ctx, what, sqlx.GetContext(ctx, u.queryer(), dest, query, args...))
}

// list reads all rows into dest, a pointer to a slice.
func (u *unit) list(ctx context.Context, what string, dest any, query string, args ...any) error {
	if err := u.refuse(query); err != nil {
		return u.read(ctx, what, err)
	}
	st, ok := u.statement(ctx, query) //nolint:sqlclosecheck // closed with the pool or the transaction
	if ok {
		return u.read(ctx, what, st.SelectContext(ctx, dest, args...))
	}
	return u.read(ctx, what, sqlx.SelectContext(ctx, u.queryer(), dest, query, args...))
}

// each calls fn for each row.
func (u *unit) each(ctx context.Context, what string, fn func(*sql.Rows) error, query string, args ...any) error {
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

func (u *unit) query(ctx context.Context, query string, args []any) (*sql.Rows, error) {
	if err := u.refuse(query); err != nil {
		return nil, err
	}
	if st, ok := u.statement(ctx, query); ok { //nolint:sqlclosecheck // closed with the pool or the transaction
		return st.QueryContext(ctx, args...)
	}
	return u.queryer().QueryContext(ctx, query, args...)
}

// statement returns the prepared statement of a query, or notes that there is none.
func (u *unit) statement(ctx context.Context, query string) (*sqlx.Stmt, bool) {
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

func (u *unit) queryer() sqlx.QueryerContext {
	if u.tx == nil {
		return u.pool.db
	}
	return u.tx
}

func (u *unit) read(ctx context.Context, what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("%s: %w", what, err)
	default:
		return fmt.Errorf("%s: %w", what, u.translate(ctx, err))
	}
}

// missing turns the absence of a row into the NotFound of a record.
func missing(err error, code, message string) error {
	if errors.Is(err, sql.ErrNoRows) {
		return domain.Fail(domain.NotFound, code, "%s", message)
	}
	return err
}

// updated checks that an UPDATE guarded by a revision touched its row, and tells the
// aggregate. Where it did not, get tells a record that is gone from one that has
// changed.
func (u *unit) updated(n int64, err error, saved func(), get func() error) error {
	if err != nil {
		return err
	}
	if n == 1 {
		saved()
		return nil
	}
	if err := get(); err != nil {
		return u.fail(err)
	}
	return u.fail(domain.Fail(domain.Conflict, "stale_revision",
		"The record was changed by somebody else in the meantime. Read it again and repeat the change."))
}

// deleted checks that a DELETE touched its row.
func (u *unit) deleted(n int64, err error, code, message string) error {
	if err != nil || n > 0 {
		return err
	}
	return domain.Fail(domain.NotFound, code, "%s", message)
}
