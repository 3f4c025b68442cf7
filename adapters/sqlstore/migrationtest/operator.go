package migrationtest

import (
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What the operator asked for gets a table of its own beside what tenants asked for, and
// going back takes only that away.
func operatorsOutcomesStandApart(u *upgrade) {
	const before, kept = 20, 21
	u.to(before)
	now := time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)
	u.putVersion(now)
	u.put(`INSERT INTO outcomes (tenant_id, scope, key, fingerprint, answer, created_at) VALUES ('t', 's', 'k', 'tenant', 'a', $1)`, now)
	recorded := func() (found []string) {
		u.read(&found, `SELECT fingerprint FROM outcomes UNION ALL SELECT fingerprint FROM operator_outcomes`)
		slices.Sort(found)
		return found
	}
	for range 2 { // the second time after going back
		u.to(kept)
		u.put(`INSERT INTO operator_outcomes (scope, key, fingerprint, answer, created_at) VALUES ('s', 'k', 'operator', 'a', $1)`, now)
		if diff := cmp.Diff([]string{"operator", "tenant"}, recorded()); diff != "" {
			u.Error(diff)
		}
		u.back(before)
	}
	u.to(kept)
	if diff := cmp.Diff([]string{"tenant"}, recorded()); diff != "" {
		u.Error(diff)
	}
	u.put(`DELETE FROM tenants`) // with all that they own, and without what the operator asked for
	u.put(`INSERT INTO operator_outcomes (scope, key, fingerprint, answer, created_at) VALUES ('s', 'k', 'operator', 'a', $1)`, now)
	if diff := cmp.Diff([]string{"operator"}, recorded()); diff != "" {
		u.Error(diff)
	}
}
