import { expect, test } from "vitest";
import { answerOf } from "./answers";

test("answers are read by the types of their fields", () => {
  const given: Record<string, string> = { ok: "false", count: "3", weight: "much", way: "air" };
  const form = { ok: { type: "boolean" }, count: { type: "number" }, weight: { type: "number" }, way: { type: "enum" }, note: { type: "string" } };
  expect(answerOf(form, (name) => given[name])).toEqual({ ok: false, count: 3, weight: "much", way: "air" });
});
