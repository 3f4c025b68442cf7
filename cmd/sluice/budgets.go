package main

import (
	"errors"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/domain/tenant"
)

// budgetFlags are the options for a tenant's budgets: what they change.
type budgetFlags map[tenant.BudgetName]tenant.BudgetPatch

func (b budgetFlags) add(cmd *cobra.Command) {
	cmd.Flags().Var(budgetFlag{b, tenant.RunsPerMonth}, "runs-per-month", "how many runs it may start in a month of UTC")
	cmd.Flags().Var(budgetFlag{b, tenant.LiveRuns}, "live-runs", "how many of its runs may be live at the same time")
	cmd.Flags().Var(budgetFlag{b, tenant.BytesKept}, "bytes-kept", "how much its runs may take, such as 500MiB; without it SLUICE_STORAGE_PER_TENANT")
}

// budgetFlag is one of them.
type budgetFlag struct {
	of   budgetFlags
	name tenant.BudgetName
}

// Set reads an amount, or none.
func (f budgetFlag) Set(text string) error {
	if text == "none" {
		f.of[f.name] = tenant.BudgetPatch{Remove: true}
		return nil
	}
	if f.name == tenant.BytesKept {
		var size byteSize
		err := size.UnmarshalText([]byte(text))
		f.of[f.name] = tenant.BudgetPatch{Limit: (*int64)(&size)}
		return err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return errors.New("must be a whole number, or none")
	}
	f.of[f.name] = tenant.BudgetPatch{Limit: &n}
	return nil
}

// Type is what stands for the amount in the help.
func (budgetFlag) Type() string { return "amount|none" }

// String is the amount, empty for none.
func (f budgetFlag) String() string {
	if p := f.of[f.name]; p.Limit != nil {
		return strconv.FormatInt(*p.Limit, 10)
	}
	return ""
}

// showBudgets are the budgets that there are.
func showBudgets(b tenant.Budgets) map[tenant.BudgetName]int64 {
	all := make(map[tenant.BudgetName]int64)
	for _, name := range tenant.BudgetNames() {
		if amount := *b.Field(name); amount > 0 {
			all[name] = amount
		}
	}
	return all
}
