package sqlite

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pressly/goose/v3"
)

// A trigger from before events were kept is found by the one it listens for; what no
// caller can name is no event, and does not stop the migration.
func TestTriggersFromBeforeEventsWereKeptAreFoundByThem(t *testing.T) {
	db, err := connect(t.Context(), filepath.Join(t.TempDir(), "sluice.db"), Options{Volatile: true}, 1, "_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }() // nothing is pending
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		t.Fatal(err)
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db.DB, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		t.Fatal(err)
	}
	const before, kept = 10, 11
	if _, err := provider.UpTo(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)
	for _, statement := range []string{
		`INSERT INTO tenants (id, name, status, settings, created_at, updated_at, revision) VALUES ('t', 'Acme', 'active', '{}', $1, $1, 1)`,
		`INSERT INTO workflows (tenant_id, id, sub_tenant_id, name, search_text, is_active, created_at, updated_at, revision) VALUES ('t', 'w', '', 'Orders', '', true, $1, $1, 1)`,
		`INSERT INTO workflow_versions (tenant_id, id, workflow_id, sub_tenant_id, number, graph, is_active, published_at, created_at, revision) VALUES ('t', 'v', 'w', '', 1, '{}', true, $1, $1, 1)`,
	} {
		if _, err := db.ExecContext(t.Context(), statement, now); err != nil {
			t.Fatal(err)
		}
	}
	configs := map[string][2]string{ // type and configuration
		"named": {"webhook", `{"a":1,"webhookConfig":{"event":"paid \u00e9"}}`}, "unnamed": {"webhook", `{"webhookConfig":{}}`}, "null": {"webhook", `{"webhookConfig":null}`},
		"scheduled": {"schedule", `{"webhookConfig":{"event":"paid"}}`}, "empty": {"webhook", `{"webhookConfig":{"event":""}}`},
		"number": {"webhook", `{"webhookConfig":{"event":7}}`}, "list": {"webhook", `{"webhookConfig":[1]}`}, "none": {"webhook", `{}`},
		"long": {"webhook", `{"webhookConfig":{"event":"` + strings.Repeat("é", 256) + `"}}`}, "longest": {"webhook", `{"webhookConfig":{"event":"` + strings.Repeat("é", 255) + `"}}`},
		"nul": {"webhook", `{"webhookConfig":{"event":"a\u0000b"}}`},
	}
	for id, c := range configs {
		_, err := db.ExecContext(t.Context(), `INSERT INTO triggers (tenant_id, id, sub_tenant_id, workflow_version_id, name, search_text, type, config, is_active, created_at, updated_at, revision, activated_at)
			VALUES ('t', $1, '', 'v', '', '', $2, $3, true, $4, $4, 1, $4)`, id, c[0], c[1], now)
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second time after going back
		if _, err := provider.UpTo(t.Context(), kept); err != nil {
			t.Fatal(err)
		}
		var found []struct {
			ID    string `db:"id"`
			Event string `db:"event"`
		}
		if err := db.SelectContext(t.Context(), &found, `SELECT id, event FROM triggers WHERE event IS NOT NULL`); err != nil {
			t.Fatal(err)
		}
		got := make(map[string]string)
		for _, f := range found {
			got[f.ID] = f.Event
		}
		delete(got, "nul") // which no call can name
		if diff := cmp.Diff(map[string]string{"named": "paid é", "longest": strings.Repeat("é", 255)}, got); diff != "" {
			t.Error(diff)
		}
		if _, err := provider.DownTo(t.Context(), before); err != nil {
			t.Fatal(err)
		}
	}
}
