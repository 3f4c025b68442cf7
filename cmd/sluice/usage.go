package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/usage"
)

func (p *program) usageCommand() *cobra.Command {
	return group("usage", "Recount what tenants have used", p.usageVerify())
}

// errMiscounted is what verify fails with.
var errMiscounted = errors.New("what was counted is not what the records say")

// shownUsage is how the recount of a tenant is printed as JSON.
type shownUsage struct {
	Tenant      tenant.ID         `json:"tenantId"`
	Differences []shownDifference `json:"differences"`
}

type shownDifference struct {
	Day      usage.Day `json:"day,omitempty"`
	Name     string    `json:"name"`
	Counted  int64     `json:"counted"`
	Recorded int64     `json:"recorded"`
}

func (p *program) usageVerify() *cobra.Command {
	var owner string
	cmd := &cobra.Command{
		Use: "verify [--tenant TENANT]", Short: "Recount what tenants have used from the records, and compare", Args: exactly(),
		Long: "Recounts runs, their ends, node attempts, deliveries, deliveries to hooks and kept bytes of each tenant, or of\n" +
			"one, from the records, and compares the numbers with what was counted. It fails when they differ. What was\n" +
			"removed since, by retention or by somebody, was counted when it was removed. It reads all records, and can be\n" +
			"done while the gateway works. Days before the upgrade that began to count are left out. Requests, filtered and skipped\n" +
			"calls and seconds of code are recorded nowhere else.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.operate(cmd, func(ctx context.Context, op operatorPorts) error {
				all, rows, failed := []shownUsage{}, [][]string{{"TENANT", "DAY", "WHAT", "COUNTED", "RECORDED"}}, false
				err := op.Usage.Verify(ctx, tenant.ID(owner), func(of tenant.ID, differences []usage.Difference) error {
					one := shownUsage{of, []shownDifference{}}
					for _, d := range differences {
						one.Differences = append(one.Differences, shownDifference{d.Day, d.Name, d.Counted, d.Recorded})
						rows = append(rows, []string{string(of), string(d.Day), d.Name, fmt.Sprint(d.Counted), fmt.Sprint(d.Recorded)})
					}
					all, failed = append(all, one), failed || len(differences) > 0
					return nil
				})
				if err != nil {
					return err
				}
				switch {
				case p.json:
					err = p.printJSON(all)
				case failed:
					err = p.printTable(rows)
				default:
					_, err = fmt.Fprintf(p.stdout, "%d tenants were recounted, and every number is right.\n", len(all))
				}
				if err == nil && failed {
					err = errMiscounted
				}
				return err
			})
		},
	}
	cmd.Flags().StringVar(&owner, "tenant", "", "id of the tenant (default: all)")
	return cmd
}
