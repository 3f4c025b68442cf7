package sqlstore

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

type memberships struct{ *unit }

var _ outbound.MembershipRepository = memberships{}

// membershipColumns are those of a membership, under names that no column of a user or a tenant has.
const membershipColumns = `m.tenant_id, m.id AS membership_id, m.user_id, m.role, m.created_at AS joined_at, m.revision AS membership_revision`

type membershipRow struct {
	Tenant    string    `db:"tenant_id"`
	ID        string    `db:"membership_id"`
	User      string    `db:"user_id"`
	Role      string    `db:"role"`
	CreatedAt time.Time `db:"joined_at"`
	Revision  int64     `db:"membership_revision"`
}

func (row membershipRow) restore() *member.Membership {
	return member.RestoreMembership(member.MembershipState{
		ID: member.MembershipID(row.ID), Tenant: tenant.ID(row.Tenant), User: tenant.UserID(row.User), Role: tenant.Role(row.Role), CreatedAt: row.CreatedAt.UTC(), Revision: row.Revision,
	})
}

// memberRow is a membership with its user.
type memberRow struct {
	userRow
	membershipRow
}

func (row memberRow) restore() outbound.Member {
	return outbound.Member{Membership: row.membershipRow.restore(), User: row.userRow.restore()}
}

// Insert adds a membership.
func (s memberships) Insert(ctx context.Context, m *member.Membership) error {
	st := m.State()
	_, err := s.Exec(ctx, "insert membership", `INSERT INTO memberships (tenant_id, id, user_id, role, created_at, revision) VALUES ($1, $2, $3, $4, $5, $6)`,
		string(st.Tenant), string(st.ID), string(st.User), string(st.Role), st.CreatedAt, st.Revision)
	return err
}

const (
	memberNotFound, memberNotFoundMessage = "member_not_found", "There is no such member."

	selectMembers = `SELECT ` + membershipColumns + `, ` + userColumns
	fromMembers   = ` FROM memberships m JOIN users u ON u.id = m.user_id WHERE m.tenant_id = $1`
)

// Get reads a membership with its user.
func (s memberships) Get(ctx context.Context, owner tenant.ID, id member.MembershipID) (outbound.Member, error) {
	var row memberRow
	if err := s.ReadRow(ctx, "get membership", &row, selectMembers+fromMembers+` AND m.id = $2`+s.ForUpdate(), string(owner), string(id)); err != nil {
		return outbound.Member{}, core.NotFound(err, memberNotFound, memberNotFoundMessage)
	}
	return row.restore(), nil
}

// Update writes a membership whose stored revision is the aggregate's. Whose it is never changes.
func (s memberships) Update(ctx context.Context, m *member.Membership) error {
	st := m.State()
	n, err := s.Exec(ctx, "update membership", `UPDATE memberships SET role = $1, revision = revision + 1 WHERE tenant_id = $2 AND id = $3 AND revision = $4`,
		string(st.Role), string(st.Tenant), string(st.ID), st.Revision)
	return s.CheckUpdated(n, err, m.Saved, func() error {
		_, err := s.Get(ctx, st.Tenant, st.ID)
		return err
	})
}

// Delete removes a membership.
func (s memberships) Delete(ctx context.Context, owner tenant.ID, id member.MembershipID) error {
	n, err := s.Exec(ctx, "delete membership", `DELETE FROM memberships WHERE tenant_id = $1 AND id = $2`, string(owner), string(id))
	return s.CheckDeleted(n, err, memberNotFound, memberNotFoundMessage)
}

// List reads a page of a tenant's members.
func (s memberships) List(ctx context.Context, owner tenant.ID, page domain.PageRequest) (domain.Page[outbound.Member], error) {
	found := domain.Page[outbound.Member]{Limit: page.Limit(), Offset: page.Offset()}
	const count = `SELECT count(*) FROM memberships WHERE tenant_id = $1`
	var rows []memberRow
	err := s.ReadRows(ctx, "list members", &rows, selectMembers+`, (`+count+`) AS total`+fromMembers+`
		ORDER BY m.created_at DESC, m.id DESC LIMIT $2 OFFSET $3`, string(owner), page.Limit(), page.Offset())
	for _, row := range rows {
		found.Total = row.Total
		found.Items = append(found.Items, row.restore())
	}
	if err == nil && len(rows) == 0 && page.Offset() > 0 { // past the end
		err = s.ReadRow(ctx, "count members", &found.Total, count, string(owner))
	}
	return found, err
}

// CountAdmins counts usable admins and locks them against other units that count.
func (s memberships) CountAdmins(ctx context.Context, owner tenant.ID) (int, error) {
	var ids []string
	err := s.ReadRows(ctx, "count admins", &ids, `SELECT m.id`+fromMembers+` AND m.role = $2 AND u.disabled_at IS NULL AND (u.password_hash <> '' OR u.issuer IS NOT NULL) ORDER BY m.id`+s.ForUpdate(),
		string(owner), string(tenant.AdminRole))
	return len(ids), err
}

type membershipsOfUsers struct{ *unit }

var _ outbound.MembershipsOfUsers = membershipsOfUsers{}

const selectOfUser = `SELECT ` + membershipColumns + `, t.id, t.name, t.status, t.settings, t.metadata, t.created_at, t.updated_at, t.revision, t.budget_runs, t.budget_live, t.budget_bytes
	FROM memberships m JOIN tenants t ON t.id = m.tenant_id WHERE m.user_id = $1`

// tenantOfUserRow is a membership with its tenant.
type tenantOfUserRow struct {
	tenantRow
	membershipRow
}

func (row tenantOfUserRow) restore(s *Store) (outbound.MembershipOf, error) {
	ten, err := row.tenantRow.restore(s)
	return outbound.MembershipOf{Membership: row.membershipRow.restore(), Tenant: ten}, err
}

// List reads the memberships of a user.
func (s membershipsOfUsers) List(ctx context.Context, user tenant.UserID) ([]outbound.MembershipOf, error) {
	var rows []tenantOfUserRow
	if err := s.ReadRows(ctx, "list memberships", &rows, selectOfUser+` ORDER BY m.created_at, m.id`, string(user)); err != nil {
		return nil, err
	}
	all := make([]outbound.MembershipOf, 0, len(rows))
	for _, row := range rows {
		one, err := row.restore(s.store)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// Find reads the membership of a user in a tenant.
func (s membershipsOfUsers) Find(ctx context.Context, user tenant.UserID, owner tenant.ID) (outbound.MembershipOf, error) {
	var row tenantOfUserRow
	if err := s.ReadRow(ctx, "find membership", &row, selectOfUser+` AND m.tenant_id = $2`, string(user), string(owner)); err != nil {
		return outbound.MembershipOf{}, core.NotFound(err, tenantNotFound, tenantNotFoundMessage)
	}
	return row.restore(s.store)
}
