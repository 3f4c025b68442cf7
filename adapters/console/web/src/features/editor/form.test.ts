import { expect, test } from "vitest";
import {
  changed,
  type Form,
  kindOf,
  moved,
  nameFor,
  ofKind,
  optionsIn,
  readForm,
  renamed,
  sorted,
  withField,
  withOptions,
  withoutField,
} from "./form";

const form: Form = {
  note: { type: "string", order: 2 },
  approved: { type: "boolean", required: true, title: "Approve", order: 1, "x-own": 1 },
};

test("a form is read only where it is one", () =>
  expect([undefined, {}, form, { a: { type: "string" }, b: 1 }, "x", { a: { title: "A" } }].map(readForm)).toEqual([
    {},
    {},
    form,
    undefined,
    undefined,
    undefined,
  ]));

test("fields are shown by their order, and then by their names, as the gateway does", () =>
  expect(sorted({ ...form, z: { type: "number" }, a: { type: "number", order: 1 } }).map(([name]) => name)).toEqual(["z", "a", "approved", "note"]));

test("a field is added at the end, and all say their place", () =>
  expect(withField({ b: { type: "number" }, a: { type: "number" } }, "c")).toEqual({
    a: { type: "number", order: 1 },
    b: { type: "number", order: 2 },
    c: { type: "string", maxLength: 200, order: 3 },
  }));

test("fields move, and not beyond the ends", () => {
  expect(moved(form, "note", -1)).toEqual({ note: { type: "string", order: 1 }, approved: { ...form.approved, order: 2 } });
  expect([moved(form, "approved", -1), moved(form, "note", 1), moved(form, "other", 1)]).toEqual([form, form, form]);
});

test("a field is removed, renamed and changed, and what nobody knows of it stays", () => {
  expect(withoutField(form, "approved")).toEqual({ note: { type: "string", order: 1 } });
  expect(renamed(form, "approved", "ok")).toEqual({ note: form.note, ok: form.approved });
  expect([renamed(form, "approved", "note"), renamed(form, "approved", "")]).toEqual([form, form]);
  expect(changed(form, "approved", { title: undefined, description: "Please" })).toEqual({
    note: form.note,
    approved: { type: "boolean", required: true, description: "Please", order: 1, "x-own": 1 },
  });
});

test("what belongs to one kind alone goes where a field becomes another one", () => {
  const number = { type: "number" as const, title: "How many", required: true, order: 3, min: 1, max: 9 };
  expect(ofKind(number, "text")).toEqual({ type: "string", maxLength: 200, title: "How many", required: true, order: 3 });
  expect((["text", "long", "number", "yesno", "choice"] as const).map((kind) => kindOf(ofKind(number, kind)))).toEqual([
    "text",
    "long",
    "number",
    "yesno",
    "choice",
  ]);
  expect([kindOf({ type: "string" }), kindOf({ type: "string", maxLength: 5000 }), kindOf({ type: "object" })]).toEqual(["long", "long", undefined]);
});

test.each([
  ["How many?", [], "howMany"],
  ["Größe (in cm)", [], "grosseInCm"],
  ["Ação", ["acao"], "acao2"],
  ["2nd address", [], "ndAddress"],
  ["数量", [], "field"],
])("a title, %j, gives a name for expressions", (title, taken, want) => expect(nameFor(title, taken)).toBe(want));

test("options keep the types of their values, and have names only where somebody gave one", () => {
  const field = { type: "enum" as const, enum: [1, "l"], enumLabels: { l: "large" } };
  expect(optionsIn(field)).toEqual([
    { value: 1, label: "" },
    { value: "l", label: "large" },
  ]);
  expect(withOptions(optionsIn(field))).toEqual({ enum: [1, "l"], enumLabels: ["1", "large"] });
  expect(withOptions([{ value: "a", label: "" }])).toEqual({ enum: ["a"], enumLabels: undefined });
});
