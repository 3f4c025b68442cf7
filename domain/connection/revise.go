package connection

import (
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// Patch is what a client wants to change; nil leaves a member as it is.
type Patch struct {
	Name   *string
	Hosts  *[]string
	Secret map[string]any // takes the place of all members; [Redacted] keeps the stored one
	Shared *bool
	Active *bool

	// Members that never change. Sending them as they are is no change.
	Kind      *Kind
	SubTenant *tenant.SubTenantID

	Metadata  domain.MetadataPatch
	Malformed []domain.Violation // what was found while the request was read; reported with the rest
}

// Revise changes the connection as a whole or not at all. Every violation is reported at
// once, with the code connection_invalid. Other hosts need the secret again: who may change
// hosts but does not know the secret could have it sent elsewhere otherwise.
func (c *Connection) Revise(p Patch, ascii ToASCII, now time.Time) error {
	next := c.state
	domain.Set(&next.Name, p.Name)
	domain.Set(&next.Shared, p.Shared)
	domain.Set(&next.Active, p.Active)
	var r domain.Rules
	r.Add(p.Malformed...)
	r.Check(p.Kind == nil || *p.Kind == next.Kind, kindField, domain.NotAllowed, "cannot be changed: make another connection")
	r.Check(p.SubTenant == nil || *p.SubTenant == next.SubTenant, "subTenantId", domain.NotAllowed, "cannot be changed: make another connection")
	if p.Secret != nil {
		next.Secret = readSecret(&r, next.Kind, p.Secret, c.state.Secret)
	}
	if p.Hosts != nil {
		next.Hosts = readHosts(&r, *p.Hosts, ascii)
		if !next.Hosts.sameAs(c.state.Hosts) {
			r.Check(p.Secret != nil && next.Secret.renews(p.Secret), secretField, domain.Required,
				"must be given again, in clear, with other hosts")
		}
	}
	next.Metadata = next.Metadata.Revised(&r, p.Metadata)
	if err := next.check(&r, ascii); err != nil {
		return err
	}
	next.UpdatedAt = now
	c.state = next
	return nil
}
