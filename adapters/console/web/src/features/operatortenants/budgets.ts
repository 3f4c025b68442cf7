import type { Schemas } from "@/api";

type Budgets = Schemas["Budgets"];

/** What a form changes of budgets: what it leaves as it is may be the gateway's, and does not become the tenant's own. */
export function budgetsPatch(before: Budgets, form: FormData): Schemas["UpdateBudgets"] {
  const patch: Schemas["UpdateBudgets"] = {};
  for (const name of ["runsPerMonth", "liveRuns", "bytesKept"] as const) {
    const text = String(form.get(`budgets.${name}`) ?? "");
    const amount = text === "" ? null : Number(text);
    if (amount !== (before[name] ?? null)) patch[name] = amount;
  }
  return patch;
}
