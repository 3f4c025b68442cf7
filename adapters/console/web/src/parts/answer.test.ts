import { expect, test } from "vitest";
import { answerOf, controlOf, type FieldSchema, fieldsIn, optionsOf, pathOf } from "./answer";

const form: Record<string, FieldSchema> = {
  note: { type: "string", widget: "textarea", order: 3 },
  approved: { type: "boolean", required: true, order: 1 },
  amount: { type: "number", order: 2 },
  size: { type: "enum", enum: [1, "l"], enumLabels: ["one", "large"], order: 4 },
  extra: { type: "object" },
};

test("a form is asked for in its order, each field with its control", () =>
  expect(fieldsIn({ form }).map(([name, field]) => [name, controlOf(field), pathOf({ form }, name)])).toEqual([
    ["approved", "yesno", "input.approved"],
    ["amount", "number", "input.amount"],
    ["note", "textarea", "input.note"],
    ["size", "select", "input.size"],
    ["extra", "json", "input.extra"],
  ]));

test("values of an enum keep their types, and have names", () =>
  expect(optionsOf(form.size as FieldSchema)).toEqual([
    { value: "1", label: "one" },
    { value: '"l"', label: "large" },
  ]));

test.each<[string, Record<string, string>, unknown]>([
  [
    "everything",
    { "input.approved": "false", "input.amount": "12.5", "input.note": "no", "input.size": "1", "input.extra": '{"a": [1]}' },
    { approved: false, amount: 12.5, note: "no", size: 1, extra: { a: [1] } },
  ],
  ["nothing", {}, {}],
  ["what is no number and no JSON, for the gateway to refuse", { "input.amount": "many", "input.extra": "{" }, { amount: "many", extra: "{" }],
])("the answer to a form with %s", (_, entered, want) => expect(answerOf({ form }, (path) => entered[path] ?? "")).toEqual(want));

test.each<[FieldSchema, "boolean" | "number" | "text", string, unknown]>([
  [{ type: "boolean" }, "boolean", "true", true],
  [{ type: "number" }, "number", "7", 7],
  [{ type: "number" }, "number", "", undefined],
  [{ type: "string", required: true }, "text", "", ""],
])("a single answer %# is its value", (value, inputType, text, want) => expect(answerOf({ inputType, form: { value } }, () => text)).toEqual(want));
