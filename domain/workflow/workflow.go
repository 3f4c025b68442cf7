package workflow

import (
	"time"
	"unicode"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// Bounds of a workflow's texts, in characters.
const (
	MinName        = 1
	MaxName        = 255
	MaxDescription = 1000
	maxSubTenant   = 255
)

// Workflow is something a tenant automates. What it does is in its versions; the
// workflow itself gives them a name and a switch: none of its triggers fires
// while it is inactive. Build one with [New] or [Restore].
type Workflow struct{ state State }

// State is everything a store keeps of a workflow.
type State struct {
	ID          ID
	Tenant      tenant.ID
	SubTenant   tenant.SubTenantID `fact:"subTenantId"` // empty when it belongs to the tenant as a whole
	Name        string
	Description *string // nil when none was given
	Metadata    domain.Metadata
	Active      bool `fact:"isActive"`
	RunDays     *int `fact:"runRetentionDays"` // how long its finished runs are kept; nil for as long as the tenant's
	CreatedAt   time.Time
	UpdatedAt   time.Time
	Revision    int64 // 1 at first; a store raises it with every update and refuses a stale one
}

// Draft is what a workflow is made of.
type Draft struct {
	Name        string  // 1 to [MaxName] characters
	Description *string // at most [MaxDescription] characters
	RunDays     *int    // 1 to MaxRunDays; nil for as long as the tenant's
	MaxRunDays  int     // for how many days the tenant's runs are kept
	Metadata    domain.MetadataPatch
	Malformed   []domain.Violation // what was found while the request was read; reported with the rest
}

// Patch changes a workflow. A nil member stays as it is.
type Patch struct {
	Name              *string
	Description       *string
	RemoveDescription bool // takes the description away; Description is not looked at then
	RunDays           *int
	RemoveRunDays     bool // takes them away; RunDays is not looked at then
	MaxRunDays        int  // for how many days the tenant's runs are kept
	Metadata          domain.MetadataPatch
	Active            *bool
	Malformed         []domain.Violation // what was found while the request was read; reported with the rest
}

// New makes an active workflow, for a sub-tenant when sub is not empty. It
// reports every violation with the code workflow_invalid. That the name is unique in the
// tenant and sub-tenant is checked by the store.
func New(id ID, owner tenant.ID, sub tenant.SubTenantID, d Draft, now time.Time) (*Workflow, error) {
	var r domain.Rules
	r.Add(d.Malformed...)
	checkTexts(&r, d.Name, d.Description)
	checkRunDays(&r, d.RunDays, d.MaxRunDays)
	checkSubTenant(&r, sub)
	metadata := domain.Metadata{}.Revised(&r, d.Metadata)
	if err := r.Err("workflow_invalid", "The workflow is not valid."); err != nil {
		return nil, err
	}
	return &Workflow{State{
		ID: id, Tenant: owner, SubTenant: sub, Name: d.Name, Description: domain.CopyOf(d.Description), RunDays: domain.CopyOf(d.RunDays), Metadata: metadata, Active: true,
		CreatedAt: now, UpdatedAt: now, Revision: 1,
	}}, nil
}

// Restore rebuilds a workflow from what a store kept, without applying any rule.
func Restore(s State) *Workflow {
	s.Description, s.RunDays = domain.CopyOf(s.Description), domain.CopyOf(s.RunDays)
	return &Workflow{s}
}

// Facts are what the audit log says of it.
func (w *Workflow) Facts() domain.Facts { return domain.FactsOf(w.state) }

// State returns what a store has to keep.
func (w *Workflow) State() State {
	s := w.state
	s.Description, s.RunDays = domain.CopyOf(s.Description), domain.CopyOf(s.RunDays)
	return s
}

// Revise changes what the patch names. It reports every violation with the code
// workflow_invalid and changes nothing then. A patch that asks for what is so
// already does not count as an update.
func (w *Workflow) Revise(p Patch, now time.Time) error {
	next := w.State()
	domain.Set(&next.Name, p.Name)
	domain.SetOptional(&next.Description, p.Description, p.RemoveDescription)
	domain.SetOptional(&next.RunDays, p.RunDays, p.RemoveRunDays)
	domain.Set(&next.Active, p.Active)
	var r domain.Rules
	r.Add(p.Malformed...)
	checkTexts(&r, next.Name, next.Description)
	if !p.RemoveRunDays {
		checkRunDays(&r, p.RunDays, p.MaxRunDays)
	}
	next.Metadata = next.Metadata.Revised(&r, p.Metadata)
	if err := r.Err("workflow_invalid", "The workflow is not valid."); err != nil {
		return err
	}
	if next.Name != w.state.Name || next.Active != w.state.Active || !same(next.Description, w.state.Description) ||
		!same(next.RunDays, w.state.RunDays) ||
		!next.Metadata.Equal(w.state.Metadata) {
		next.UpdatedAt = now
	}
	w.state = next
	return nil
}

// Toggle makes an active workflow inactive and an inactive one active.
func (w *Workflow) Toggle(now time.Time) {
	w.state.Active, w.state.UpdatedAt = !w.state.Active, now
}

// ID identifies the workflow.
func (w *Workflow) ID() ID { return w.state.ID }

// Tenant is the owner.
func (w *Workflow) Tenant() tenant.ID { return w.state.Tenant }

// SubTenant is the segment of the tenant it belongs to, empty for none.
func (w *Workflow) SubTenant() tenant.SubTenantID { return w.state.SubTenant }

// Name is for people. It is unique among the workflows of a tenant and sub-tenant.
func (w *Workflow) Name() string { return w.state.Name }

// Description is for people, nil when none was given.
func (w *Workflow) Description() *string { return domain.CopyOf(w.state.Description) }

// Metadata is what the tenant keeps with the workflow.
func (w *Workflow) Metadata() domain.Metadata { return w.state.Metadata }

// Active says whether the workflow's triggers may fire.
func (w *Workflow) Active() bool { return w.state.Active }

// RunDays is for how many days its finished runs are kept, or the tenant's where those are fewer; nil for the tenant's.
func (w *Workflow) RunDays() *int { return domain.CopyOf(w.state.RunDays) }

// CreatedAt is when the workflow was made.
func (w *Workflow) CreatedAt() time.Time { return w.state.CreatedAt }

// UpdatedAt is when the workflow last changed.
func (w *Workflow) UpdatedAt() time.Time { return w.state.UpdatedAt }

// Revision counts the workflow's changes.
func (w *Workflow) Revision() int64 { return w.state.Revision }

// Saved notes that a store kept the changes, which raises the revision by one.
func (w *Workflow) Saved() { w.state.Revision++ }

// checkRunDays keeps a workflow to the days of its tenant, which the operator has set.
func checkRunDays(r *domain.Rules, days *int, ofTenant int) {
	if days != nil {
		r.Check(*days >= tenant.MinRunRetentionDays, "runRetentionDays", domain.TooSmall, "must be at least %d", tenant.MinRunRetentionDays)
		r.Check(*days <= ofTenant, "runRetentionDays", domain.TooLarge, "must be at most %d, for which all runs of this tenant are kept", ofTenant)
	}
}

func checkTexts(r *domain.Rules, name string, description *string) {
	r.Text(name, "name", MinName, MaxName)
	if description != nil {
		r.Text(*description, "description", 0, MaxDescription)
	}
}

func checkSubTenant(r *domain.Rules, sub tenant.SubTenantID) {
	r.Text(string(sub), "subTenantId", 0, maxSubTenant)
	for _, c := range string(sub) {
		r.Check(unicode.IsPrint(c), "subTenantId", domain.BadText, "must consist of printable characters, unlike %q", c)
	}
}

// same says whether both are absent or both hold the same value.
func same[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}
