package member

import (
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// MembershipID identifies a membership: "mem_" and 26 base32 characters.
type MembershipID string

// Membership ties a user to a tenant with a role.
type Membership struct{ state MembershipState }

// MembershipState is everything a store keeps of a membership.
type MembershipState struct {
	ID        MembershipID
	Tenant    tenant.ID
	User      tenant.UserID `fact:"userId"`
	Role      tenant.Role
	CreatedAt time.Time
	Revision  int64
}

// NewMembership makes a user a member of a tenant. Every violation is reported at once, with the code
// member_invalid.
func NewMembership(id MembershipID, owner tenant.ID, user tenant.UserID, role tenant.Role, now time.Time) (*Membership, error) {
	m := &Membership{MembershipState{ID: id, Tenant: owner, User: user, CreatedAt: now, Revision: 1}}
	return m, m.Change(role)
}

// RestoreMembership rebuilds a membership from what a store kept.
func RestoreMembership(s MembershipState) *Membership { return &Membership{s} }

// Facts are what the audit log says of it.
func (m *Membership) Facts() domain.Facts { return domain.FactsOf(m.state) }

// State returns what a store has to keep.
func (m *Membership) State() MembershipState { return m.state }

// ID identifies the membership.
func (m *Membership) ID() MembershipID { return m.state.ID }

// Tenant is what the user is a member of.
func (m *Membership) Tenant() tenant.ID { return m.state.Tenant }

// User is who is a member.
func (m *Membership) User() tenant.UserID { return m.state.User }

// Role says what the member may do.
func (m *Membership) Role() tenant.Role { return m.state.Role }

// CreatedAt is when the user became a member.
func (m *Membership) CreatedAt() time.Time { return m.state.CreatedAt }

// Revision counts the membership's changes.
func (m *Membership) Revision() int64 { return m.state.Revision }

// Saved notes that a store kept the changes, which raises the revision by one.
func (m *Membership) Saved() { m.state.Revision++ }

// CheckDraft reports every violation of who is to become a member, with the code member_invalid.
func CheckDraft(address string, role tenant.Role) error {
	var r domain.Rules
	readEmail(&r, address, "email")
	CheckRole(&r, role, "role")
	return r.Err("member_invalid", "The member is not valid.")
}

// Change gives the member another role.
func (m *Membership) Change(role tenant.Role) error {
	var r domain.Rules
	CheckRole(&r, role, "role")
	if err := r.Err("member_invalid", "The member is not valid."); err != nil {
		return err
	}
	m.state.Role = role
	return nil
}

// CheckRole reports a role that does not exist.
func CheckRole(r *domain.Rules, role tenant.Role, field string) {
	r.Check(role != "", field, domain.Required, "must be %s", domain.OneOf(tenant.Roles()...))
	r.Check(role == "" || role.Valid(), field, domain.NotAllowed, "must be %s, not %q", domain.OneOf(tenant.Roles()...), string(role))
}

// KeepAnAdmin returns nil when a tenant can do without this member as an admin, of which it has as many as said,
// this one among them: else a Conflict with the code last_admin.
func (m *Membership) KeepAnAdmin(admins int) error {
	if m.state.Role != tenant.AdminRole || admins > 1 {
		return nil
	}
	return domain.Fail(domain.Conflict, "last_admin", "This is the tenant's last admin. Make somebody else an admin first.")
}
