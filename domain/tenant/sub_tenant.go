package tenant

import (
	"time"
	"unicode"

	"github.com/sluicehq/sluice/domain"
)

// RegistrationID identifies the registration of a sub-tenant: "st_" and 26 base32
// characters.
type RegistrationID string

// RegistrationIDPrefix is what a [RegistrationID] begins with, without the
// underscore.
const RegistrationIDPrefix = "st"

// Bounds of a sub-tenant, in characters.
const (
	MaxSubTenantID          = 255
	MaxSubTenantDescription = 1000
)

// Check records in r, under field, when the identifier is not 1 to 255 printable
// characters.
func (s SubTenantID) Check(r *domain.Rules, field string) {
	r.Text(string(s), field, 1, MaxSubTenantID)
	for _, c := range string(s) {
		r.Check(unicode.IsPrint(c), field, domain.BadText, "must consist of printable characters, unlike %q", c)
	}
}

// SubTenant is the registration of a segment of a tenant. Segments may be used
// without one. Build one with [NewSubTenant] or [RestoreSubTenant].
type SubTenant struct{ state SubTenantState }

// SubTenantState is everything a store keeps of a registration.
type SubTenantState struct {
	ID          RegistrationID
	Tenant      ID
	SubTenant   SubTenantID `fact:"subTenantId"` // unique within the tenant
	Name        string
	Description *string // nil when none was given
	Metadata    domain.Metadata
	CreatedAt   time.Time
	UpdatedAt   time.Time
	Revision    int64 // 1 at first; a store raises it with every update and refuses a stale one
}

// SubTenantDraft is a registration as a client sends it.
type SubTenantDraft struct {
	SubTenant   SubTenantID // 1 to 255 printable characters
	Name        string      // 1 to 255 characters
	Description *string     // at most 1000 characters
	Metadata    domain.MetadataPatch
	Malformed   []domain.Violation // what was found while the request was read; reported with the rest
}

// SubTenantPatch is what a client wants to change; nil leaves a member as it is.
type SubTenantPatch struct {
	Name              *string
	Description       *string
	RemoveDescription bool // takes the description away; Description is not looked at then
	Metadata          domain.MetadataPatch
	Malformed         []domain.Violation
}

const subTenantInvalid, subTenantInvalidMessage = "sub_tenant_invalid", "The sub-tenant is not valid."

// NewSubTenant registers a segment of the tenant. Every violation is reported at
// once, with the code sub_tenant_invalid.
func NewSubTenant(id RegistrationID, owner ID, d SubTenantDraft, now time.Time) (*SubTenant, error) {
	var r domain.Rules
	r.Add(d.Malformed...)
	d.SubTenant.Check(&r, "subTenantId")
	checkSubTenantTexts(&r, d.Name, d.Description)
	metadata := domain.Metadata{}.Revised(&r, d.Metadata)
	if err := r.Err(subTenantInvalid, subTenantInvalidMessage); err != nil {
		return nil, err
	}
	return &SubTenant{SubTenantState{
		ID: id, Tenant: owner, SubTenant: d.SubTenant, Name: d.Name, Description: domain.CopyOf(d.Description),
		Metadata: metadata, CreatedAt: now, UpdatedAt: now, Revision: 1,
	}}, nil
}

// RestoreSubTenant rebuilds a registration from what a store kept, without applying
// any rule.
func RestoreSubTenant(s SubTenantState) *SubTenant {
	s.Description = domain.CopyOf(s.Description)
	return &SubTenant{s}
}

// Facts are what the audit log says of it.
func (s *SubTenant) Facts() domain.Facts { return domain.FactsOf(s.state) }

// State returns what a store has to keep.
func (s *SubTenant) State() SubTenantState {
	st := s.state
	st.Description = domain.CopyOf(st.Description)
	return st
}

// Revise changes the registration as a whole or not at all. Every violation is
// reported at once, with the code sub_tenant_invalid.
func (s *SubTenant) Revise(p SubTenantPatch, now time.Time) error {
	next := s.State()
	domain.Set(&next.Name, p.Name)
	domain.SetOptional(&next.Description, p.Description, p.RemoveDescription)
	var r domain.Rules
	r.Add(p.Malformed...)
	checkSubTenantTexts(&r, next.Name, next.Description)
	next.Metadata = next.Metadata.Revised(&r, p.Metadata)
	if err := r.Err(subTenantInvalid, subTenantInvalidMessage); err != nil {
		return err
	}
	next.UpdatedAt = now
	s.state = next
	return nil
}

// Saved notes that a store kept the changes, which raises the revision by one.
func (s *SubTenant) Saved() { s.state.Revision++ }

// ID identifies the registration.
func (s *SubTenant) ID() RegistrationID { return s.state.ID }

// Tenant owns the registration.
func (s *SubTenant) Tenant() ID { return s.state.Tenant }

// SubTenant names the segment.
func (s *SubTenant) SubTenant() SubTenantID { return s.state.SubTenant }

// Name is for people.
func (s *SubTenant) Name() string { return s.state.Name }

// Description is for people; nil when there is none.
func (s *SubTenant) Description() *string { return domain.CopyOf(s.state.Description) }

// Metadata is what the tenant keeps with the registration.
func (s *SubTenant) Metadata() domain.Metadata { return s.state.Metadata }

// CreatedAt is when the segment was registered.
func (s *SubTenant) CreatedAt() time.Time { return s.state.CreatedAt }

// UpdatedAt is when the registration last changed.
func (s *SubTenant) UpdatedAt() time.Time { return s.state.UpdatedAt }

// Revision counts the registration's changes.
func (s *SubTenant) Revision() int64 { return s.state.Revision }

func checkSubTenantTexts(r *domain.Rules, name string, description *string) {
	checkName(r, name)
	if description != nil {
		r.Text(*description, "description", 0, MaxSubTenantDescription)
	}
}

// SubTenantSortFields lists what registrations can be sorted by.
func SubTenantSortFields() []string { return []string{"name", "createdAt", "updatedAt"} }

// SeenSubTenant is a segment of a tenant that is registered, or that some record
// belongs to.
type SeenSubTenant struct {
	SubTenant    SubTenantID
	Registration *SubTenant // nil when it is not registered
}
