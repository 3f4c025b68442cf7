package migrationtest

import (
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What a run waits for is known as of the step that a gateway of the new version has
// recorded. It is not of a run from before, nor once a gateway of the version before has
// moved the run on.
func waitsAreUnread(u *upgrade) {
	const before, kept = 16, 17
	u.to(before)
	now := time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)
	u.putVersion(now)
	u.putRun("old", now)
	u.putRun("moved", now)
	for range 2 { // the second time after going back
		u.to(kept)
		for _, c := range []struct{ step, want string }{
			{`awaits_seq = awaits_seq`, "?"},
			{`seq = 4, awaits = '[{"event":"paid"}]', awaited = '=paid', awaits_seq = 4`, "=paid"},
			{`status = 'running', seq = 5`, "?"}, // by the version before
			{`status = 'paused', seq = 3`, "?"},
		} {
			u.put(`UPDATE runs SET ` + c.step + ` WHERE id = 'moved'`)
			var found []struct {
				ID      string `db:"id"`
				Awaited string `db:"awaited"`
			}
			u.read(&found, `SELECT id, CASE WHEN awaits_seq = seq THEN awaited ELSE '?' END AS awaited FROM runs`)
			got := make(map[string]string)
			for _, f := range found {
				got[f.ID] = f.Awaited
			}
			if diff := cmp.Diff(map[string]string{"old": "?", "moved": c.want}, got); diff != "" {
				u.Errorf("after %s: %s", c.step, diff)
			}
		}
		u.back(before)
	}
}

// The version before reads the payload of a run from its row only.
func payloadsComeBack(u *upgrade) {
	const before, shared = 22, 23
	u.to(shared)
	now := time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)
	u.putVersion(now)
	u.put(`INSERT INTO run_payloads (tenant_id, id, payload) VALUES ('t', 'pay_1', '"é"')`)
	for _, id := range []string{"a", "b", "own"} {
		u.putRun(id, now)
	}
	u.put(`UPDATE runs SET payload = '', payload_id = 'pay_1' WHERE id <> 'own'`)
	u.back(before)
	var got []string
	u.read(&got, `SELECT id || payload FROM runs ORDER BY id`)
	if diff := cmp.Diff([]string{`a"é"`, `b"é"`, `own{}`}, got); diff != "" {
		u.Error(diff)
	}
	u.to(shared)
}

// Lists show every run that is there, whichever version added it, and none that is not.
func runsAreListed(u *upgrade) {
	const before, kept = 16, 17
	u.to(before)
	now := time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)
	u.putVersion(now)
	u.putRun("first", now)
	u.putRun("second", now)
	u.putRun("gone", now)
	want := []string{"first", "gone", "second"}
	for _, during := range []string{"kept", "kept again"} { // the second time after going back
		u.to(kept)
		u.wantListed(want)
		u.putRun(during, now) // as the version before adds it
		u.put(`DELETE FROM runs WHERE id = 'gone'`)
		want = append(slices.DeleteFunc(want, func(id string) bool { return id == "gone" }), during)
		u.wantListed(want)
		u.back(before)
		u.putRun("after "+during, now)
		u.putRun("gone", now)
		want = append(want, "after "+during, "gone")
	}
}

// wantListed compares the runs that are there, and those that lists find, with the wanted.
func (u *upgrade) wantListed(want []string) {
	u.Helper()
	for _, table := range []string{"runs", u.lists} {
		var got []string
		u.read(&got, `SELECT id FROM `+table+` WHERE workflow_id = 'w' AND workflow_version_id = 'v' AND entity_id = 'e'`)
		if diff := cmp.Diff(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(got))); diff != "" {
			u.Errorf("in %s: %s", table, diff)
		}
	}
}

// putRun adds a run of the version v that waits, with what is known of one before 17.
func (u *upgrade) putRun(id string, at time.Time) {
	u.Helper()
	u.put(`INSERT INTO runs (tenant_id, id, sub_tenant_id, workflow_id, workflow_version_id, trigger_id, trigger_name, trigger_type, entity_id, dedupe_key, holds_key,
		cause, payload, max_retries, backoff_ms, max_backoff_ms, timeout_ms, status, seq, progress, created_at, updated_at)
		VALUES ('t', $1, '', 'w', 'v', '', '', '', 'e', '', false, 'manual', '{}', 0, 0, 0, 0, 'paused', 3, '{}', $2, $2)`, id, at)
}
