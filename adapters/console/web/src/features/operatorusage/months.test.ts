import { expect, test } from "vitest";
import { boundsOf, lastMonths } from "./months";

test("the last months go back over the turn of the year", () => {
  const months = lastMonths(new Date("2026-01-31T23:00:00Z"));
  expect([months.length, months[0], months[1], months[11]]).toEqual([12, "2026-01", "2025-12", "2025-02"]);
});

test("a month ends where the next one begins", () => expect(boundsOf("2025-12")).toEqual({ from: "2025-12-01", to: "2026-01-01" }));
