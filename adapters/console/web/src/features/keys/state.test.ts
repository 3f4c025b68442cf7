import { expect, test } from "vitest";
import { stateOf } from "./state";

const now = new Date("2026-01-31T09:00:00Z");

test.each([
  ["a key without an end", {}, "active"],
  ["a key that ends later", { expiresAt: "2026-01-31T10:00:00Z" }, "ending"],
  ["a key whose end has come", { expiresAt: "2026-01-31T09:00:00Z" }, "ended"],
  ["a key that was revoked", { revokedAt: "2026-01-30T00:00:00Z", expiresAt: "2027-01-31T10:00:00Z" }, "ended"],
])("%s", (_, key, want) => expect(stateOf(key, now)).toBe(want));
