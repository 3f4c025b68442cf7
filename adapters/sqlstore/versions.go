package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

type versions struct{ *unit }

var _ outbound.VersionRepository = versions{}

const versionColumns = `id, workflow_id, tenant_id, sub_tenant_id, number, graph, is_active, published_at, created_at, revision`

type versionRow struct {
	ID          string     `db:"id"`
	Workflow    string     `db:"workflow_id"`
	Tenant      string     `db:"tenant_id"`
	SubTenant   string     `db:"sub_tenant_id"`
	Number      int        `db:"number"`
	Graph       string     `db:"graph"`
	Active      bool       `db:"is_active"`
	PublishedAt *time.Time `db:"published_at"`
	CreatedAt   time.Time  `db:"created_at"`
	Revision    int64      `db:"revision"`
}

func (row versionRow) restore() (*workflow.Version, error) {
	graph, err := decodeGraph(row.Graph)
	if err != nil {
		return nil, fmt.Errorf("version %s: graph: %w", row.ID, err)
	}
	return workflow.RestoreVersion(workflow.VersionState{
		ID: workflow.VersionID(row.ID), Workflow: workflow.ID(row.Workflow), Tenant: tenant.ID(row.Tenant),
		SubTenant: tenant.SubTenantID(row.SubTenant), Number: row.Number, Graph: graph, Active: row.Active,
		PublishedAt: inUTC(row.PublishedAt), CreatedAt: row.CreatedAt.UTC(), Revision: row.Revision,
	}), nil
}

const versionNotFound, versionNotFoundMessage = "version_not_found", "There is no such workflow version."

// NextNumber draws the workflow's next version number and holds the workflow until
// the unit ends. A unit that does not commit gives the number back.
func (s versions) NextNumber(ctx context.Context, owner tenant.ID, of workflow.ID) (int, error) {
	var number int
	err := s.get(ctx, "number a version", &number, `UPDATE workflows SET last_version = last_version + 1
		WHERE tenant_id = $1 AND id = $2 RETURNING last_version`, string(owner), string(of))
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, s.spoil(err)
	}
	return number, missing(err, "workflow_not_found", "There is no such workflow.")
}

// Insert adds a version.
func (s versions) Insert(ctx context.Context, ver *workflow.Version) error {
	st := ver.State()
	graph, err := encodeGraph(st.Graph)
	if err != nil {
		return s.spoil(err)
	}
	_, err = s.exec(ctx, "insert version", `INSERT INTO workflow_versions (`+versionColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		string(st.ID), string(st.Workflow), string(st.Tenant), string(st.SubTenant), st.Number, graph, st.Active,
		st.PublishedAt, st.CreatedAt, st.Revision)
	return err
}

// Get reads a version.
func (s versions) Get(ctx context.Context, owner tenant.ID, id workflow.VersionID) (*workflow.Version, error) {
	var row versionRow
	err := s.get(ctx, "get version", &row, `SELECT `+versionColumns+` FROM workflow_versions WHERE tenant_id = $1 AND id = $2`,
		string(owner), string(id))
	if err != nil {
		return nil, missing(err, versionNotFound, versionNotFoundMessage)
	}
	return row.restore()
}

// SubTenant reads only whom a version belongs to.
func (s versions) SubTenant(ctx context.Context, owner tenant.ID, id workflow.VersionID) (tenant.SubTenantID, error) {
	var sub string
	err := s.get(ctx, "get the version's sub-tenant", &sub,
		`SELECT sub_tenant_id FROM workflow_versions WHERE tenant_id = $1 AND id = $2`, string(owner), string(id))
	return tenant.SubTenantID(sub), missing(err, versionNotFound, versionNotFoundMessage)
}
