package trigger

import (
	"slices"
	"strings"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
)

// ID identifies a trigger: "trg_" and 26 base32 characters.
type ID string

// IDPrefix is what an [ID] begins with, without the underscore.
const IDPrefix = "trg"

// Bounds of a trigger's name, in characters.
const (
	MinName = 1
	MaxName = 255
)

// Type says what fires a trigger.
type Type string

// The types of trigger.
const (
	Scheduled Type = "schedule" // its schedule
	Webhook   Type = "webhook"  // a call to the API
)

// Types lists every type.
func Types() []Type { return []Type{Scheduled, Webhook} }

// Valid says whether t is a type that exists.
func (t Type) Valid() bool { return t == Scheduled || t == Webhook }

// Trigger starts runs of the workflow version it is attached to. Build one with
// [New] or [Restore].
type Trigger struct{ state State }

// State is everything a store keeps of a trigger.
type State struct {
	ID        ID
	Tenant    tenant.ID
	SubTenant tenant.SubTenantID `fact:"subTenantId"` // that of the workflow; empty when it belongs to the tenant as a whole
	Version   workflow.VersionID `fact:"workflowVersionId"`
	Name      string
	Type      Type
	Config    Config
	Metadata  domain.Metadata
	Active    bool `fact:"isActive"`
	// ActivatedAt is when the schedule took effect: the creation, the last activation
	// or the last change of the cron expression, interval or zone, whichever is last.
	// Nothing is due before or at it, and intervals are counted from it.
	ActivatedAt time.Time  `fact:"-"`
	LeftAt      *time.Time `fact:"-"` // since when it cannot fire because its version is not the active one any more; nil for a trigger that is not left behind
	CreatedAt   time.Time
	UpdatedAt   time.Time
	Revision    int64 // 1 at first; a store raises it with every update and refuses a stale one
}

// Draft is a trigger as a client sends it.
type Draft struct {
	Version   workflow.VersionID // the version to attach it to; a draft will do
	Name      string             // 1 to 255 characters
	Type      Type
	Config    *domain.Document // required; may be the empty object
	Active    *bool            // nil means true
	Metadata  domain.MetadataPatch
	Malformed []domain.Violation // what was found while the request was read; reported with the rest
}

// References is what a trigger refers to and does not hold itself.
type References struct {
	VersionExists bool               // whether the tenant has the version that is named
	SubTenant     tenant.SubTenantID // that of the version
	Settings      tenant.Settings    // of the tenant: which events it knows
}

const invalid, invalidMessage = "trigger_invalid", "The trigger is not valid."

// New makes a trigger of the tenant. Every violation is reported at once, with the
// code trigger_invalid and the client's field paths; a member about which something
// was found while the request was read is not reported as missing as well.
func New(id ID, owner tenant.ID, around References, d Draft, now time.Time) (*Trigger, error) {
	var r domain.Rules
	r.Add(d.Malformed...)
	if !reported(&r, "workflowVersionId") {
		if d.Version == "" {
			r.Check(false, "workflowVersionId", domain.Required, "must not be empty")
		} else {
			r.Check(around.VersionExists, "workflowVersionId", domain.Unknown, "does not exist; it must be the id of one of your workflow versions")
		}
	}
	if !reported(&r, "name") {
		r.Text(d.Name, "name", MinName, MaxName)
	}
	if !reported(&r, "type") {
		checkType(&r, d.Type)
	}
	var config Config
	if d.Config != nil {
		config = readConfig(&r, *d.Config, d.Type, around.Settings)
	} else if !reported(&r, "config") {
		r.Check(false, "config", domain.Required, "must be given; it may be an empty object")
	}
	metadata := domain.Metadata{}.Revised(&r, d.Metadata)
	if err := r.Err(invalid, invalidMessage); err != nil {
		return nil, err
	}
	return &Trigger{State{
		ID: id, Tenant: owner, SubTenant: around.SubTenant, Version: d.Version, Name: d.Name, Type: d.Type, Config: config,
		Metadata: metadata, Active: d.Active == nil || *d.Active, ActivatedAt: now, CreatedAt: now, UpdatedAt: now, Revision: 1,
	}}, nil
}

// Restore rebuilds a trigger from what a store kept, without applying any rule.
func Restore(s State) *Trigger { return &Trigger{s} }

// Facts are what the audit log says of it.
func (t *Trigger) Facts() domain.Facts { return domain.FactsOf(t.state) }

// State returns what a store has to keep.
func (t *Trigger) State() State { return t.state }

// ID identifies the trigger.
func (t *Trigger) ID() ID { return t.state.ID }

// Tenant owns the trigger.
func (t *Trigger) Tenant() tenant.ID { return t.state.Tenant }

// SubTenant is the segment of the tenant that the workflow belongs to, empty for none.
func (t *Trigger) SubTenant() tenant.SubTenantID { return t.state.SubTenant }

// Version is the workflow version the trigger is attached to.
func (t *Trigger) Version() workflow.VersionID { return t.state.Version }

// Name is for people.
func (t *Trigger) Name() string { return t.state.Name }

// Type says what fires the trigger.
func (t *Trigger) Type() Type { return t.state.Type }

// Config is what the client configured.
func (t *Trigger) Config() Config { return t.state.Config }

// Metadata is what the tenant keeps with the trigger.
func (t *Trigger) Metadata() domain.Metadata { return t.state.Metadata }

// Schedule returns when the trigger is due while it is active; ok is false when it
// never is: a trigger of type webhook ignores what its configuration says about schedules.
func (t *Trigger) Schedule() (s Schedule, ok bool) {
	if t.state.Type != Scheduled {
		return Schedule{}, false
	}
	return t.state.Config.Schedule(t.state.ActivatedAt)
}

// Event is the name of the event that fires the trigger; ok is false when none does:
// a trigger of type schedule ignores what its configuration says about events.
func (t *Trigger) Event() (name string, ok bool) {
	if t.state.Type != Webhook {
		return "", false
	}
	return t.state.Config.Event()
}

// Active says whether the trigger may fire.
func (t *Trigger) Active() bool { return t.state.Active }

// ActivatedAt is when the schedule took effect: the creation, the last activation
// or the last change of when it is due.
func (t *Trigger) ActivatedAt() time.Time { return t.state.ActivatedAt }

// CreatedAt is when the trigger was made.
func (t *Trigger) CreatedAt() time.Time { return t.state.CreatedAt }

// UpdatedAt is when the trigger last changed.
func (t *Trigger) UpdatedAt() time.Time { return t.state.UpdatedAt }

// Revision counts the trigger's changes.
func (t *Trigger) Revision() int64 { return t.state.Revision }

// Saved notes that a store kept the changes, which raises the revision by one.
func (t *Trigger) Saved() { t.state.Revision++ }

// Patch is what a client wants to change of a trigger; nil leaves a member as it
// is. The type never changes.
type Patch struct {
	Name      *string
	Target    *Target
	Config    *domain.Document
	Active    *bool
	Metadata  domain.MetadataPatch
	Malformed []domain.Violation // what was found while the request was read; reported with the rest
}

// Target is the version that a trigger is to be attached to.
type Target struct {
	Version      workflow.VersionID
	Exists       bool // the tenant has it
	SameWorkflow bool // it belongs to the trigger's workflow
}

func (t Target) check(r *domain.Rules) {
	const field = "workflowVersionId"
	switch {
	case r.Broken(field):
	case t.Version == "":
		r.Check(false, field, domain.Required, "must not be empty")
	default:
		r.Check(t.Exists, field, domain.Unknown, "does not exist; it must be the id of one of your workflow versions")
		r.Check(t.SameWorkflow, field, domain.NotAllowed, "must be a version of the workflow that the trigger belongs to")
	}
}

// Revise changes the trigger as a whole or not at all. Every violation is reported
// at once, with the code trigger_invalid. Activating an inactive trigger, and changing
// when it is due, makes its schedule begin anew; attaching it to another version does not.
func (t *Trigger) Revise(p Patch, settings tenant.Settings, now time.Time) error {
	next := t.state
	var r domain.Rules
	r.Add(p.Malformed...)
	if p.Name != nil {
		next.Name = *p.Name
		r.Text(next.Name, "name", MinName, MaxName)
	}
	if p.Config != nil {
		next.Config = readConfig(&r, *p.Config, next.Type, settings)
	}
	domain.Set(&next.Active, p.Active)
	if p.Target != nil && p.Target.Version != t.state.Version {
		p.Target.check(&r)
		next.Version, next.LeftAt = p.Target.Version, nil
	}
	next.Metadata = next.Metadata.Revised(&r, p.Metadata)
	if err := r.Err(invalid, invalidMessage); err != nil {
		return err
	}
	if next.Name != t.state.Name || next.Version != t.state.Version || !next.Metadata.Equal(t.state.Metadata) || next.Active != t.state.Active || !next.Config.Equal(t.state.Config) {
		next.UpdatedAt = now
	}
	if next.Active && !t.state.Active || !next.Config.sameTimes(t.state.Config) {
		next.ActivatedAt = now
	}
	t.state = next
	return nil
}

// reported says whether something was found about a top-level member, about what it
// holds, or about the request as a whole.
func reported(r *domain.Rules, field string) bool {
	return slices.ContainsFunc(r.Violations(), func(v domain.Violation) bool {
		inside, below := strings.CutPrefix(v.Field, field)
		return v.Field == "" || below && (inside == "" || inside[0] == '.' || inside[0] == '[')
	})
}

func checkType(r *domain.Rules, t Type) {
	switch {
	case t.Valid():
	case t == "":
		r.Check(false, "type", domain.Required, "must be %s", domain.OneOf(Types()...))
	default:
		r.Check(false, "type", domain.NotAllowed, "must be %s, not %q", domain.OneOf(Types()...), string(t))
	}
}

// readConfig reads a configuration and, where the trigger listens for one, checks
// its event against those that the tenant knows. What a configuration holds that is already reported as a whole is not
// reported as well.
func readConfig(r *domain.Rules, doc domain.Document, t Type, settings tenant.Settings) Config {
	c, found := ParseConfig(doc)
	if r.Broken("config") || r.Broken("") {
		return c
	}
	r.Add(found...)
	if event, ok := c.Event(); ok && t != Scheduled && !settings.KnowsEvent(event) {
		r.Check(false, "config.webhookConfig.event", domain.Unknown, "must be one of the events in your settings; there is no %q", event)
	}
	return c
}
