// Package searchtest looks for texts in everything that a database holds.
package searchtest

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// columns are those of all tables, as the schema says: of PostgreSQL, and of SQLite.
var columns = []string{
	`SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema() ORDER BY 1, 2`,
	`SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_xinfo(m.name) c WHERE m.type = 'table' ORDER BY 1, 2`,
}

// Find returns the columns, as table.column, in which a text stands, each once for every row: what is encrypted
// is opened, and what is escaped in JSON is read.
func Find(ctx context.Context, store *sqlstore.Store, text string) (places []string, err error) {
	var all [][2]string
	for _, query := range columns {
		all = nil
		err = read(ctx, store, query, func(u *core.Unit, rows *sql.Rows) error {
			var c [2]string
			err := rows.Scan(&c[0], &c[1])
			all = append(all, c)
			return err
		})
		if err == nil {
			break
		}
	}
	if err != nil || len(all) == 0 {
		return nil, fmt.Errorf("the schema cannot be read: %w", err)
	}
	look := func(place string, value []byte) {
		if holds(value, text) {
			places = append(places, place)
		}
	}
	for _, c := range all {
		err := read(ctx, store, fmt.Sprintf(`SELECT %q FROM %q WHERE %q IS NOT NULL`, c[1], c[0], c[1]), func(_ *core.Unit, rows *sql.Rows) error {
			var value sql.RawBytes
			err := rows.Scan(&value)
			look(c[0]+"."+c[1], value)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return places, sealed(ctx, store, look)
}

func read(ctx context.Context, store *sqlstore.Store, query string, take func(u *core.Unit, rows *sql.Rows) error) error {
	return store.Statements(ctx, func(u *core.Unit) error {
		return u.EachRow(ctx, "look for a text", func(rows *sql.Rows) error { return take(u, rows) }, query)
	})
}

// sealedValue is an encrypted value, and what it was encrypted for.
type sealedValue struct {
	place  string
	value  []byte
	of     outbound.SecretField
	isText bool
}

// sealed looks into what is encrypted.
func sealed(ctx context.Context, store *sqlstore.Store, look func(place string, value []byte)) error {
	var all []sealedValue
	for _, c := range core.SealedColumns {
		owner := c.Keys[0]
		if c.Global {
			owner = "''"
		}
		err := read(ctx, store, fmt.Sprintf(`SELECT %s, %s, %s FROM %s WHERE %s IS NOT NULL`, owner, c.Record, c.Column, c.Table, c.Column), func(_ *core.Unit, rows *sql.Rows) error {
			v := sealedValue{place: c.Table + "." + c.Column, of: outbound.SecretField{Field: c.Column}, isText: !c.Bytes}
			err := rows.Scan((*string)(&v.of.Tenant), &v.of.Record, &v.value)
			all = append(all, v)
			return err
		})
		if err != nil {
			return err
		}
	}
	err := read(ctx, store, `SELECT tenant_id, scope || ' ' || key, answer FROM outcomes`, func(_ *core.Unit, rows *sql.Rows) error {
		v := sealedValue{place: "outcomes.answer", of: outbound.SecretField{Field: "answer"}}
		var owner string
		err := rows.Scan(&owner, &v.of.Record, &v.value)
		v.of.Tenant = tenant.ID(owner)
		all = append(all, v)
		return err
	})
	if err != nil {
		return err
	}
	return store.Statements(ctx, func(u *core.Unit) error {
		for _, v := range all {
			plain := v.value
			switch {
			case !v.isText:
				plain, err = u.OpenOf01(ctx, v.value, v.of)
			case bytes.HasPrefix(v.value, []byte("sealed:")):
				var text string
				text, err = u.OpenText(ctx, string(v.value), v.of)
				plain = []byte(text)
			}
			if err != nil {
				return fmt.Errorf("%s of %s: %w", v.place, v.of.Record, err)
			}
			if !bytes.Equal(plain, v.value) { // which was looked into as it is
				look(v.place, plain)
			}
		}
		return nil
	})
}

// holds says whether a text stands in a value, or in what is written in it as JSON, in which there may be JSON again.
func holds(value []byte, text string) bool {
	if bytes.Contains(value, []byte(text)) {
		return true
	}
	if len(value) == 0 || !bytes.ContainsRune([]byte(`"[{`), rune(value[0])) {
		return false
	}
	tokens := json.NewDecoder(bytes.NewReader(slices.Clone(value)))
	for {
		token, err := tokens.Token()
		if err != nil {
			return false
		}
		if said, ok := token.(string); ok && holds([]byte(said), text) {
			return true
		}
	}
}
