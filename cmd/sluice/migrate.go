package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/adapters/sqlstore"
)

func (p *program) migrateCommand() *cobra.Command {
	return group("migrate", "Bring the schema of the database up to date", p.migrateUp(), p.migrateStatus())
}

func (p *program) withStore(ctx context.Context, do func(*sqlstore.Store) error) error {
	cfg, err := readConfig(p.environ)
	if err != nil {
		return err
	}
	store, err := cfg.open(ctx)
	if err != nil {
		return err
	}
	defer closing(store, p.stderr)
	return do(store)
}

func (p *program) migrateUp() *cobra.Command {
	return &cobra.Command{
		Use: "up", Short: "Apply the pending migrations", Args: exactly(),
		Long: "Applies the pending migrations, one after the other. Each is kept once it is done: interrupted, it goes on when it is\n" +
			"called again. Meanwhile sluice migrate status shows how far it is.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withStore(cmd.Context(), func(store *sqlstore.Store) error {
				if err := p.showPending(cmd.Context(), store); err != nil {
					return err
				}
				applied, err := store.Migrator().Up(cmd.Context())
				if p.json {
					return errors.Join(err, p.printJSON(statusJSON(applied)))
				}
				for _, m := range applied {
					if err := p.printf("applied %s\n", m.Name); err != nil {
						return err
					}
				}
				if err == nil && len(applied) == 0 {
					return p.printf("nothing to do: the schema is up to date\n")
				}
				return err
			})
		},
	}
}

// showPending says on a terminal what is about to be applied.
func (p *program) showPending(ctx context.Context, store *sqlstore.Store) error {
	if p.json || !isTerminal(p.stderr) {
		return nil
	}
	all, err := store.Migrator().Status(ctx)
	if err != nil {
		return err
	}
	pending := slices.DeleteFunc(all, func(m sqlstore.Migration) bool { return m.AppliedAt != nil })
	if len(pending) > 0 {
		_, _ = fmt.Fprintf(p.stderr, "applying %d migrations, from %s to %s\n", len(pending), pending[0].Name, pending[len(pending)-1].Name)
	}
	return nil
}

func (p *program) migrateStatus() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "List the migrations and when they were applied", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withStore(cmd.Context(), func(store *sqlstore.Store) error {
				all, err := store.Migrator().Status(cmd.Context())
				if err != nil {
					return err
				}
				if p.json {
					return p.printJSON(statusJSON(all))
				}
				rows := [][]string{{"MIGRATION", "APPLIED"}}
				for _, m := range all {
					at := "pending"
					if m.AppliedAt != nil {
						at = shown((*instant)(m.AppliedAt))
					}
					rows = append(rows, []string{m.Name, at})
				}
				return p.printTable(rows)
			})
		},
	}
}

// shownMigration is how a migration is printed as JSON.
type shownMigration struct {
	Version   int64    `json:"version"`
	Name      string   `json:"name"`
	AppliedAt *instant `json:"appliedAt,omitempty"`
}

func statusJSON(all []sqlstore.Migration) []shownMigration {
	out := []shownMigration{}
	for _, m := range all {
		out = append(out, shownMigration{Version: m.Version, Name: m.Name, AppliedAt: (*instant)(m.AppliedAt)})
	}
	return out
}
