package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/adapters/secrets"
	"github.com/sluicehq/sluice/ports/inbound"
)

func (p *program) secretsCommand() *cobra.Command {
	return group("secrets", "Manage the encryption of secrets in the database",
		p.secretsGenerateKey(), p.secretsRotate(), p.secretsCheck(), p.secretsReplaceKey())
}

func (p *program) secretsGenerateKey() *cobra.Command {
	return &cobra.Command{
		Use: "generate-key", Short: "Print a new key for SLUICE_ENCRYPTION_KEY", Args: exactly(),
		Long: "Prints a new random key for SLUICE_ENCRYPTION_KEY or the file that SLUICE_ENCRYPTION_KEY_FILE names.\n" +
			"It changes nothing. Keep a copy where no copy of the database is.",
		RunE: func(*cobra.Command, []string) error {
			key := secrets.GenerateKey()
			if p.json {
				return p.printJSON(map[string]string{"key": key})
			}
			return p.printf("%s\n", key)
		},
	}
}

// withSecrets runs a command on the encryption of the configured database.
func (p *program) withSecrets(cmd *cobra.Command, lost bool, do func(context.Context, inbound.Secrets) error) error {
	cfg, err := readConfig(p.environ)
	if err != nil {
		return err
	}
	store, err := cfg.openUpToDate(cmd.Context())
	if err != nil {
		return err
	}
	defer closing(store, p.stderr)
	all, err := cfg.openSecretsWith(cmd.Context(), store, lost)
	if err != nil {
		return err
	}
	return do(cmd.Context(), all)
}

func (p *program) secretsRotate() *cobra.Command {
	return &cobra.Command{
		Use: "rotate", Short: "Encrypt all secrets anew with a new key", Args: exactly(),
		Long: "Adds a key to the keyset in the database, and encrypts all secrets anew with it, a few at a time, while the\n" +
			"gateway serves. Interrupted, it goes on where it was when it is called again. SLUICE_ENCRYPTION_KEY stays, or\n" +
			"changes, too: where it is NEW,OLD in all processes, the keyset is encrypted with NEW, and OLD can be left out after it.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withSecrets(cmd, false, func(ctx context.Context, all inbound.Secrets) error {
				done, err := all.Rotate(ctx, p.showRotation())
				if err != nil {
					return err
				}
				if p.json {
					return p.printJSON(map[string]int{"resealed": done.Resealed, "left": done.Left})
				}
				if done.Left > 0 {
					return p.printf("encrypted %d secrets anew; others were left as they are, see: sluice secrets check\n", done.Resealed)
				}
				return p.printf("encrypted %d secrets anew\n", done.Resealed)
			})
		},
	}
}

// showRotation shows on a terminal how far a rotation is.
func (p *program) showRotation() func(inbound.RotationProgress) {
	if p.json || !isTerminal(p.stderr) {
		return func(inbound.RotationProgress) {}
	}
	said := false
	return func(now inbound.RotationProgress) {
		if now.Resumed && !said {
			said = true
			_, _ = fmt.Fprintln(p.stderr, "Going on with a rotation that was interrupted.")
		}
		state := ""
		if now.Waiting {
			state = ", waiting until all processes have the new key"
		}
		_, _ = fmt.Fprintf(p.stderr, "\r\x1b[K%d of about %d secrets%s", now.Done, now.Total, state)
		if now.Waiting && now.Done >= now.Total {
			_, _ = fmt.Fprintln(p.stderr)
		}
	}
}

func (p *program) secretsCheck() *cobra.Command {
	return &cobra.Command{
		Use: "check", Short: "List the secrets that cannot be decrypted", Args: exactly(),
		Long: "Tries to decrypt every secret in the database, and lists those that cannot be. It fails when there are some.\n" +
			"What cannot be decrypted is repaired by the right key, or where it is by a new secret, such as\n" +
			"POST /v1/gateway/webhook-endpoints/{id}/rotate-secret gives.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withSecrets(cmd, false, func(ctx context.Context, all inbound.Secrets) error {
				found, err := all.Check(ctx)
				if err != nil {
					return err
				}
				if err := p.printChecked(found); err != nil {
					return err
				}
				if n := len(found.Unreadable); n > 0 {
					return fmt.Errorf("%d secrets cannot be decrypted", n)
				}
				return nil
			})
		},
	}
}

// shownUnreadable is how a secret that cannot be decrypted is printed as JSON.
type shownUnreadable struct {
	Tenant string `json:"tenantId,omitempty"`
	Kind   string `json:"kind"`
	Record string `json:"record"`
	Field  string `json:"field"`
	Reason string `json:"reason"`
}

func (p *program) printChecked(found inbound.SecretsChecked) error {
	unreadable := make([]shownUnreadable, len(found.Unreadable))
	for i, u := range found.Unreadable {
		unreadable[i] = shownUnreadable{string(u.Tenant), u.Kind, u.Record, u.Field, u.Reason}
	}
	if p.json {
		return p.printJSON(map[string]any{"encrypted": found.Sealed, "byOlderKey": found.Older, "inClear": found.Clear, "unreadable": unreadable})
	}
	if err := p.printf("%d secrets are encrypted with the newest key, %d with an older one, and %d are in clear\n", found.Sealed, found.Older, found.Clear); err != nil || len(unreadable) == 0 {
		return err
	}
	rows := [][]string{{"TENANT", "KIND", "RECORD", "FIELD", "REASON"}}
	for _, u := range unreadable {
		rows = append(rows, []string{u.Tenant, u.Kind, u.Record, u.Field, u.Reason})
	}
	return p.printTable(rows)
}

func (p *program) secretsReplaceKey() *cobra.Command {
	confirmed := false
	cmd := &cobra.Command{
		Use: "replace-key --give-up-secrets", Short: "Begin anew with another key after the one of the database was lost", Args: exactly(),
		Long: "Only when the key is lost for good, and all processes are stopped: what it encrypted cannot be decrypted any\n" +
			"more. The key that is configured now, or with SQLite a new key file, takes its place. Resume tokens that were\n" +
			"given out end; endpoints and node secrets stay unreadable until each gets a new secret, see: sluice secrets check",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !confirmed {
				return fmt.Errorf("%w: %s gives up all secrets; say so with --give-up-secrets", errUsage, cmd.CommandPath())
			}
			return p.withSecrets(cmd, true, func(ctx context.Context, all inbound.Secrets) error {
				if err := all.Replace(ctx); err != nil {
					return err
				}
				if p.json {
					return p.printJSON(map[string]bool{"replaced": true})
				}
				return p.printf("the key was replaced; what has to get a new secret is listed by: sluice secrets check\n")
			})
		},
	}
	cmd.Flags().BoolVar(&confirmed, "give-up-secrets", false, "confirm that all secrets in the database are given up")
	return cmd
}
