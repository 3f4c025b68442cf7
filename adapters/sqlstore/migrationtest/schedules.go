package migrationtest

import (
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// A trigger counts its interval from its creation, and fires from the migration on:
// nothing that was due before it is caught up.
func schedulesBegin(u *upgrade) {
	const before, kept = 7, 8
	u.to(before)
	created := time.Date(2026, 1, 31, 9, 0, 0, 250_000_000, time.UTC)
	u.putVersion(created)
	u.put(`INSERT INTO triggers (tenant_id, id, sub_tenant_id, workflow_version_id, name, search_text, type, config, is_active, created_at, updated_at, revision)
		VALUES ('t', 'scheduled', '', 'v', '', '', 'schedule', '{}', true, $1, $1, 1), ('t', 'inactive', '', 'v', '', '', 'schedule', '{}', false, $1, $1, 1),
			('t', 'webhook', '', 'v', '', '', 'webhook', '{}', true, $1, $1, 1)`, created)
	begun := time.Now().UTC().Truncate(time.Millisecond)
	for range 2 { // the second time after going back
		u.to(kept)
		var activated []time.Time
		u.read(&activated, `SELECT activated_at FROM triggers`)
		if diff := cmp.Diff([]time.Time{created, created, created}, activated, cmpopts.EquateApproxTime(0)); diff != "" {
			u.Error(diff)
		}
		var held []struct {
			Trigger   string    `db:"trigger_id"`
			DealtWith time.Time `db:"dealt_with"`
			Next      time.Time `db:"next_at"`
		}
		u.read(&held, `SELECT trigger_id, dealt_with, next_at FROM trigger_schedules`)
		if len(held) != 1 || held[0].Trigger != "scheduled" || held[0].DealtWith.Before(begun) || !held[0].Next.Equal(held[0].DealtWith) || held[0].Next.After(time.Now()) {
			u.Errorf("held are %v", held)
		}
		u.back(before)
	}
}
