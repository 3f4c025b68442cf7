package migrationtest

import (
	"time"

	"github.com/google/go-cmp/cmp"
)

// A key that was there before has no successor, and is written by the release before as
// ever; going back and forth again forgets successors and no key.
func keysHaveNoSuccessor(u *upgrade) {
	const before, kept = 21, 22
	u.to(before)
	now := time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)
	u.putVersion(now)
	put := func(id string) {
		u.put(`INSERT INTO api_keys (id, tenant_id, type, name, hash, last_four, created_at, revision) VALUES ($1, 't', 'secret', '', $2, 'last', $3, 1)`, id, []byte(id), now)
	}
	put("a")
	u.to(kept)
	put("b")
	successors := func(want ...string) {
		var found []string
		u.read(&found, `SELECT id || '>' || successor_id FROM api_keys ORDER BY id`)
		if diff := cmp.Diff(want, found); diff != "" {
			u.Error(diff)
		}
	}
	successors("a>", "b>")
	u.put(`UPDATE api_keys SET successor_id = 'c' WHERE id = 'a'`)
	u.back(before)
	u.to(kept)
	successors("a>", "b>")
}
