package main

import (
	"context"

	"github.com/spf13/cobra"

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
	return do(cmd.Context(), newOperatorPorts(store, cfg.letters(cfg.publicURL())))
}
