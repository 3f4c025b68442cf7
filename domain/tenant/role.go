package tenant

import (
	"slices"

	"github.com/sluicehq/sluice/domain"
)

// UserID identifies a user of the console: "usr_" and 26 base32 characters.
type UserID string

// Role says what a member of a tenant may do.
type Role string

// The roles, each of which may do what the one before may.
const (
	ViewerRole   Role = "viewer"   // reads
	ApproverRole Role = "approver" // answers questions, retries and cancels runs
	EditorRole   Role = "editor"   // draws, publishes, triggers, connects
	AdminRole    Role = "admin"    // everything of the tenant: keys, members, settings
)

// Roles lists every role.
func Roles() []Role { return []Role{ViewerRole, ApproverRole, EditorRole, AdminRole} }

// Valid says whether there is such a role.
func (r Role) Valid() bool { return slices.Contains(Roles(), r) }

// Includes says whether somebody with the role may do what another one may.
func (r Role) Includes(other Role) bool {
	return other.Valid() && slices.Index(Roles(), r) >= slices.Index(Roles(), other)
}

// Member is who asks by a session of the console. The zero value is nobody.
type Member struct {
	User    UserID
	Session string
	Name    string // for people
	Role    Role
}

// CallerBy is a member of the tenant who asks.
func CallerBy(m Member, ten *Tenant) Caller {
	return Caller{Scope: All(ten.ID()), KeyType: Session, Member: m, Settings: ten.Settings()}
}

// may says whether the member's role is enough for an operation.
func (m Member) may(row Permission) error {
	if m.Role.Includes(row.Role) {
		return nil
	}
	if row.Role == "" {
		return domain.Fail(domain.Forbidden, "role_not_allowed", "No member may do this.")
	}
	return domain.Fail(domain.Forbidden, "role_not_allowed", "This takes the role %s or a higher one; yours is %s.", row.Role, m.Role)
}
