import { expect, test } from "vitest";
import { choiceOf, mergedScheme, schemeOf, secretMember } from "./scheme";

test("a preset stands alone, a kind has its fields", () => {
  const form = (name: string) => ({ "scheme.algorithm": "sha256", "scheme.header": "X-Sig", "scheme.toleranceSeconds": "60" })[name];
  expect(schemeOf("preset:github", form)).toEqual({ preset: "github" });
  expect(schemeOf("kind:hmac", form)).toEqual({ kind: "hmac", algorithm: "sha256", header: "X-Sig", toleranceSeconds: 60 });
  expect(schemeOf("kind:bearer", form)).toEqual({ kind: "bearer" });
});

test("a scheme is chosen again as it was", () => {
  for (const choice of ["preset:microsoft-graph", "kind:urlSecret"]) expect(choiceOf(schemeOf(choice, () => undefined))).toBe(choice);
});

test("what is typed is a key, but a public one where signatures are checked with that", () => {
  expect(["preset:stripe", "preset:discord", "kind:ed25519", "kind:basic", "kind:none"].map(secretMember)).toEqual([
    "key",
    "publicKey",
    "publicKey",
    null,
    null,
  ]);
});

test("a field that was cleared goes, and what the form does not show stays", () => {
  const before = { kind: "hmac", header: "X-Sig", prefix: "sha256=", idHeader: "X-Id" };
  expect(mergedScheme(before, { kind: "hmac", header: "X-Other" })).toEqual({ kind: "hmac", header: "X-Other", idHeader: "X-Id" });
  expect(mergedScheme({ preset: "github", idHeader: "X-Id" }, { preset: "github" })).toEqual({ preset: "github", idHeader: "X-Id" });
});
