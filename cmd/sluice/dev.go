package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
)

func (p *program) devCommand() *cobra.Command {
	return &cobra.Command{
		Use: "dev", Short: "Start the gateway to try it, with a demo tenant and an example workflow", Args: exactly(),
		Long: "Starts the gateway like serve. On a database without tenants it first makes a demo tenant with an\n" +
			"example workflow, and prints its keys and a request to paste. Each start prints a link that signs in as the\n" +
			"demo tenant's admin, once, within 15 minutes. Not for production.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := readConfig(p.environ)
			if err != nil {
				return err
			}
			return p.serve(cmd.Context(), cfg, serveOptions{role: roleAll}, func(ctx context.Context, store *sqlstore.Store, baseURL string) error {
				return p.demonstrate(ctx, newOperatorPorts(store, cfg.shownLetters(baseURL)), baseURL)
			})
		},
	}
}

// demonstrate makes the demo tenant where there is no tenant yet, and greets.
func (p *program) demonstrate(ctx context.Context, op operatorPorts, baseURL string) error {
	page, err := domain.NewPageRequest(1, 0)
	if err != nil {
		return err
	}
	found, err := op.Tenants.List(ctx, tenant.Filter{}, domain.Query{PageRequest: page})
	if err != nil {
		return err
	}
	if found.Total > 0 {
		link, err := op.demoLink(ctx)
		if err != nil {
			return err
		}
		return p.printf("\n  Sluice is running at %s\n  Documentation at %s/docs/\n\n"+
			"  There are tenants in the database already; their keys were shown when they were made.\n"+
			"  Another tenant:  sluice tenant create --name NAME --example\n\n%s", baseURL, baseURL, link)
	}
	made, err := op.Tenants.Create(ctx, domain.IdempotencyKey{}, tenant.Draft{Name: "Demo"})
	if err != nil {
		return err
	}
	example, err := op.createExample(ctx, made.Tenant.ID())
	if err != nil {
		return err
	}
	if err := op.createDemoUser(ctx, made.Tenant.ID()); err != nil {
		return err
	}
	link, err := op.demoLink(ctx)
	if err != nil {
		return err
	}
	key := made.Secret.Text.Reveal()
	fire := fmt.Sprintf(`curl -sS -X POST %s/v1/gateway/triggers/%s/webhook \
  -H 'X-API-Key: %s' -H 'Content-Type: application/json' \
  -d '{"eventData": {"id": "order-1042", "amount": 1250}}'`, baseURL, example.TriggerID, key)
	look := fmt.Sprintf(`curl -sS '%s/v1/gateway/runs?limit=1' -H 'X-API-Key: %s'`, baseURL, key)
	return p.printf("\n  Sluice is running at %s\n  Documentation at %s/docs/\n\n"+
		"  A demo tenant was made, with an example workflow that reports large orders. Its keys are shown this once:\n\n"+
		"    public  %s\n    secret  %s\n\n"+
		"  Your first request places an order, which starts a run of the workflow; paste it into another terminal:\n\n%s\n\n"+
		"  And this shows what became of it; GET /v1/gateway/runs/{id} shows every node:\n\n%s\n\n%s",
		baseURL, baseURL, made.Public.Text.Reveal(), key, fire, look, link)
}

// demoUser is the demo tenant's admin.
const demoUser = "demo@example.com"

func (op operatorPorts) createDemoUser(ctx context.Context, owner tenant.ID) error {
	if _, err := op.Memberships.Add(ctx, tenant.Operator(owner), domain.IdempotencyKey{}, inbound.MemberDraft{Email: demoUser, Role: tenant.AdminRole}); err != nil {
		return fmt.Errorf("create the demo tenant's admin: %w", err)
	}
	return nil
}

// demoLink is a text with a link that signs in as the demo tenant's admin; empty where there is none who may.
func (op operatorPorts) demoLink(ctx context.Context) (string, error) {
	made, err := op.Users.SignInLink(ctx, demoUser)
	if errors.Is(err, domain.NotFound) || errors.Is(err, domain.Conflict) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("  This link signs in to the console as the demo tenant's admin, once, within 15 minutes:\n\n    %s\n\n", made.Link), nil
}
