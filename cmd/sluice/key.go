package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
)

func (p *program) keyCommand() *cobra.Command {
	var owner string
	cmd := group("key", "Create and manage the API keys of a tenant",
		p.keyCreate(&owner), p.keyList(&owner), p.keyRotate(&owner), p.keyRevoke(&owner))
	cmd.PersistentFlags().StringVar(&owner, "tenant", "", "id of the tenant (required)")
	return cmd
}

// operateFor runs a command of the operator on behalf of a tenant that exists.
func (p *program) operateFor(cmd *cobra.Command, owner string, do func(context.Context, operatorPorts, tenant.Caller) error) error {
	if owner == "" {
		return fmt.Errorf("%w: %s needs --tenant", errUsage, cmd.CommandPath())
	}
	return p.operate(cmd, func(ctx context.Context, op operatorPorts) error {
		ten, err := op.Tenants.Get(ctx, tenant.ID(owner))
		if err != nil {
			return err
		}
		return do(ctx, op, tenant.Operator(ten.ID()))
	})
}

// shownKey is how a key is printed as JSON. Key is its text, which only the command
// that made it prints.
type shownKey struct {
	ID         tenant.KeyID   `json:"id"`
	Type       tenant.KeyType `json:"type"`
	Name       string         `json:"name"`
	LastFour   string         `json:"lastFour"`
	Key        string         `json:"key,omitempty"`
	CreatedAt  instant        `json:"createdAt"`
	LastUsedAt *instant       `json:"lastUsedAt,omitempty"`
	ExpiresAt  *instant       `json:"expiresAt,omitempty"`
	RevokedAt  *instant       `json:"revokedAt,omitempty"`
}

func showKey(k *tenant.APIKey) shownKey {
	return shownKey{
		ID: k.ID(), Type: k.Type(), Name: k.Name(), LastFour: k.LastFour(), CreatedAt: instant(k.CreatedAt()),
		LastUsedAt: (*instant)(k.LastUsedAt()), ExpiresAt: (*instant)(k.ExpiresAt()), RevokedAt: (*instant)(k.RevokedAt()),
	}
}

func (p *program) printIssued(issued inbound.IssuedKey) error {
	s := showKey(issued.Key)
	s.Key = issued.Text.Reveal()
	if p.json {
		return p.printJSON(s)
	}
	return p.printf("%s key %s\n\n  %s\n\nKeep it now: it cannot be shown again.\n", s.Type, s.ID, s.Key)
}

func (p *program) keyCreate(owner *string) *cobra.Command {
	var d tenant.KeyDraft
	var validFor time.Duration
	var sub string
	var permissions []string
	cmd := &cobra.Command{
		Use: "create --tenant TENANT", Short: "Create a key and print it, once", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if validFor < 0 {
				return fmt.Errorf("%w: --valid-for must not be negative", errUsage)
			}
			if sub != "" {
				d.Narrowing.SubTenant = (*tenant.SubTenantID)(&sub)
			}
			for _, right := range permissions {
				d.Narrowing.Rights = append(d.Narrowing.Rights, tenant.Right(right))
			}
			if validFor > 0 {
				end := time.Now().UTC().Add(validFor).Truncate(time.Millisecond)
				d.ExpiresAt = &end
			}
			return p.operateFor(cmd, *owner, func(ctx context.Context, op operatorPorts, who tenant.Caller) error {
				issued, err := op.Keys.Issue(ctx, who, domain.IdempotencyKey{}, d)
				if err != nil {
					return err
				}
				return p.printIssued(issued)
			})
		},
	}
	cmd.Flags().StringVar((*string)(&d.Type), "type", string(tenant.Secret), "type of the key: public or secret")
	cmd.Flags().StringVar(&d.Name, "name", "", "name of the key, for people")
	cmd.Flags().StringVar(&sub, "sub-tenant", "", "the only sub-tenant whose records the key reaches (default: all of the tenant)")
	cmd.Flags().StringSliceVar(&permissions, "permission", nil, "what the key may do, such as runs:read; may be repeated (default: all that its type may do)")
	cmd.Flags().DurationVar(&validFor, "valid-for", 0, "how long the key is accepted, such as 720h (default: without end)")
	return cmd
}

func (p *program) keyList(owner *string) *cobra.Command {
	var limit, offset int
	cmd := &cobra.Command{
		Use: "list --tenant TENANT", Short: "List the keys of a tenant, the newest first", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			page, err := domain.NewPageRequest(limit, offset)
			if err != nil {
				return fmt.Errorf("%w: %s", errUsage, explain(err))
			}
			return p.operateFor(cmd, *owner, func(ctx context.Context, op operatorPorts, who tenant.Caller) error {
				found, err := op.Keys.List(ctx, who, page)
				if err != nil {
					return err
				}
				if p.json {
					return p.printJSON(pageOf(found, showKey))
				}
				rows := [][]string{{"KEY", "TYPE", "ENDS IN", "NAME", "CREATED", "LAST USED", "EXPIRES", "REVOKED"}}
				for _, k := range found.Items {
					s := showKey(k)
					rows = append(rows, []string{
						string(s.ID), string(s.Type), s.LastFour, s.Name, shown(&s.CreatedAt),
						shown(s.LastUsedAt), shown(s.ExpiresAt), shown(s.RevokedAt),
					})
				}
				return p.printTable(rows)
			})
		},
	}
	pageFlags(cmd, &limit, &offset)
	return cmd
}

func (p *program) keyRotate(owner *string) *cobra.Command {
	var grace time.Duration
	cmd := &cobra.Command{
		Use: "rotate KEY --tenant TENANT", Short: "Replace a key and print the new one, once", Args: exactly("the id of a key"),
		Long: "Makes a key of the same type, name and end, and prints it, once. The old one is refused from now on, or\n" +
			"after --grace. A key that is to live longer is made with: sluice key create --valid-for",
		RunE: func(cmd *cobra.Command, args []string) error {
			if grace < 0 || grace > tenant.MaxGrace {
				return fmt.Errorf("%w: --grace must be from 0s to %s, not %s", errUsage, tenant.MaxGrace, grace)
			}
			return p.operateFor(cmd, *owner, func(ctx context.Context, op operatorPorts, who tenant.Caller) error {
				issued, err := op.Keys.Rotate(ctx, who, domain.IdempotencyKey{}, tenant.KeyID(args[0]), grace)
				if err != nil {
					return err
				}
				return p.printIssued(issued)
			})
		},
	}
	cmd.Flags().DurationVar(&grace, "grace", 0, "how long the old key is still accepted, at most 24h")
	return cmd
}

func (p *program) keyRevoke(owner *string) *cobra.Command {
	return &cobra.Command{
		Use: "revoke KEY --tenant TENANT", Short: "End a key at once", Args: exactly("the id of a key"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.operateFor(cmd, *owner, func(ctx context.Context, op operatorPorts, who tenant.Caller) error {
				k, err := op.Keys.Revoke(ctx, who, tenant.KeyID(args[0]))
				if errors.Is(err, domain.Conflict) {
					return fmt.Errorf("%s To replace it: sluice key rotate %s --tenant %s", explain(err), args[0], *owner)
				}
				if err != nil {
					return err
				}
				if p.json {
					return p.printJSON(showKey(k))
				}
				return p.printf("revoked %s\n", k.ID())
			})
		},
	}
}
