// Package templates implements inbound.Templates: the workflows that new ones can begin as.
package templates

import (
	"cmp"
	"context"
	"slices"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/template"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Service implements inbound.Templates.
type Service struct {
	directory outbound.Directory
}

var _ inbound.Templates = (*Service)(nil)

// New returns the service.
func New(directory outbound.Directory) *Service { return &Service{directory} }

// List returns what the caller can begin with.
func (s *Service) List(ctx context.Context, who tenant.Caller) ([]template.Template, error) {
	if err := who.May(tenant.ReadTemplates); err != nil {
		return nil, err
	}
	registry, err := s.directory.Registry(ctx, who.Tenant())
	if err != nil {
		return nil, err
	}
	return template.All(cmp.Or(who.Narrowing.Language, who.Settings.Language), registry.For(who)), nil
}

// Get returns one of them.
func (s *Service) Get(ctx context.Context, who tenant.Caller, id template.ID) (template.Template, error) {
	all, err := s.List(ctx, who)
	if err != nil {
		return template.Template{}, err
	}
	i := slices.IndexFunc(all, func(t template.Template) bool { return t.ID == id })
	if i < 0 {
		return template.Template{}, domain.Fail(domain.NotFound, "template_not_found", "There is no such template.")
	}
	return all[i], nil
}
