package migrationtest

import (
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A trigger is found by the event it listens for; what no caller can name is no event,
// and does not stop the migration.
func eventsAreFound(u *upgrade) {
	const before, kept = 10, 11
	u.to(before)
	now := time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)
	u.putVersion(now)
	configs := map[string][2]string{ // type and configuration
		"named": {"webhook", `{"a":1,"webhookConfig":{"event":"paid \u00e9"}}`}, "unnamed": {"webhook", `{"webhookConfig":{}}`}, "null": {"webhook", `{"webhookConfig":null}`},
		"scheduled": {"schedule", `{"webhookConfig":{"event":"paid"}}`}, "empty": {"webhook", `{"webhookConfig":{"event":""}}`},
		"number": {"webhook", `{"webhookConfig":{"event":7}}`}, "list": {"webhook", `{"webhookConfig":[1]}`}, "none": {"webhook", `{}`},
		"long": {"webhook", `{"webhookConfig":{"event":"` + strings.Repeat("é", 256) + `"}}`}, "longest": {"webhook", `{"webhookConfig":{"event":"` + strings.Repeat("é", 255) + `"}}`},
		"nul": {"webhook", `{"webhookConfig":{"event":"a\u0000b"}}`},
	}
	for id, c := range configs {
		u.put(`INSERT INTO triggers (tenant_id, id, sub_tenant_id, workflow_version_id, name, search_text, type, config, is_active, created_at, updated_at, revision, activated_at)
			VALUES ('t', $1, '', 'v', '', '', $2, $3, true, $4, $4, 1, $4)`, id, c[0], c[1], now)
	}
	for range 2 { // the second time after going back
		u.to(kept)
		var found []struct {
			ID    string `db:"id"`
			Event string `db:"event"`
		}
		u.read(&found, `SELECT id, event FROM triggers WHERE event IS NOT NULL`)
		got := make(map[string]string)
		for _, f := range found {
			got[f.ID] = f.Event
		}
		delete(got, "nul") // which no call can name
		if diff := cmp.Diff(map[string]string{"named": "paid é", "longest": strings.Repeat("é", 255)}, got); diff != "" {
			u.Error(diff)
		}
		u.back(before)
	}
}
