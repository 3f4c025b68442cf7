package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/application/audit"
	"github.com/sluicehq/sluice/ports/inbound"
)

// operatorPorts are what the operator's commands call. They work on the database itself,
// with or without a running server.
type operatorPorts struct {
	Tenants    inbound.Tenants
	Keys       inbound.APIKeys
	Workflows  inbound.Workflows
	Versions   inbound.Versions
	Publishing inbound.Publishing
	Triggers   inbound.Triggers
	Audit      inbound.AuditChains
	Usage      inbound.UsageVerification

	Users       inbound.Users
	Memberships inbound.Memberships
}

// operate runs one command of the operator on the configured database.
func (p *program) operate(cmd *cobra.Command, do func(context.Context, operatorPorts) error) error {
	cfg, err := readConfig(p.environ)
	if err != nil {
		return err
	}
	store, err := cfg.openMigrated(cmd.Context())
	if err != nil {
		return err
	}
	defer closing(store, p.stderr)
	changed := false
	store.OnAudited(func() { changed = true })
	err = do(cmd.Context(), newOperatorPorts(store, cfg.letters(cfg.publicURL())))
	if changed { // nobody else learns of it; what is not sealed now, a gateway finds a few seconds later
		_ = audit.NewSealer(store, system.Clock{}, audit.Retention(cfg.AuditRetention)).Seal(cmd.Context())
	}
	return err
}
