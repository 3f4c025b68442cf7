package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

func (p *program) devCommand() *cobra.Command {
	return &cobra.Command{
		Use: "dev", Short: "Start the gateway to try it, with a demo tenant and an example workflow", Args: exactly(),
		Long: "Starts the gateway like serve. On a database without tenants it first makes a demo tenant with an\n" +
			"example workflow, and prints its keys and a request to paste. Not for production.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := readConfig(p.environ)
			if err != nil {
				return err
			}
			return p.serve(cmd.Context(), cfg, serveOptions{role: roleAll}, func(ctx context.Context, store *sqlstore.Store, baseURL string) error {
				return p.demonstrate(ctx, newOperatorPorts(store, cfg.letters(baseURL)), baseURL)
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
		return p.printf("\n  Sluice is running at %s\n  Documentation at %s/docs/\n\n"+
			"  There are tenants in the database already; their keys were shown when they were made.\n"+
			"  Another tenant:  sluice tenant create --name NAME --example\n\n", baseURL, baseURL)
	}
	made, err := op.Tenants.Create(ctx, domain.IdempotencyKey{}, tenant.Draft{Name: "Demo"})
	if err != nil {
		return err
	}
	example, err := op.createExample(ctx, made.Tenant.ID())
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
		"  And this shows what became of it; GET /v1/gateway/runs/{id} shows every node:\n\n%s\n\n",
		baseURL, baseURL, made.Public.Text.Reveal(), key, fire, look)
}
