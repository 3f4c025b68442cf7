import { expect, test } from "vitest";
import { stateOf } from "./events";

test("an endpoint that fails is on until it is switched off, and says who did so", () => {
  const failingSince = "2026-01-31T09:00:00.000Z";
  expect(stateOf({ isActive: true })).toBe("on");
  expect(stateOf({ isActive: true, failingSince })).toBe("failing");
  expect(stateOf({ isActive: false })).toBe("off");
  expect(stateOf({ isActive: false, failingSince, disabled: { at: failingSince, reason: "failing" } as never })).toBe("disabled");
});
