package tenant

import (
	"time"

	"github.com/sluicehq/sluice/domain"
)

// ID identifies a tenant: "tenant_" and 26 base32 characters.
type ID string

// SubTenantID names a segment of a tenant. The tenant chooses it, 1 to 255
// characters.
type SubTenantID string

// The prefixes of this package's identifiers.
const (
	IDPrefix           = "tenant"
	KeyIDPrefix        = "key"
	EmbedTokenIDPrefix = "emb" // of a [KeyID], too
)

// Bounds of a tenant's name, in characters.
const (
	MinName = 1
	MaxName = 255
)

// Status says whether a tenant's keys are accepted.
type Status string

// The statuses of a tenant.
const (
	Active    Status = "active"
	Suspended Status = "suspended" // every request is answered as if the key were unknown
)

// Tenant is a customer of the gateway. Build one with [New] or [Restore].
type Tenant struct{ state State }

// State is everything a store keeps of a tenant.
type State struct {
	ID        ID
	Name      string
	Status    Status
	Settings  Settings        `fact:"+"`
	Metadata  domain.Metadata // the operator's
	CreatedAt time.Time
	UpdatedAt time.Time
	Revision  int64 // 1 at first; a store raises it with every update and refuses a stale one
}

// Draft is what a tenant is made of.
type Draft struct {
	Name             string
	Language         *Language // nil means [English]
	Quotas           map[KeyType]QuotaPatch
	RunRetentionDays *int // how many days finished runs are kept; nil for as many as the gateway keeps them
	Budgets          map[BudgetName]BudgetPatch
	Metadata         domain.MetadataPatch
	Malformed        []domain.Violation // what was found while the request was read; reported with the rest
}

// New makes an active tenant of a draft. Every violation is reported at once, with
// the code tenant_invalid.
func New(id ID, d Draft, now time.Time) (*Tenant, error) {
	t := &Tenant{State{ID: id, Status: Active, Settings: Settings{Language: English}, CreatedAt: now, Revision: 1}}
	first := Patch{Name: &d.Name, Language: d.Language, Quotas: d.Quotas, RunRetentionDays: d.RunRetentionDays, Budgets: d.Budgets, Metadata: d.Metadata, Malformed: d.Malformed}
	if err := t.Revise(first, now); err != nil {
		return nil, err
	}
	return t, nil
}

// Restore rebuilds a tenant from what a store kept, without applying any rule.
func Restore(s State) *Tenant {
	s.Settings = s.Settings.clone()
	return &Tenant{s}
}

// Facts are what the audit log says of it.
func (t *Tenant) Facts() domain.Facts { return domain.FactsOf(t.state) }

// State returns what a store has to keep.
func (t *Tenant) State() State {
	s := t.state
	s.Settings = s.Settings.clone()
	return s
}

// ID identifies the tenant.
func (t *Tenant) ID() ID { return t.state.ID }

// Name is for people.
func (t *Tenant) Name() string { return t.state.Name }

// Status says whether the tenant's keys are accepted.
func (t *Tenant) Status() Status { return t.state.Status }

// Settings are the tenant's choices.
func (t *Tenant) Settings() Settings { return t.state.Settings.clone() }

// Metadata is what the operator keeps with the tenant.
func (t *Tenant) Metadata() domain.Metadata { return t.state.Metadata }

// CreatedAt is when the tenant was made.
func (t *Tenant) CreatedAt() time.Time { return t.state.CreatedAt }

// UpdatedAt is when the tenant last changed.
func (t *Tenant) UpdatedAt() time.Time { return t.state.UpdatedAt }

// Revision counts the tenant's changes.
func (t *Tenant) Revision() int64 { return t.state.Revision }

// Saved notes that a store kept the changes, which raises the revision by one.
func (t *Tenant) Saved() { t.state.Revision++ }

// Suspend stops accepting the tenant's keys. A suspended tenant stays as it is.
func (t *Tenant) Suspend(now time.Time) { t.become(Suspended, now) }

// Resume accepts the tenant's keys again. An active tenant stays as it is.
func (t *Tenant) Resume(now time.Time) { t.become(Active, now) }

func (t *Tenant) become(s Status, now time.Time) {
	if t.state.Status != s {
		t.state.Status, t.state.UpdatedAt = s, now
	}
}

func checkName(r *domain.Rules, name string) { r.Text(name, "name", MinName, MaxName) }
