import { expect, test } from "vitest";
import { exportAddress, filtersOf, startOf } from "./filters";

test("the last day is within what is asked for", () => {
  const { from, to } = filtersOf({ from: "2026-01-31", to: "2026-01-31" });
  expect(from).toBe(new Date(2026, 0, 31).toISOString());
  expect(to).toBe(new Date(2026, 1, 1).toISOString());
});

test.each([undefined, "", "yesterday", "2026-13-01"])("%s is no day", (day) => expect(startOf(day)).toBeUndefined());

test("an export takes the filters of the page", () =>
  expect(exportAddress("/console/api/t/tenant_1", "csv", { actor: "a b", offset: "25" })).toBe(
    "/console/api/t/tenant_1/audit-log/export?format=csv&actor=a+b",
  ));
