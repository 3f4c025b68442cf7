package sqlite_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
)

// BenchmarkSecureDelete is what it costs to overwrite what is removed: rows of a size are added, rewritten and removed, a hundred in a
// transaction, as runs are that come, go on and grow old.
func BenchmarkSecureDelete(b *testing.B) {
	for _, size := range []int{500, 8000} {
		for name, mode := range map[string]int{"on": 1, "off": 0} {
			b.Run(fmt.Sprintf("%d bytes/%s", size, name), func(b *testing.B) {
				db, err := sql.Open("sqlite", filepath.Join(b.TempDir(), "bench.db")+fmt.Sprintf("?_pragma=journal_mode(WAL)&_pragma=synchronous(1)&_pragma=secure_delete(%d)", mode))
				if err != nil {
					b.Fatal(err)
				}
				b.Cleanup(func() { _ = db.Close() }) // nothing is pending
				if _, err := db.ExecContext(b.Context(), `CREATE TABLE runs (tenant_id text, id integer, body text, PRIMARY KEY (tenant_id, id)); CREATE INDEX by_id ON runs (id)`); err != nil {
					b.Fatal(err)
				}
				const batch, kept = 100, 2000
				next := 0
				step := func() {
					tx, err := db.BeginTx(b.Context(), nil)
					if err != nil {
						b.Fatal(err)
					}
					for _, statement := range []string{
						`INSERT INTO runs WITH RECURSIVE n (i) AS (SELECT $1 UNION ALL SELECT i + 1 FROM n WHERE i < $1 + $2 - 1) SELECT 'tenant', i, hex(zeroblob($3 / 2)) FROM n`,
						`UPDATE runs SET body = body || 'x' WHERE tenant_id = 'tenant' AND id >= $1 AND id < $1 + $2 AND $3 > 0`,
						`DELETE FROM runs WHERE tenant_id = 'tenant' AND id >= $1 - 2000 AND id < $1 - 2000 + $2 AND $3 > 0`,
					} {
						if _, err := tx.ExecContext(b.Context(), statement, next, batch, size); err != nil {
							b.Fatal(err)
						}
					}
					if err := tx.Commit(); err != nil {
						b.Fatal(err)
					}
					next += batch
				}
				for next < kept+batch {
					step()
				}
				for b.Loop() {
					step()
				}
			})
		}
	}
}
