package webhooks

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
)

// keyedRow is a row whose first columns name its record. rows.Scan fills columns in order,
// so that the key is known even of a row that cannot be read.
type keyedRow[Row any] interface {
	*Row
	Targets() []any // of the columns of the query
	key() core.KeyRow
}

// scannedRow is a row, or what could be read of it and why the rest could not.
type scannedRow[Row any] struct {
	row        Row
	unreadable error
}

// listEach reads all rows like [core.Unit.ReadRows], except that a row that cannot be read fails
// itself alone.
func listEach[Row any, P keyedRow[Row]](ctx context.Context, u *unit, what, query string, args ...any) (all []scannedRow[Row], err error) {
	err = u.EachRow(ctx, what, func(rows *sql.Rows) error {
		var one scannedRow[Row]
		err := rows.Scan(P(&one.row).Targets()...)
		if err != nil {
			key := P(&one.row).key()
			if key.Tenant == "" || key.ID == "" {
				return err // the query failed, not a row
			}
			one.unreadable = fmt.Errorf("%s: %w", key.ID, err)
		}
		all = append(all, one)
		return nil
	}, query, args...)
	return all, err
}

// restored is a record, or why it cannot be read.
type restored[T any] struct {
	value      T
	unreadable error
}

// restoreRow makes a record of a row that could be read.
func restoreRow[Row, T any](row scannedRow[Row], restore func(Row) (T, error)) (record T, err error) {
	if row.unreadable != nil {
		return record, row.unreadable
	}
	return restore(row.row)
}
