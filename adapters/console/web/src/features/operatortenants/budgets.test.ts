import { expect, test } from "vitest";
import { budgetsPatch } from "./budgets";

test("budgets change where the form has changed them", () => {
  const form = new FormData();
  for (const [name, value] of Object.entries({ runsPerMonth: "1000", liveRuns: "", bytesKept: "10737418240" })) form.set(`budgets.${name}`, value);
  expect(budgetsPatch({ bytesKept: 10737418240 }, form)).toEqual({ runsPerMonth: 1000 });
  expect(budgetsPatch({ runsPerMonth: 1000, liveRuns: 5, bytesKept: 1 }, form)).toEqual({ liveRuns: null, bytesKept: 10737418240 });
});
