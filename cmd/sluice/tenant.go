package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

func (p *program) tenantCommand() *cobra.Command {
	return group("tenant", "Create and manage tenants",
		p.tenantCreate(), p.tenantList(), p.tenantShow(), p.tenantUpdate(),
		p.tenantStatus("suspend", "Refuse every key of a tenant until it is resumed", func(op operatorPorts) statusVerb { return atOnce(op.Tenants.Suspend) }),
		p.tenantStatus("resume", "Accept a suspended tenant's keys again", func(op operatorPorts) statusVerb { return atOnce(op.Tenants.Resume) }),
		p.tenantDelete())
}

// createdTenant is what tenant create --json prints.
type createdTenant struct {
	TenantID  tenant.ID `json:"tenantId"`
	Name      string    `json:"name"`
	PublicKey string    `json:"publicKey"`
	SecretKey string    `json:"secretKey"`
	*exampleIDs
}

func (p *program) tenantCreate() *cobra.Command {
	language := tenant.English
	d := tenant.Draft{Language: &language}
	var withExample bool
	var runDays int
	budgets := make(budgetFlags)
	cmd := &cobra.Command{
		Use: "create --name NAME", Short: "Create a tenant and print its two keys, which are not shown again", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("run-retention-days") {
				d.RunRetentionDays = &runDays
			}
			d.Budgets = budgets
			return p.operate(cmd, func(ctx context.Context, op operatorPorts) error {
				made, err := op.Tenants.Create(ctx, domain.IdempotencyKey{}, d)
				if err != nil {
					return err
				}
				out := createdTenant{
					TenantID: made.Tenant.ID(), Name: made.Tenant.Name(),
					PublicKey: made.Public.Text.Reveal(), SecretKey: made.Secret.Text.Reveal(),
				}
				if withExample {
					if out.exampleIDs, err = op.createExample(ctx, made.Tenant.ID()); err != nil {
						return err
					}
				}
				return p.printCreated(out)
			})
		},
	}
	cmd.Flags().StringVar(&d.Name, "name", "", "name of the tenant, 1 to 255 characters")
	cmd.Flags().StringVar((*string)(&language), "language", string(tenant.English), "language of the node registry: en, pt-BR or es")
	cmd.Flags().IntVar(&runDays, "run-retention-days", 0, "how many days its finished runs are kept, 1 to 3650; without it SLUICE_RUN_RETENTION")
	budgets.add(cmd)
	cmd.Flags().BoolVar(&withExample, "example", false, "also create an example workflow with a published version and a trigger that fires it")
	return cmd
}

func (p *program) printCreated(out createdTenant) error {
	if p.json {
		return p.printJSON(out)
	}
	err := p.printf("Tenant %s (%s)\n\n  public key  %s\n  secret key  %s\n", out.TenantID, out.Name, out.PublicKey, out.SecretKey)
	if err == nil && out.exampleIDs != nil {
		err = p.printf("\n  workflow    %s\n  version     %s\n  trigger     %s\n", out.WorkflowID, out.VersionID, out.TriggerID)
	}
	if err != nil {
		return err
	}
	return p.printf("\nKeep the keys now: they cannot be shown again.\n")
}

// shownTenant is how a tenant is printed as JSON.
type shownTenant struct {
	TenantID  tenant.ID                      `json:"tenantId"`
	Name      string                         `json:"name"`
	Status    tenant.Status                  `json:"status"`
	Language  tenant.Language                `json:"language"`
	Limits    map[tenant.KeyType]shownLimits `json:"limits"`
	RunDays   int                            `json:"runRetentionDays"`
	Budgets   map[tenant.BudgetName]int64    `json:"budgets"`
	Metadata  json.RawMessage                `json:"metadata"`
	CreatedAt instant                        `json:"createdAt"`
	UpdatedAt instant                        `json:"updatedAt"`
}

type shownLimits struct {
	PerMinute  int `json:"requestsPerMinute"`
	Concurrent int `json:"concurrentRequests"`
}

func showTenant(ten *tenant.Tenant) shownTenant {
	settings := ten.Settings()
	limits := make(map[tenant.KeyType]shownLimits)
	for _, kt := range tenant.KeyTypes() {
		limits[kt] = shownLimits(settings.Quota(kt))
	}
	return shownTenant{
		TenantID: ten.ID(), Name: ten.Name(), Status: ten.Status(), Language: settings.Language, Limits: limits,
		RunDays: settings.KeptRunDays(), Budgets: showBudgets(settings.EffectiveBudgets()), Metadata: json.RawMessage(ten.Metadata().String()),
		CreatedAt: instant(ten.CreatedAt()), UpdatedAt: instant(ten.UpdatedAt()),
	}
}

func (p *program) printTenant(ten *tenant.Tenant) error {
	s := showTenant(ten)
	if p.json {
		return p.printJSON(s)
	}
	rows := [][]string{
		{"tenant", string(s.TenantID)}, {"name", s.Name}, {"status", string(s.Status)}, {"language", string(s.Language)},
	}
	for _, kt := range tenant.KeyTypes() {
		rows = append(rows, []string{string(kt) + " keys", fmt.Sprintf("%d requests a minute, %d at the same time", s.Limits[kt].PerMinute, s.Limits[kt].Concurrent)})
	}
	for _, name := range tenant.BudgetNames() {
		if amount, ok := s.Budgets[name]; ok {
			rows = append(rows, []string{"budget", fmt.Sprintf("%s %d", name, amount)})
		}
	}
	rows = append(rows, []string{"finished runs", "kept for " + days(s.RunDays)}, []string{"metadata", string(s.Metadata)},
		[]string{"created", shown(&s.CreatedAt)}, []string{"updated", shown(&s.UpdatedAt)})
	return p.printTable(rows)
}

// days says how many.
func days(n int) string {
	if n == 1 {
		return "1 day"
	}
	return fmt.Sprintf("%d days", n)
}

func (p *program) tenantList() *cobra.Command {
	var limit, offset int
	cmd := &cobra.Command{
		Use: "list", Short: "List tenants, the newest first", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			page, err := domain.NewPageRequest(limit, offset)
			if err != nil {
				return fmt.Errorf("%w: %s", errUsage, explain(err))
			}
			return p.operate(cmd, func(ctx context.Context, op operatorPorts) error {
				found, err := op.Tenants.List(ctx, tenant.Filter{}, domain.Query{PageRequest: page})
				if err != nil {
					return err
				}
				if p.json {
					return p.printJSON(pageOf(found, showTenant))
				}
				rows := [][]string{{"TENANT", "NAME", "STATUS", "LANGUAGE", "CREATED"}}
				for _, ten := range found.Items {
					s := showTenant(ten)
					rows = append(rows, []string{string(s.TenantID), s.Name, string(s.Status), string(s.Language), shown(&s.CreatedAt)})
				}
				if err := p.printTable(rows); err != nil {
					return err
				}
				return p.printf("\n%d of %d tenants\n", len(found.Items), found.Total)
			})
		},
	}
	pageFlags(cmd, &limit, &offset)
	return cmd
}

func (p *program) tenantShow() *cobra.Command {
	return p.tenantStatus("show", "Show a tenant", func(op operatorPorts) statusVerb { return op.Tenants.Get })
}

// statusVerb does something to one tenant and returns it.
type statusVerb func(context.Context, tenant.ID) (*tenant.Tenant, error)

// atOnce makes one of a verb that can be asked for with an idempotency key.
func atOnce(verb func(context.Context, domain.IdempotencyKey, tenant.ID) (*tenant.Tenant, error)) statusVerb {
	return func(ctx context.Context, id tenant.ID) (*tenant.Tenant, error) {
		return verb(ctx, domain.IdempotencyKey{}, id)
	}
}

func (p *program) tenantStatus(name, short string, verb func(operatorPorts) statusVerb) *cobra.Command {
	return &cobra.Command{
		Use: name + " TENANT", Short: short, Args: exactly("the id of a tenant"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.operate(cmd, func(ctx context.Context, op operatorPorts) error {
				ten, err := verb(op)(ctx, tenant.ID(args[0]))
				if err != nil {
					return err
				}
				return p.printTenant(ten)
			})
		},
	}
}

func (p *program) tenantUpdate() *cobra.Command {
	var name, language string
	var runDays int
	budgets := make(budgetFlags)
	limits := map[tenant.KeyType]*shownLimits{tenant.Public: {}, tenant.Secret: {}}
	cmd := &cobra.Command{
		Use: "update TENANT", Short: "Change a tenant's name, language, limits, budgets, or how long its runs are kept", Args: exactly("the id of a tenant"),
		RunE: func(cmd *cobra.Command, args []string) error {
			patch := tenant.Patch{Quotas: make(map[tenant.KeyType]tenant.QuotaPatch)}
			if cmd.Flags().Changed("name") {
				patch.Name = &name
			}
			if cmd.Flags().Changed("language") {
				patch.Language = (*tenant.Language)(&language)
			}
			if cmd.Flags().Changed("run-retention-days") {
				patch.RunRetentionDays = &runDays
			}
			patch.Budgets = budgets
			for kt, l := range limits {
				var q tenant.QuotaPatch
				if cmd.Flags().Changed(string(kt) + "-per-minute") {
					q.PerMinute = &l.PerMinute
				}
				if cmd.Flags().Changed(string(kt) + "-concurrent") {
					q.Concurrent = &l.Concurrent
				}
				if q != (tenant.QuotaPatch{}) {
					patch.Quotas[kt] = q
				}
			}
			return p.operate(cmd, func(ctx context.Context, op operatorPorts) error {
				ten, err := op.Tenants.Update(ctx, tenant.ID(args[0]), domain.Expected{}, patch)
				if err != nil {
					return err
				}
				return p.printTenant(ten)
			})
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "name, 1 to 255 characters")
	cmd.Flags().StringVar(&language, "language", "", "language of the node registry: en, pt-BR or es")
	cmd.Flags().IntVar(&runDays, "run-retention-days", 0, "how many days finished runs are kept, 1 to 3650")
	budgets.add(cmd)
	for kt, l := range limits {
		cmd.Flags().IntVar(&l.PerMinute, string(kt)+"-per-minute", 0, "requests a minute with "+string(kt)+" keys")
		cmd.Flags().IntVar(&l.Concurrent, string(kt)+"-concurrent", 0, "requests at the same time with "+string(kt)+" keys")
	}
	return cmd
}

// deletedTenant is what tenant delete --json prints.
type deletedTenant struct {
	TenantID tenant.ID `json:"tenantId"`
	Deleted  bool      `json:"deleted"`
}

func (p *program) tenantDelete() *cobra.Command {
	var sure bool
	cmd := &cobra.Command{
		Use: "delete TENANT --yes", Short: "Delete a tenant with everything it owns, for good", Args: exactly("the id of a tenant"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !sure {
				return fmt.Errorf("%w: this deletes the tenant with its keys, workflows and triggers, for good; repeat it with --yes", errUsage)
			}
			return p.operate(cmd, func(ctx context.Context, op operatorPorts) error {
				if err := op.Tenants.Delete(ctx, tenant.ID(args[0]), domain.Expected{}); err != nil {
					return err
				}
				if p.json {
					return p.printJSON(deletedTenant{TenantID: tenant.ID(args[0]), Deleted: true})
				}
				return p.printf("deleted %s\n", args[0])
			})
		},
	}
	cmd.Flags().BoolVar(&sure, "yes", false, "really delete")
	return cmd
}
