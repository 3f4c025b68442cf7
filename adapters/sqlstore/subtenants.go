package sqlstore

import (
	"context"
	"strings"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

type subTenants struct{ *unit }

var _ outbound.SubTenantRepository = subTenants{}

const subTenantColumns = `id, tenant_id, sub_tenant_id, name, description, metadata, created_at, updated_at, revision`

type subTenantRow struct {
	ID          string    `db:"id"`
	Tenant      string    `db:"tenant_id"`
	SubTenant   string    `db:"sub_tenant_id"`
	Name        string    `db:"name"`
	Description *string   `db:"description"`
	Metadata    string    `db:"metadata"`
	CreatedAt   time.Time `db:"created_at"`
	UpdatedAt   time.Time `db:"updated_at"`
	Revision    int64     `db:"revision"`
}

// Targets are where the columns of a list go.
func (row *subTenantRow) Targets() []any {
	return []any{
		&row.ID, &row.Tenant, &row.SubTenant, &row.Name, &row.Description, &row.Metadata, &row.CreatedAt, &row.UpdatedAt,
		&row.Revision,
	}
}

// Size is the length of its texts.
func (row *subTenantRow) Size() int {
	return len(row.Name) + core.TextLen(row.Description) + len(row.Metadata)
}

// SizeSQL is the same, of the columns.
func (*subTenantRow) SizeSQL() string {
	return `octet_length(name) + coalesce(octet_length(description), 0) + octet_length(metadata)`
}

func (row subTenantRow) restore() (*tenant.SubTenant, error) {
	return tenant.RestoreSubTenant(tenant.SubTenantState{
		ID: tenant.RegistrationID(row.ID), Tenant: tenant.ID(row.Tenant), SubTenant: tenant.SubTenantID(row.SubTenant),
		Name: row.Name, Description: row.Description, Metadata: domain.RestoreMetadata(row.Metadata),
		CreatedAt: row.CreatedAt.UTC(), UpdatedAt: row.UpdatedAt.UTC(), Revision: row.Revision,
	}), nil
}

const subTenantNotFound, subTenantNotFoundMessage = "sub_tenant_not_found", "There is no such sub-tenant."

var subTenantsSorted = map[string]string{"name": "name", "createdAt": "created_at", "updatedAt": "updated_at"}

// Insert adds a registration.
func (s subTenants) Insert(ctx context.Context, sub *tenant.SubTenant) error {
	st := sub.State()
	_, err := s.Exec(ctx, "insert sub-tenant", `INSERT INTO sub_tenants (`+subTenantColumns+`, search_text) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		string(st.ID), string(st.Tenant), string(st.SubTenant), st.Name, st.Description, st.Metadata.String(), st.CreatedAt, st.UpdatedAt, st.Revision,
		core.SearchText(st.Name, st.Description))
	return err
}

// Get reads a registration.
func (s subTenants) Get(ctx context.Context, scope tenant.Scope, id tenant.RegistrationID) (*tenant.SubTenant, error) {
	return s.one(ctx, "id", scope, string(id), "There is no such sub-tenant.")
}

// Find reads the registration of a sub-tenant.
func (s subTenants) Find(ctx context.Context, scope tenant.Scope, sub tenant.SubTenantID) (*tenant.SubTenant, error) {
	return s.one(ctx, "sub_tenant_id", scope, string(sub), "No sub-tenant is registered under this identifier.")
}

func (s subTenants) one(ctx context.Context, column string, scope tenant.Scope, value, absent string) (*tenant.SubTenant, error) {
	in, args := core.Within(scope, core.BySubTenant, value)
	var row subTenantRow
	err := s.ReadRow(ctx, "get sub-tenant", &row, `SELECT `+subTenantColumns+` FROM sub_tenants WHERE tenant_id = $1 AND `+column+` = $2`+in+s.ForUpdate(), args...)
	if err != nil {
		return nil, core.NotFound(err, subTenantNotFound, absent)
	}
	return row.restore()
}

// List reads a page of the tenant's registrations.
func (s subTenants) List(ctx context.Context, scope tenant.Scope, f tenant.SubTenantFilter, q domain.Query) (domain.Page[*tenant.SubTenant], error) {
	l := core.NewList("sub_tenants", subTenantColumns, scope, core.BySubTenant, subTenantsSorted)
	l.Search(f.Search)
	l.Metadata(f.Metadata, s.store.dialect.HasPair)
	return core.ReadPage(ctx, s.Unit, l, q, subTenantRow.restore)
}

// Update writes a registration whose stored revision is the aggregate's. The
// sub-tenant it is of never changes.
func (s subTenants) Update(ctx context.Context, sub *tenant.SubTenant) error {
	st := sub.State()
	n, err := s.Exec(ctx, "update sub-tenant", `UPDATE sub_tenants
		SET name = $1, description = $2, updated_at = $3, search_text = $4, metadata = $5, revision = revision + 1
		WHERE tenant_id = $6 AND id = $7 AND revision = $8`,
		st.Name, st.Description, st.UpdatedAt, core.SearchText(st.Name, st.Description), st.Metadata.String(), string(st.Tenant), string(st.ID), st.Revision)
	return s.CheckUpdated(n, err, sub.Saved, func() error {
		_, err := s.Get(ctx, tenant.All(st.Tenant), st.ID)
		return err
	})
}

// Delete removes a registration.
func (s subTenants) Delete(ctx context.Context, scope tenant.Scope, id tenant.RegistrationID) error {
	in, args := core.Within(scope, core.BySubTenant, string(id))
	n, err := s.Exec(ctx, "delete sub-tenant", `DELETE FROM sub_tenants WHERE tenant_id = $1 AND id = $2`+in, args...)
	return s.CheckDeleted(n, err, subTenantNotFound, subTenantNotFoundMessage)
}

type subTenantDirectory struct{ *unit }

var _ outbound.SubTenantDirectory = subTenantDirectory{}

// everywhere selects every sub-tenant of a tenant once, registered or not. Of the runs, which
// are many more than their sub-tenants, it looks in the index for the next sub-tenant behind
// each, until there is none.
func (s subTenantDirectory) everywhere() string {
	runs := "runs"
	if facets := s.store.dialect.Runs.Facets; facets != "" {
		runs = facets
	}
	behind := func(last string) string {
		return `(SELECT f.sub_tenant_id FROM ` + runs + ` f WHERE f.tenant_id = $1 AND f.sub_tenant_id > ` + last + ` AND f.sub_tenant_id <> ''
			ORDER BY f.sub_tenant_id LIMIT 1)`
	}
	return `WITH RECURSIVE of_runs (sub_tenant_id) AS (
			SELECT ` + behind(`''`) + ` UNION ALL SELECT ` + behind(`o.sub_tenant_id`) + ` FROM of_runs o WHERE o.sub_tenant_id IS NOT NULL)
		SELECT sub_tenant_id FROM sub_tenants WHERE tenant_id = $1
		UNION SELECT sub_tenant_id FROM workflows WHERE tenant_id = $1 AND sub_tenant_id <> ''
		UNION SELECT sub_tenant_id FROM of_runs WHERE sub_tenant_id IS NOT NULL`
}

// seen selects the sub-tenants that fit, with the arguments of the list. Only registrations
// have metadata.
func (s subTenantDirectory) seen(scope tenant.Scope, m domain.MetadataFilter) (statement string, l *core.List) {
	l = core.NewList("sub_tenants", "", scope, core.BySubTenant, nil)
	l.Metadata(m, s.store.dialect.HasPair)
	switch conditions := strings.Join(l.Where, " AND "); {
	case len(m) > 0:
		return `SELECT sub_tenant_id FROM sub_tenants WHERE tenant_id = $1 AND ` + conditions, l
	case conditions != "":
		return `SELECT sub_tenant_id FROM (` + s.everywhere() + `) AS everywhere WHERE ` + conditions, l
	}
	return s.everywhere(), l
}

// List reads a page of all sub-tenants.
func (s subTenantDirectory) List(ctx context.Context, scope tenant.Scope, m domain.MetadataFilter, page domain.PageRequest) (domain.Page[tenant.SeenSubTenant], error) {
	total := 0
	seen, l := s.seen(scope, m)
	if err := s.ReadRow(ctx, "count sub-tenants", &total, `SELECT count(*) FROM (`+seen+`) AS seen`, l.Args...); err != nil {
		return domain.Page[tenant.SeenSubTenant]{}, err
	}
	var identifiers []string
	ordered := seen + ` ORDER BY sub_tenant_id` + l.Limit(domain.Query{PageRequest: page})
	err := s.ReadRows(ctx, "list sub-tenants", &identifiers, ordered, l.Args...)
	if err != nil || len(identifiers) == 0 {
		return domain.Page[tenant.SeenSubTenant]{Total: total, Limit: page.Limit(), Offset: page.Offset()}, err
	}
	registered, err := s.between(ctx, scope.Tenant(), identifiers[0], identifiers[len(identifiers)-1])
	if err != nil {
		return domain.Page[tenant.SeenSubTenant]{}, err
	}
	found := domain.Page[tenant.SeenSubTenant]{Total: total, Limit: page.Limit(), Offset: page.Offset()}
	for _, id := range identifiers {
		sub := tenant.SubTenantID(id)
		found.Items = append(found.Items, tenant.SeenSubTenant{SubTenant: sub, Registration: registered[sub]})
	}
	return found, nil
}

// between reads the registrations of a range of sub-tenants.
func (s subTenantDirectory) between(ctx context.Context, owner tenant.ID, first, last string) (map[tenant.SubTenantID]*tenant.SubTenant, error) {
	var rows []subTenantRow
	err := s.ReadRows(ctx, "list sub-tenants of a page", &rows, `SELECT `+subTenantColumns+` FROM sub_tenants
		WHERE tenant_id = $1 AND sub_tenant_id BETWEEN $2 AND $3`, string(owner), first, last)
	if err != nil {
		return nil, err
	}
	registered := make(map[tenant.SubTenantID]*tenant.SubTenant, len(rows))
	for _, row := range rows {
		sub, err := row.restore()
		if err != nil {
			return nil, err
		}
		registered[sub.SubTenant()] = sub
	}
	return registered, nil
}
