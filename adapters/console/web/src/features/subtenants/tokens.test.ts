import { expect, test } from "vitest";
import { isAccepted } from "./tokens";

const now = new Date("2026-01-31T09:00:00Z");

test.each([
  ["a token before its end", { expiresAt: "2026-01-31T09:00:01Z" }, true],
  ["a token at its end", { expiresAt: "2026-01-31T09:00:00Z" }, false],
  ["a token that was revoked before its end", { expiresAt: "2026-01-31T10:00:00Z", revokedAt: "2026-01-31T08:00:00Z" }, false],
])("%s", (_, token, want) => expect(isAccepted(token, now)).toBe(want));
