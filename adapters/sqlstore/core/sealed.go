package core

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// SealedColumn is a column of sealed values, by which all of them are found when the key is rotated.
type SealedColumn struct {
	Table  string
	Keys   []string // the columns of its primary key, which are texts: first the tenant's, unless it is Global
	Global bool     // its rows belong to no tenant
	Record string   // the record that its values are sealed for, in SQL
	Column string   // also the field that its values are sealed for
	Bytes  bool     // it is of bytes, else of text
	Large  bool     // its values may have a MiB and more
	Of01   bool     // 0.1.0 keeps it in clear; see [Unit.SealTextOf01]
	Where  string   // the condition on rows that have a secret in it; empty for all
}

// SealedColumns are all of them. New ones go to the end.
var SealedColumns = []SealedColumn{
	{Table: "gateway_keys", Keys: []string{"name"}, Global: true, Record: "name", Column: "bits", Of01: true},
	{Table: "node_secrets", Keys: []string{"tenant_id"}, Record: "'node_secret'", Column: "secret", Of01: true},
	{Table: "node_secrets", Keys: []string{"tenant_id"}, Record: "'node_secret'", Column: "retired_secrets", Of01: true, Where: NoRetired},
	{Table: "webhook_endpoints", Keys: []string{"tenant_id", "id"}, Record: "id", Column: "secret", Of01: true},
	{Table: "webhook_endpoints", Keys: []string{"tenant_id", "id"}, Record: "id", Column: "retired_secrets", Of01: true, Where: NoRetired},
	{Table: "hook_deliveries", Keys: []string{"tenant_id", "trigger_id", "id"}, Record: "id", Column: "sealed", Large: true},
	{Table: "connections", Keys: []string{"tenant_id", "id"}, Record: "id", Column: "secret"},
	{Table: "connection_grants", Keys: []string{"tenant_id", "connection_id"}, Record: "connection_id", Column: "tokens", Where: "tokens IS NOT NULL"},
}

// NoRetired is the condition on rows with retired secrets.
const NoRetired = "retired_secrets <> '[]'"

// rows is how many rows are read at once.
func (c SealedColumn) rows() int {
	if c.Large {
		return 8
	}
	return 100
}

// sealedRow is a row of a sealed column.
type sealedRow struct {
	keys  []string
	of    outbound.SecretField
	value []byte
}

// read reads rows of a column, in the order of their keys, with the value or what else of it is asked for in SQL.
func (c SealedColumn) read(ctx context.Context, u *Unit, after []string, value string) ([]sealedRow, error) {
	conditions, args := []string{"true"}, []any(nil)
	if c.Where != "" {
		conditions = append(conditions, c.Where)
	}
	if len(after) > 0 {
		parameters := make([]string, len(after))
		for i, key := range after {
			args = append(args, key)
			parameters[i] = fmt.Sprintf("$%d", len(args))
		}
		conditions = append(conditions, "("+strings.Join(c.Keys, ", ")+") > ("+strings.Join(parameters, ", ")+")")
	}
	keys := strings.Join(c.Keys, ", ")
	query := fmt.Sprintf(`SELECT %s, %s, %s FROM %s WHERE %s ORDER BY %s LIMIT %d`, keys, c.Record, value, c.Table, strings.Join(conditions, " AND "), keys, c.rows())
	var rows []sealedRow
	err := u.EachRow(ctx, "read sealed values of "+c.Table, func(found *sql.Rows) error {
		row := sealedRow{keys: make([]string, len(c.Keys)), of: outbound.SecretField{Field: c.Column}}
		targets := make([]any, 0, len(c.Keys)+2)
		for i := range row.keys {
			targets = append(targets, &row.keys[i])
		}
		if err := found.Scan(append(targets, &row.of.Record, &row.value)...); err != nil {
			return err
		}
		if !c.Global {
			row.of.Tenant = tenant.ID(row.keys[0])
		}
		rows = append(rows, row)
		return nil
	}, query+u.ForUpdate(), args...)
	return rows, err
}

// open decrypts a value, which may still be in clear. plain says that it is.
func (c SealedColumn) open(ctx context.Context, u *Unit, row sealedRow) (value []byte, plain bool, err error) {
	switch {
	case c.Bytes:
		value, err = u.Open(ctx, row.value, row.of)
	case c.Of01 && !bytes.HasPrefix(row.value, []byte(sealedPrefix)):
		return row.value, true, nil
	default:
		var text string
		text, err = u.OpenText(ctx, string(row.value), row.of)
		value = []byte(text)
	}
	return value, false, err
}

// maxResealed is how many bytes of values are sealed anew in one unit, where there are several.
const maxResealed = 1 << 20

// Reseal seals values anew that are not sealed by the newest key.
func (u *Unit) Reseal(ctx context.Context, at outbound.SealedCursor) (next outbound.SealedCursor, resealed int, err error) {
	prefix, err := u.store.Cipher.Prefix(ctx, u)
	if err != nil {
		return at, 0, err
	}
	c := SealedColumns[at.Column]
	newest := prefix
	if !c.Bytes {
		newest = []byte(textPrefix(prefix))
	}
	switch {
	case !u.Writes() && c.Of01: // whether it may be sealed only a unit that writes can tell
		return at, 1, nil
	case !u.Writes():
		rows, err := c.read(ctx, u, at.After, fmt.Sprintf("substr(%s, 1, %d)", c.Column, len(newest)))
		for _, row := range rows {
			if !bytes.HasPrefix(row.value, newest) {
				resealed++
			}
		}
		return c.next(at, rows, len(rows)), resealed, err
	case c.Of01:
		if everyone, err := u.everyoneOpens(ctx); err != nil || !everyone {
			at.Left++ // some may be in clear
			return c.next(at, nil, 0), 0, err
		}
	}
	if next, resealed, err = c.reseal(ctx, u, at, newest); err != nil {
		return at, 0, err
	}
	return next, resealed, nil
}

// reseal seals values of the column anew that do not begin as the newest do.
func (c SealedColumn) reseal(ctx context.Context, u *Unit, at outbound.SealedCursor, newest []byte) (next outbound.SealedCursor, resealed int, err error) {
	rows, err := c.read(ctx, u, at.After, c.Column)
	if err != nil {
		return at, 0, err
	}
	looked, written := 0, 0
	for _, row := range rows {
		if written > 0 && written+len(row.value) > maxResealed {
			break
		}
		looked++
		if bytes.HasPrefix(row.value, newest) {
			continue
		}
		switch value, _, err := c.open(ctx, u, row); {
		case outbound.IsUnreadableSecret(err):
			at.Left++
		case err != nil:
			return at, 0, err
		default:
			if err := c.write(ctx, u, row, value); err != nil {
				return at, 0, err
			}
			resealed++
			written += len(row.value)
		}
	}
	return c.next(at, rows, looked), resealed, nil
}

// write seals a value.
func (c SealedColumn) write(ctx context.Context, u *Unit, row sealedRow, value []byte) error {
	var sealed any
	var err error
	if c.Bytes {
		sealed, err = u.Seal(ctx, value, row.of)
	} else {
		sealed, err = u.SealText(ctx, value, row.of)
	}
	if err != nil {
		return err
	}
	args := []any{sealed}
	conditions := make([]string, len(c.Keys))
	for i, key := range row.keys {
		args = append(args, key)
		conditions[i] = fmt.Sprintf("%s = $%d", c.Keys[i], len(args))
	}
	_, err = u.Exec(ctx, "seal a value of "+c.Table, `UPDATE `+c.Table+` SET `+c.Column+` = $1 WHERE `+strings.Join(conditions, " AND "), args...)
	return err
}

// next is where to go on after the rows of the column that were looked at, of those that were read.
func (c SealedColumn) next(at outbound.SealedCursor, read []sealedRow, looked int) outbound.SealedCursor {
	if looked < len(read) || looked == c.rows() { // there may be more
		at.After = slices.Clone(read[looked-1].keys)
		return at
	}
	at.Column, at.After = at.Column+1, nil
	at.Done = at.Column == len(SealedColumns)
	return at
}

// CheckSealed tries to open values.
func (u *Unit) CheckSealed(ctx context.Context, at outbound.SealedCursor) (next outbound.SealedCursor, found outbound.SealedValues, err error) {
	c := SealedColumns[at.Column]
	rows, err := c.read(ctx, u, at.After, c.Column)
	if err != nil {
		return at, found, err
	}
	prefix, err := u.store.Cipher.Prefix(ctx, u)
	if err != nil {
		prefix = nil // nothing is sealed by the newest key then
	}
	for _, row := range rows {
		_, plain, err := c.open(ctx, u, row)
		sealed := row.value
		if !c.Bytes {
			sealed = sealedBytes(string(row.value))
		}
		switch {
		case outbound.IsUnreadableSecret(err):
			found.Unreadable = append(found.Unreadable, outbound.UnreadableSecret{Of: row.of, Table: c.Table, Reason: reasonOf(err)})
		case err != nil:
			return at, found, err
		case plain:
			found.Clear++
		case prefix == nil || !bytes.HasPrefix(sealed, prefix):
			found.Older++
		default:
			found.Sealed++
		}
	}
	return c.next(at, rows, len(rows)), found, nil
}

// reasonOf is why a value does not open.
func reasonOf(err error) string {
	if e, ok := errors.AsType[*domain.Error](err); ok && e.Cause != nil {
		return e.Cause.Error()
	}
	return err.Error()
}

// CountSealed says how many values there are.
func (u *Unit) CountSealed(ctx context.Context) (n int, err error) {
	for _, c := range SealedColumns {
		var here int
		query := `SELECT count(*) FROM ` + c.Table
		if c.Where != "" {
			query += ` WHERE ` + c.Where
		}
		if err := u.ReadRow(ctx, "count sealed values", &here, query); err != nil {
			return 0, err
		}
		n += here
	}
	return n, nil
}
