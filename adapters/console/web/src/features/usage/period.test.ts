import { expect, test } from "vitest";
import { periodOf } from "./period";

const now = new Date("2026-01-31T23:59:59Z");

test.each([
  [undefined, { from: "2026-01-02", to: "2026-02-01", by: "day" }],
  ["month", { from: "2026-01-01", to: "2026-02-01", by: "day" }],
  ["year", { from: "2025-02-01", to: "2026-02-01", by: "month" }],
])("the period %s", (name, want) => expect(periodOf(name, now)).toEqual(want));
