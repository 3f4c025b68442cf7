// Package migrationtest holds the migrations of every database to the same claims about
// what was stored before them.
package migrationtest

import (
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/pressly/goose/v3"
)

// Open returns a new database without a table, and what migrates it. The test closes it.
type Open func(t *testing.T) (*sqlx.DB, *goose.Provider)

// Run runs every claim, each on a database of its own. lists is the table by which the
// database's lists of runs filter.
func Run(t *testing.T, lists string, open Open) {
	for name, claim := range map[string]func(*upgrade){
		"schedules from before they were kept begin with the migration":   schedulesBegin,
		"triggers from before events were kept are found by their event":  eventsAreFound,
		"what runs from before wait for is not known until it is written": waitsAreUnread,
		"runs from before are listed":                                     runsAreListed,
		"what the operator asked for stands apart from its tenants":       operatorsOutcomesStandApart,
		"runs that share a payload have it each after going back":         payloadsComeBack,
		"keys from before successors were kept have none":                 keysHaveNoSuccessor,
	} {
		t.Run(name, func(t *testing.T) {
			db, provider := open(t)
			claim(&upgrade{t, db, provider, lists})
		})
	}
}

// upgrade is a database on its way from one version to another.
type upgrade struct {
	*testing.T
	db       *sqlx.DB
	provider *goose.Provider
	lists    string // the table by which lists of runs filter
}

// to brings the database to a version.
func (u *upgrade) to(version int64) {
	u.Helper()
	if _, err := u.provider.UpTo(u.Context(), version); err != nil {
		u.Fatal(err)
	}
}

// back takes later versions back.
func (u *upgrade) back(version int64) {
	u.Helper()
	if _, err := u.provider.DownTo(u.Context(), version); err != nil {
		u.Fatal(err)
	}
}

// put carries out one statement.
func (u *upgrade) put(statement string, args ...any) {
	u.Helper()
	if _, err := u.db.ExecContext(u.Context(), statement, args...); err != nil {
		u.Fatal(err)
	}
}

// read reads rows into a slice.
func (u *upgrade) read(into any, query string) {
	u.Helper()
	if err := u.db.SelectContext(u.Context(), into, query); err != nil {
		u.Fatal(err)
	}
}

// putVersion adds the tenant t with the workflow w and its version v.
func (u *upgrade) putVersion(at time.Time) {
	u.Helper()
	u.put(`INSERT INTO tenants (id, name, status, settings, created_at, updated_at, revision) VALUES ('t', 'Acme', 'active', '{}', $1, $1, 1)`, at)
	u.put(`INSERT INTO workflows (tenant_id, id, sub_tenant_id, name, search_text, is_active, created_at, updated_at, revision)
		VALUES ('t', 'w', '', 'Orders', '', true, $1, $1, 1)`, at)
	u.put(`INSERT INTO workflow_versions (tenant_id, id, workflow_id, sub_tenant_id, number, graph, is_active, published_at, created_at, revision)
		VALUES ('t', 'v', 'w', '', 1, '{}', true, $1, $1, 1)`, at)
}
