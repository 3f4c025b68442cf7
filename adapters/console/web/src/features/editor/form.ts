import type { FieldSchema } from "@/parts";
import { isRecord } from "./values";

/** A form: the fields that a person is asked for, by their names. */
export type Form = Record<string, FieldSchema>;

/** The sorts of fields that a person can fill in. */
export const kinds = ["text", "long", "number", "yesno", "choice"] as const;
export type Kind = (typeof kinds)[number];

const shortText = 200; // characters, up to which the page for answers asks for a line

/** A form as the configuration of a node has it; undefined where that is none. */
export function readForm(value: unknown): Form | undefined {
  if (value === undefined) return {};
  if (!isRecord(value) || !Object.values(value).every((field) => isRecord(field) && typeof field.type === "string")) return undefined;
  return value as Form;
}

/** The fields in the order in which the page for answers shows them. */
export const sorted = (form: Form): [name: string, field: FieldSchema][] =>
  Object.entries(form).sort(([a, one], [b, other]) => (one.order ?? 0) - (other.order ?? 0) || (a < b ? -1 : 1));

export function kindOf({ type, maxLength = Number.POSITIVE_INFINITY, widget }: FieldSchema): Kind | undefined {
  if (type === "string") return widget !== "textarea" && maxLength <= shortText ? "text" : "long";
  return ({ number: "number", boolean: "yesno", enum: "choice" } as const)[type as "number"];
}

const schemaOf: Record<Kind, FieldSchema> = {
  text: { type: "string", maxLength: shortText },
  long: { type: "string", widget: "textarea" },
  number: { type: "number" },
  yesno: { type: "boolean" },
  choice: { type: "enum", enum: [] },
};

/** What a field is of any kind: the rest goes where it becomes another one. */
export function ofKind({ title, description, required, order }: FieldSchema, kind: Kind): FieldSchema {
  return given({ ...schemaOf[kind], title, description, required, order });
}

const given = (field: FieldSchema) => Object.fromEntries(Object.entries(field).filter(([, value]) => value !== undefined)) as FieldSchema;

/** A name for expressions, made of a title. */
export function nameFor(title: string, taken: string[]): string {
  const words = title
    .replaceAll("ß", "ss")
    .normalize("NFD")
    .replaceAll(/\p{M}/gu, "")
    .split(/[^A-Za-z0-9]+/)
    .filter(Boolean);
  const [first = "", ...rest] = words.map((word) => word.toLowerCase());
  const stem = (first + rest.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("")).replace(/^\d+/, "") || "field";
  let name = stem;
  for (let count = 2; taken.includes(name); count++) name = `${stem}${count}`;
  return name;
}

/** The fields in an order, which stands in them. */
const ordered = (fields: [string, FieldSchema][]): Form => Object.fromEntries(fields.map(([name, field], at) => [name, { ...field, order: at + 1 }]));

export const withField = (form: Form, name: string): Form => ordered([...sorted(form), [name, schemaOf.text]]);
export const withoutField = (form: Form, name: string): Form => ordered(sorted(form).filter(([one]) => one !== name));
export const changed = (form: Form, name: string, change: Partial<FieldSchema>): Form =>
  form[name] ? { ...form, [name]: given({ ...form[name], ...change }) } : form;

/** The form with a field under another name, where that is free. */
export function renamed(form: Form, name: string, to: string): Form {
  if (to === "" || to in form) return form;
  return Object.fromEntries(Object.entries(form).map(([one, field]) => [one === name ? to : one, field]));
}

/** Moves a field among the others, by as many places. */
export function moved(form: Form, name: string, by: number): Form {
  const fields = sorted(form);
  const at = fields.findIndex(([one]) => one === name);
  const [field] = fields.splice(at, 1);
  if (at < 0 || !field || at + by < 0 || at + by > fields.length) return form;
  fields.splice(at + by, 0, field);
  return ordered(fields);
}

/** A choice of a field, and what it is called. */
export type Option = { value: unknown; label: string };

export function optionsIn({ enum: values = [], enumLabels }: FieldSchema): Option[] {
  const labels = (enumLabels ?? {}) as Record<string, string> | string[];
  return values.map((value, at) => ({ value, label: (Array.isArray(labels) ? labels[at] : labels[String(value)]) ?? "" }));
}

/** What options are in a field. A value keeps its type while its text stays the same. */
export function withOptions(options: Option[]): Partial<FieldSchema> {
  const isNamed = options.some(({ label }) => label !== "");
  return { enum: options.map(({ value }) => value), enumLabels: isNamed ? options.map(({ value, label }) => label || String(value)) : undefined };
}
