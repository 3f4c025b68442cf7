package event

import (
	"slices"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/tenant"
)

// EndpointID identifies a webhook endpoint: "whk_" and 26 base32 characters.
type EndpointID string

// EndpointIDPrefix is what an [EndpointID] begins with, without the underscore.
const EndpointIDPrefix = "whk"

// Bounds of an endpoint.
const (
	MaxURL         = 2048 // characters
	MaxDescription = 1000 // characters

	// MaxEndpoints is how many endpoints a tenant may have, because each multiplies
	// every event.
	MaxEndpoints = 100

	// SecretOverlap is how long a secret goes on signing after a new one took its place.
	SecretOverlap = 24 * time.Hour
)

// Endpoint is an address to which the tenant has its events sent. Build one with [NewEndpoint] or [RestoreEndpoint].
type Endpoint struct{ state EndpointState }

// EndpointState is everything a store keeps of an endpoint.
type EndpointState struct {
	ID           EndpointID
	Tenant       tenant.ID
	SubTenant    tenant.SubTenantID `fact:"subTenantId"` // only events of this segment; empty for those of all
	URL          string
	Description  *string
	Metadata     domain.Metadata
	Events       []Type        // what it subscribes to; empty for every type, those of later versions too
	Active       bool          `fact:"isActive"`
	Children     bool          `fact:"includeChildren"` // events of runs that other runs started are sent as well
	Connection   connection.ID // what messages bear besides their signature; empty for none
	Secret       domain.SigningSecret
	Retired      []domain.RetiredSecret `fact:"-"` // those before it, the newest first; some may have ended
	FailingSince *time.Time             `fact:"-"` // the end of the first attempt in a row of failures; nil after a success
	Disabled     *Disabled              // when the gateway switched it off; nil when the tenant did, and while it is active
	CreatedAt    time.Time
	UpdatedAt    time.Time // when the tenant, or the gateway by switching it off, last changed it
	Revision     int64     // 1 at first; a store raises it with every update and refuses a stale one
}

// EndpointDraft is an endpoint as a client sends it.
type EndpointDraft struct {
	URL         string
	Description *string
	Events      []Type             // empty for every type
	SubTenant   tenant.SubTenantID // empty for all
	Active      *bool              // nil means true
	Children    bool               // send events of runs that other runs started as well
	Connection  connection.ID      // empty for none
	Metadata    domain.MetadataPatch
	Malformed   []domain.Violation // what was found while the request was read; reported with the rest
}

const endpointInvalid, endpointInvalidMessage = "webhook_endpoint_invalid", "The webhook endpoint is not valid."

// NewEndpoint makes an endpoint of the tenant that signs with the secret. Every
// violation is reported at once, with the code webhook_endpoint_invalid.
func NewEndpoint(id EndpointID, owner tenant.ID, d EndpointDraft, secret domain.SigningSecret, now time.Time) (*Endpoint, error) {
	s := EndpointState{
		ID: id, Tenant: owner, SubTenant: d.SubTenant, URL: d.URL, Description: d.Description, Events: d.Events,
		Active: d.Active == nil || *d.Active, Children: d.Children, Connection: d.Connection, Secret: secret, CreatedAt: now, UpdatedAt: now, Revision: 1,
	}
	var r domain.Rules
	r.Add(d.Malformed...)
	s.Metadata = s.Metadata.Revised(&r, d.Metadata)
	if err := s.check(&r); err != nil {
		return nil, err
	}
	return &Endpoint{s.clone()}, nil
}

// RestoreEndpoint rebuilds an endpoint from what a store kept, without applying any
// rule.
func RestoreEndpoint(s EndpointState) *Endpoint { return &Endpoint{s.clone()} }

// Facts are what the audit log says of it.
func (e *Endpoint) Facts() domain.Facts { return domain.FactsOf(e.state) }

// State returns what a store has to keep.
func (e *Endpoint) State() EndpointState { return e.state.clone() }

// EndpointPatch is what a client wants to change of an endpoint; nil leaves a member as
// it is.
type EndpointPatch struct {
	URL               *string
	Description       *string
	RemoveDescription bool // takes the description away; Description is not looked at then
	Events            *[]Type
	SubTenant         *tenant.SubTenantID // empty for those of all segments
	Active            *bool
	Children          *bool
	Connection        *connection.ID // empty for none
	Metadata          domain.MetadataPatch
	Malformed         []domain.Violation // what was found while the request was read; reported with the rest
}

// Revise changes the endpoint as a whole or not at all. Every violation is reported at
// once, with the code webhook_endpoint_invalid. Its failures are forgotten when it is
// activated, and when it gets another URL or connection.
func (e *Endpoint) Revise(p EndpointPatch, now time.Time) error {
	next := e.state.clone()
	domain.Set(&next.URL, p.URL)
	domain.Set(&next.Events, p.Events)
	domain.Set(&next.SubTenant, p.SubTenant)
	domain.Set(&next.Active, p.Active)
	domain.Set(&next.Children, p.Children)
	domain.Set(&next.Connection, p.Connection)
	domain.SetOptional(&next.Description, p.Description, p.RemoveDescription)
	var r domain.Rules
	r.Add(p.Malformed...)
	next.Metadata = next.Metadata.Revised(&r, p.Metadata)
	if err := next.check(&r); err != nil {
		return err
	}
	if next.Active && !e.state.Active || next.URL != e.state.URL || next.Connection != e.state.Connection {
		next.FailingSince = nil
	}
	if next.Active {
		next.Disabled = nil
	}
	next.UpdatedAt = now
	e.state = next.clone()
	return nil
}

// RotateSecret makes fresh sign from now on. The secrets before it go on signing,
// each until [SecretOverlap] after it was replaced.
func (e *Endpoint) RotateSecret(fresh domain.SigningSecret, now time.Time) {
	next := e.secrets().Rotated(fresh, SecretOverlap, now)
	e.state.Secret, e.state.Retired, e.state.UpdatedAt = next.Current, next.Retired, now
}

// SigningSecrets are the secrets that sign at a time, the current one first.
func (e *Endpoint) SigningSecrets(at time.Time) []domain.SigningSecret { return e.secrets().At(at) }

func (e *Endpoint) secrets() domain.SigningSecrets {
	return domain.SigningSecrets{Current: e.state.Secret, Retired: e.state.Retired}
}

// Wants says whether an event is sent to the endpoint: it is active, subscribes to
// the type, the event is about its segment where it has one, and about a run that another one
// started only where it wants those, too.
func (e *Endpoint) Wants(t Type, sub tenant.SubTenantID, ofChild bool) bool {
	return e.state.Active && t.Subscribable() && (e.state.Children || !ofChild) &&
		(len(e.state.Events) == 0 || slices.Contains(e.state.Events, t)) &&
		(e.state.SubTenant == "" || e.state.SubTenant == sub)
}

// ID identifies the endpoint.
func (e *Endpoint) ID() EndpointID { return e.state.ID }

// Tenant owns the endpoint.
func (e *Endpoint) Tenant() tenant.ID { return e.state.Tenant }

// SubTenant is the segment whose events the endpoint wants, empty for all.
func (e *Endpoint) SubTenant() tenant.SubTenantID { return e.state.SubTenant }

// URL is where events are sent.
func (e *Endpoint) URL() string { return e.state.URL }

// Description is for people; nil when there is none.
func (e *Endpoint) Description() *string { return domain.CopyOf(e.state.Description) }

// Metadata is what the tenant keeps with the endpoint.
func (e *Endpoint) Metadata() domain.Metadata { return e.state.Metadata }

// Events lists the types that the endpoint subscribes to, as the client sent them;
// empty for every type.
func (e *Endpoint) Events() []Type { return slices.Clone(e.state.Events) }

// Children says whether events of runs that other runs started are sent as well.
func (e *Endpoint) Children() bool { return e.state.Children }

// Connection is what messages bear besides their signature; empty for none.
func (e *Endpoint) Connection() connection.ID { return e.state.Connection }

// Active says whether events are sent to the endpoint.
func (e *Endpoint) Active() bool { return e.state.Active }

// Secret is the current secret.
func (e *Endpoint) Secret() domain.SigningSecret { return e.state.Secret }

// FailingSince is the end of the first attempt in a row of nothing but failures; nil
// after a success.
func (e *Endpoint) FailingSince() *time.Time { return domain.CopyOf(e.state.FailingSince) }

// Disabled says when and why the gateway switched the endpoint off; nil when it did not.
func (e *Endpoint) Disabled() *Disabled { return domain.CopyOf(e.state.Disabled) }

// CreatedAt is when the endpoint was made.
func (e *Endpoint) CreatedAt() time.Time { return e.state.CreatedAt }

// UpdatedAt is when the endpoint last changed.
func (e *Endpoint) UpdatedAt() time.Time { return e.state.UpdatedAt }

// Revision counts the endpoint's changes.
func (e *Endpoint) Revision() int64 { return e.state.Revision }

// Saved notes that a store kept the changes, which raises the revision by one.
func (e *Endpoint) Saved() { e.state.Revision++ }

func (s EndpointState) clone() EndpointState {
	s.Description, s.FailingSince, s.Disabled = domain.CopyOf(s.Description), domain.CopyOf(s.FailingSince), domain.CopyOf(s.Disabled)
	s.Events, s.Retired = slices.Clone(s.Events), slices.Clone(s.Retired)
	return s
}
