package connections

import (
	"context"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// The codes of what cannot be used. They are those of attempts, too.
const (
	codeNotFound     = "connection_not_found"
	codeInactive     = "connection_inactive"
	codeNeedsConsent = "connection_needs_consent"
)

// Credentials implements outbound.Credentials.
type Credentials struct {
	work   outbound.UnitOfWork
	tokens *Tokens
}

var _ outbound.Credentials = (*Credentials)(nil)

// NewCredentials returns what gives out credentials.
func NewCredentials(work outbound.UnitOfWork, tokens *Tokens) *Credentials {
	return &Credentials{work, tokens}
}

// Credential returns what a call bears now.
func (s *Credentials) Credential(ctx context.Context, of outbound.CredentialUse) (connection.Credential, error) {
	c, err := s.find(ctx, of)
	if err != nil {
		return connection.Credential{}, err
	}
	if made, ok := c.Credential(); ok {
		return made, nil
	}
	token, err := s.tokens.Token(ctx, c, of.Refused)
	if err != nil {
		return connection.Credential{}, err
	}
	return c.CredentialOf(token), nil
}

// find returns a connection that the use may be made of.
func (s *Credentials) find(ctx context.Context, of outbound.CredentialUse) (c *connection.Connection, err error) {
	if !domain.ValidIdentifier(string(of.Connection), connection.IDPrefix) {
		return nil, notFound()
	}
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		c, err = st.Connections.Get(ctx, tenant.All(of.Tenant), of.Connection)
		return err
	})
	switch {
	case err != nil && domain.KindOf(err) == domain.NotFound, err == nil && !c.Serves(of.SubTenant):
		return nil, notFound()
	case err != nil:
		return nil, err
	case !c.Active():
		return nil, domain.Fail(domain.Conflict, codeInactive, "The connection %s is switched off.", c.ID())
	}
	return c, nil
}

// notFound is the same for a connection that does not exist and one that serves others.
func notFound() error {
	return domain.Fail(domain.NotFound, codeNotFound, "There is no connection of this id that the sub-tenant may use.")
}
