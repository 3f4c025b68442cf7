package connection

import (
	"slices"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// ID identifies a connection: "conn_" and 26 base32 characters.
type ID string

// IDPrefix is what an [ID] begins with, without the underscore.
const IDPrefix = "conn"

// Bounds of a connection.
const (
	MaxName  = 255 // characters
	MaxHosts = 50

	// MaxConnections is how many a tenant may have, those of its sub-tenants included.
	MaxConnections = 10_000
)

// Connection is a credential that the tenant keeps for its workflows, with the hosts that
// it may be sent to. Build one with [New] or [Restore].
type Connection struct{ state State }

// State is everything a store keeps of a connection.
type State struct {
	ID        ID
	Tenant    tenant.ID
	SubTenant tenant.SubTenantID `fact:"subTenantId"` // whose workflows it serves; empty for those of none
	Name      string
	Kind      Kind
	Hosts     Hosts // empty only for HMAC
	Secret    Secret
	Shared    bool // serves workflows of every sub-tenant; only without a SubTenant
	Active    bool `fact:"isActive"`
	Metadata  domain.Metadata
	CreatedAt time.Time
	UpdatedAt time.Time
	Revision  int64 // 1 at first; a store raises it with every update and refuses a stale one
}

// Draft is a connection as a client sends it.
type Draft struct {
	Name      string
	Kind      Kind
	Hosts     []string       // as [ParseHostPattern] reads them
	Secret    map[string]any // the members of the kind, a JSON object; nil when it is absent
	SubTenant tenant.SubTenantID
	Shared    bool
	Active    *bool // nil means true
	Metadata  domain.MetadataPatch
	Malformed []domain.Violation // what was found while the request was read; reported with the rest
}

const invalid, invalidMessage = "connection_invalid", "The connection is not valid."

// New makes a connection of the tenant. Every violation is reported at once, with the code
// connection_invalid; none repeats a secret.
func New(id ID, owner tenant.ID, d Draft, ascii ToASCII, now time.Time) (*Connection, error) {
	s := State{
		ID: id, Tenant: owner, SubTenant: d.SubTenant, Name: d.Name, Kind: d.Kind, Shared: d.Shared,
		Active: d.Active == nil || *d.Active, CreatedAt: now, UpdatedAt: now, Revision: 1,
	}
	var r domain.Rules
	r.Add(d.Malformed...)
	if r.Check(d.Kind != "", kindField, domain.Required, "must be given"); !r.Broken(kindField) {
		r.Check(d.Kind.Valid(), kindField, domain.NotAllowed, "must be %s", domain.OneOf(Kinds()...))
	}
	s.Hosts = readHosts(&r, d.Hosts, ascii)
	if d.Kind.Valid() && !r.Broken(secretField) {
		if r.Check(d.Secret != nil, secretField, domain.Required, "must be given"); d.Secret != nil {
			s.Secret = readSecret(&r, d.Kind, d.Secret, Secret{})
		}
	}
	s.Metadata = s.Metadata.Revised(&r, d.Metadata)
	if err := s.check(&r, ascii); err != nil {
		return nil, err
	}
	return &Connection{s}, nil
}

const kindField, hostsField = "kind", "hosts"

// Restore rebuilds a connection from what a store kept, without applying any rule.
func Restore(s State) *Connection { return &Connection{s} }

// Facts are what the audit log says of it.
func (c *Connection) Facts() domain.Facts { return domain.FactsOf(c.state) }

// State returns what a store has to keep.
func (c *Connection) State() State { return c.state }

// readHosts reads patterns. Those that are wrong are recorded in r.
func readHosts(r *domain.Rules, texts []string, ascii ToASCII) Hosts {
	r.Check(len(texts) <= MaxHosts, hostsField, domain.TooLong, "must be at most %d hosts, not %d", MaxHosts, len(texts))
	if r.Broken(hostsField) {
		return nil
	}
	hosts := make(Hosts, 0, len(texts))
	for i, text := range texts {
		at := domain.Index(hostsField, i)
		if r.Broken(at) {
			continue // it is no text at all
		}
		p, err := ParseHostPattern(text, ascii)
		if err != nil {
			r.Check(false, at, domain.BadFormat, "%s", err)
			continue
		}
		if r.Check(!slices.Contains(hosts, p), at, domain.Duplicate, "names %s a second time", p); r.Broken(at) {
			continue
		}
		hosts = append(hosts, p)
	}
	return hosts
}

// check reports every broken rule, after what was found while hosts and secret were read.
func (s State) check(r *domain.Rules, ascii ToASCII) error {
	r.Text(s.Name, "name", 1, MaxName)
	if s.SubTenant != "" {
		s.SubTenant.Check(r, "subTenantId")
	}
	r.Check(!s.Shared || s.SubTenant == "", "shared", domain.Conflicting, "must be left out next to subTenantId: it opens a connection of the tenant to all its sub-tenants")
	if s.Kind.Valid() && len(s.Hosts) == 0 && !anyBroken(r, hostsField) {
		r.Check(s.Kind == HMAC, hostsField, domain.Required, "must name the hosts that the secret may be sent to")
	}
	if u := s.Secret.tokenURL(); u != nil && len(s.Hosts) > 0 {
		t, ok := TargetOf(u, ascii)
		r.Check(ok && s.Hosts.Cover(t), domain.Member(secretField, tokenURLMember), domain.NotAllowed, "must be at one of the hosts")
	}
	return r.Err(invalid, invalidMessage)
}

// anyBroken says whether something was recorded of an array or its elements.
func anyBroken(r *domain.Rules, field string) bool {
	return slices.ContainsFunc(r.Violations(), func(v domain.Violation) bool {
		return v.Field == field || len(v.Field) > len(field) && v.Field[:len(field)+1] == field+"["
	})
}

// Serves says whether workflows of a sub-tenant, empty for none, may use the connection.
func (c *Connection) Serves(sub tenant.SubTenantID) bool {
	return c.state.SubTenant == sub || c.state.SubTenant == "" && c.state.Shared
}

// ID identifies the connection.
func (c *Connection) ID() ID { return c.state.ID }

// Tenant owns the connection.
func (c *Connection) Tenant() tenant.ID { return c.state.Tenant }

// SubTenant is the sub-tenant that it belongs to, empty for none.
func (c *Connection) SubTenant() tenant.SubTenantID { return c.state.SubTenant }

// Name is for people.
func (c *Connection) Name() string { return c.state.Name }

// Kind says how it authenticates.
func (c *Connection) Kind() Kind { return c.state.Kind }

// Hosts are the hosts that the secret may be sent to.
func (c *Connection) Hosts() Hosts { return slices.Clone(c.state.Hosts) }

// Secret is what it authenticates with.
func (c *Connection) Secret() Secret { return c.state.Secret }

// Shared says whether it serves workflows of every sub-tenant.
func (c *Connection) Shared() bool { return c.state.Shared }

// Active says whether it may be used.
func (c *Connection) Active() bool { return c.state.Active }

// Metadata is what the tenant keeps with the connection.
func (c *Connection) Metadata() domain.Metadata { return c.state.Metadata }

// CreatedAt is when the connection was made.
func (c *Connection) CreatedAt() time.Time { return c.state.CreatedAt }

// UpdatedAt is when the connection last changed.
func (c *Connection) UpdatedAt() time.Time { return c.state.UpdatedAt }

// Revision counts the connection's changes.
func (c *Connection) Revision() int64 { return c.state.Revision }

// Saved notes that a store kept the changes, which raises the revision by one.
func (c *Connection) Saved() { c.state.Revision++ }
